// SPDX-License-Identifier: Apache-2.0
/**
 * Who takes part. A contestant is { name, variant?, round(calls) → seconds per call, result() → { output, maps? } or null, close() };
 * makers are given the workload, its data and whether maps are wanted.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { load } from "../../dist/node.js";
import { readSafetensors, writeSafetensors } from "../safetensors.ts";
import { kVariants, modelOf } from "./onnx.mjs";

const kProgram = fileURLToPath(new URL("../../build/native/headlens", import.meta.url));

async function timed(calls, call) {
  const start = performance.now();
  for (let i = 0; i < calls; ++i) await call();
  return (performance.now() - start) / 1000 / calls;
}

/** V8 swaps optimised WebAssembly in between calls, once its background compile is done: so call, and give it time. */
async function warmUp(contestant) {
  const end = performance.now() + 600;
  while (performance.now() < end) {
    await contestant.round(3);
    await sleep(5);
  }
  return contestant;
}

/** The npm package, as its users call it. */
export async function ours(simd, { workload, data, maps }) {
  const engine = await load({ simd });
  const layer = engine.multiheadAttention({ embedDim: workload.width, numHeads: workload.heads, batchFirst: true });
  layer.loadStateDict(data.state);
  const options = { needWeights: maps, averageAttnWeights: false };
  let last;
  const call = () => { last = layer.forward(data.x, undefined, undefined, options); };
  return warmUp({
    name: `headlens wasm ${simd}`,
    // Not awaited call by call: ours returns at once what onnxruntime promises.
    round: async (calls) => {
      const start = performance.now();
      for (let i = 0; i < calls; ++i) call();
      return (performance.now() - start) / 1000 / calls;
    },
    result: () => ({ output: last.output.data, maps: last.weights?.data }),
    close: () => engine.dispose(),
  });
}

async function session(ort, name, provider, variant, { workload, data, maps }) {
  const model = modelOf(workload, variant, maps, data.onnx);
  if (!model) return null;
  const runner = await ort.InferenceSession.create(model, {
    executionProviders: [provider], graphOptimizationLevel: "all", intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3,
  });
  const feeds = { x: new ort.Tensor("float32", data.x.data, data.x.shape) };
  let last;
  return warmUp({
    name, variant,
    round: (calls) => timed(calls, async () => { last = await runner.run(feeds); }),
    result: () => ({ output: last.y.data, maps: last.maps?.data }),
    close: () => runner.release(),
  });
}

/** onnxruntime with each graph that it can run; the caller takes the fastest. */
export async function peers(kind, job) {
  const ort = await import(kind);
  if (kind === "onnxruntime-web") ort.env.wasm.numThreads = 1;
  const provider = kind === "onnxruntime-web" ? "wasm" : "cpu";
  const sessions = [];
  for (const variant of kVariants) sessions.push(await session(ort, kind, provider, variant, job));
  return sessions.filter(Boolean);
}

/** What `headlens attend` makes of the workload. */
function attend(backend, { workload, data, maps }) {
  const folder = mkdtempSync(join(tmpdir(), "headlens-bench-"));
  try {
    const options = JSON.stringify({
      embed_dim: workload.width, num_heads: workload.heads, batch_first: true,
      need_weights: maps, average_attn_weights: false,
    });
    const [path, out] = [join(folder, "case.safetensors"), join(folder, "result.safetensors")];
    writeFileSync(path, writeSafetensors({ query: data.x, ...data.state }, { op: "multihead_attention", options }));
    const { status, stderr } = spawnSync(kProgram, ["attend", path, "--out", out, "--backend", backend], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    const { tensors } = readSafetensors(out);
    return { output: tensors.get("output").data, maps: tensors.get("weights")?.data };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The same problem in double precision: what all are held against. */
export const reference = (job) => attend("reference", job);

/** The native library in a process of its own, which times rounds when told to. */
export async function native(job) {
  const row = `${job.workload.name}/${job.maps ? "maps" : "no_maps"}`;
  const child = spawn(kProgram, ["bench", "--paced", "--filter", `^${row}$`], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (line) => {
    child.stdin.write(`${line}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error("headlens bench ended");
    return JSON.parse(value);
  };
  return warmUp({
    name: "headlens native",
    round: async (calls) => {
      const { seconds } = await ask(`${row} ${calls}`);
      return seconds.reduce((sum, second) => sum + second, 0) / calls;
    },
    limit: async () => (await ask("limit")).multiply_add_limit_gflops,
    result: () => attend("simd", job),
    close: () => child.stdin.end(),
  });
}
