// SPDX-License-Identifier: Apache-2.0
/** The entry `headlens/element/arrays`: importing it registers `<attention-map>` without the engine, for arrays of weights only. */
// All that it draws comes from these, so that it need not wait for them.
import "../files/fetched.js";
import "../maps/given.js";
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
