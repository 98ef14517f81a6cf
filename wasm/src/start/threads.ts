// SPDX-License-Identifier: Apache-2.0
import { unwrap } from "../module/failures.js";
import type { HeadlensModule, ThreadStart } from "../module/module.js";
import type { Platform, Thread } from "../platform/platform.js";
import type { Code } from "./code.js";

/** Starts threads beside the caller's, and returns as many as could be started. The engine shares its work among those that come. */
export async function startThreads(
  module: HeadlensModule, { module: code, threads }: Code, memory: WebAssembly.Memory, platform: Platform,
): Promise<readonly Thread[]> {
  if (threads === 1) return [];
  const starts = unwrap(module.startThreads(threads));
  const start = async (one: ThreadStart): Promise<Thread> => platform.startThread({ code, memory, ...one });
  const started = await Promise.allSettled(starts.map(start));
  return started.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
}
