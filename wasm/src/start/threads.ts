// SPDX-License-Identifier: Apache-2.0
import { unwrap } from "../module/failures.js";
import type { HeadlensModule, ThreadStart } from "../module/module.js";
import type { OpenedThread, Platform, Thread } from "../platform/platform.js";
import type { Code } from "./code.js";

/** Opens as many threads beside the caller's as can be, which start while the engine is made. */
export function openThreads(count: number, platform: Platform): readonly OpenedThread[] {
  const opened: OpenedThread[] = [];
  try {
    while (opened.length < count) opened.push(platform.openThread());
  } catch {
    // The page allows no more.
  }
  return opened;
}

/** Gives opened threads their tasks, and returns those that work. The engine shares its work among those that come. */
export async function runThreads(
  opened: readonly OpenedThread[], module: HeadlensModule, { module: code, threads }: Code, memory: WebAssembly.Memory,
): Promise<readonly Thread[]> {
  if (threads === 1) return [];
  const starts = unwrap(module.startThreads(threads));
  const run = async (thread: OpenedThread, index: number): Promise<void> =>
    thread.run({ code, memory, ...starts[index] as ThreadStart });
  const results = await Promise.allSettled(opened.map(run));
  return opened.filter((_, index) => results[index]?.status === "fulfilled");
}
