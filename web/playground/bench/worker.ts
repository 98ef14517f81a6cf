// SPDX-License-Identifier: Apache-2.0
/**
 * Measures in a worker: takes the names of workloads, and reports its progress and results. It is ended by `terminate`.
 */
import { load } from "headlens";
import type { Engine, EngineInfo } from "headlens";
import { measureLimit } from "./limit.js";
import type { RowResult } from "./result.js";
import { kWorkloads, prepare, type Workload } from "./workloads.js";

export type Message =
  | { readonly kind: "ready"; readonly info: EngineInfo; readonly limit: number }
  | { readonly kind: "progress"; readonly name: string; readonly part: number }
  | { readonly kind: "row"; readonly row: RowResult }
  | { readonly kind: "failed"; readonly name: string; readonly message: string }
  | { readonly kind: "done" };

const tell = (message: Message): void => postMessage(message);

const kWarmUpSeconds = 0.3;
/** A turn takes at least this long, since clocks in browsers are coarse. */
const kTurnSeconds = 0.03;
const kRounds = 15;
const kRowSeconds = 3;
const kLeastRounds = 3;

/** Seconds per call, measured over `calls` calls. */
function turn(call: () => void, calls: number): number {
  const start = performance.now();
  for (let i = 0; i < calls; i++) call();
  return (performance.now() - start) / 1000 / calls;
}

/** Lets the optimising compiler and the page's messages run between two turns. */
const pause = (): Promise<void> => new Promise((later) => setTimeout(later));

async function measure(engine: Engine, workload: Workload): Promise<RowResult> {
  const { name } = workload;
  const { call, dispose } = await prepare(engine, workload);
  try {
    // The warm-up's turns grow to the length of those that count, since a pause takes longer than a short call.
    let calls = 1;
    let last = turn(call, calls);
    for (let spent = last; spent < kWarmUpSeconds; spent += last * calls) {
      await pause();
      if (last * calls < kTurnSeconds) calls *= 2;
      last = turn(call, calls);
    }
    const times: number[] = [];
    for (let spent = 0; times.length < kRounds && (spent < kRowSeconds || times.length < kLeastRounds);) {
      const seconds = turn(call, calls);
      times.push(seconds);
      spent += seconds * calls;
      tell({ kind: "progress", name, part: Math.max(times.length / kRounds, Math.min(1, spent / kRowSeconds)) });
      await pause();
    }
    times.sort((a, b) => a - b);
    const at = (part: number): number => times[Math.round(part * (times.length - 1))] ?? NaN;
    return { name, median: at(0.5), min: at(0), lower: at(0.25), upper: at(0.75), rounds: times.length, calls };
  } finally {
    dispose();
  }
}

async function run(names: readonly string[]): Promise<void> {
  const engine = await load({ threads: 1 });
  tell({ kind: "ready", info: engine.info, limit: await measureLimit(engine.info.simd === "relaxed") });
  for (const workload of kWorkloads.filter(({ name }) => names.includes(name))) {
    tell({ kind: "progress", name: workload.name, part: 0 });
    try {
      tell({ kind: "row", row: await measure(engine, workload) });
    } catch (error) {
      tell({ kind: "failed", name: workload.name, message: error instanceof Error ? error.message : String(error) });
    }
  }
  tell({ kind: "done" });
}

addEventListener("message", ({ data }: MessageEvent<readonly string[]>) => {
  // Turns a failure into an error of the worker, which the page receives.
  run(data).catch((error: unknown) => setTimeout(() => { throw error; }));
});
