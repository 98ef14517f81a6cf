// SPDX-License-Identifier: Apache-2.0
/** Importing this file registers `<attention-map>` without the engine: it draws arrays of weights only. */
import { AttentionMap } from "./attention-map.js";
import { define } from "./define.js";

export { AttentionMap };
export type { AttentionMapEvents } from "./attention-map.js";

define();
