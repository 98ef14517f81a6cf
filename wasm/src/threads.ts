// SPDX-License-Identifier: Apache-2.0
import type { Code } from "./code.js";
import { unwrap } from "./failures.js";
import type { HeadlensModule } from "./module.js";
import type { Platform, Thread } from "./platform.js";

/** Threads beside the caller's, as many of those wanted as could be started: the engine shares its work among those that come. */
export async function startThreads(
  module: HeadlensModule, { module: code, threads }: Code, memory: WebAssembly.Memory, platform: Platform,
): Promise<readonly Thread[]> {
  if (threads === 1) return [];
  const starts = unwrap(module.startThreads(threads));
  const started = await Promise.allSettled(starts.map((start) => platform.startThread({ code, memory, ...start })));
  return started.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
}
