// SPDX-License-Identifier: Apache-2.0
/** The entry `headlens/element/arrays`: importing it registers `<attention-map>` without the engine, for arrays of weights only. */
import { AttentionMap } from "./attention-map.js";
import { define } from "./define.js";
import { fetchText } from "./script.js";

export { AttentionMap };
export type { AttentionMapEventMap, AttentionMapEvents } from "./events.js";
export type { HeadMap } from "./methods.js";

AttentionMap.script = {
  url: new URL("./arrays.js", import.meta.url).href,
  text: () => fetchText(new URL("./headlens.arrays.js", import.meta.url)),
};
define();
// Most elements of this script draw given arrays, whose code is on its way before the first of them asks.
void import("../maps/given.js");
