// SPDX-License-Identifier: Apache-2.0
/** headlens computes multi-head attention with every head's weights and every stage, in browsers, workers and Node. */
import { makeLoad } from "./load.js";
import { pagePlatform } from "./platform/page.js";
import type { Load } from "./types/index.js";

export const load: Load = makeLoad(pagePlatform);
export { HeadlensError, type ErrorCode } from "./types/errors.js";
export { readSafetensors } from "./files/safetensors.js";
export type * from "./types/index.js";
