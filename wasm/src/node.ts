// SPDX-License-Identifier: Apache-2.0
/** This is the same package for Node: it reads its files from disk, and starts workers of node:worker_threads. */
import { makeLoad } from "./load.js";
import { nodePlatform } from "./platform/node.js";
import { shortenTraces } from "./platform/trace.js";
import type { Load } from "./types/index.js";

shortenTraces();
export const load: Load = makeLoad(nodePlatform);
export { HeadlensError, type ErrorCode } from "./types/errors.js";
export { readSafetensors } from "./files/safetensors.js";
export type * from "./types/index.js";
