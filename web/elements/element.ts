// SPDX-License-Identifier: Apache-2.0
/** The entry `headlens/element`: the elements, which know the scripts that lie beside this one. */
import { AttentionMap } from "./index.js";
import { fetchText } from "./script.js";

export * from "./index.js";

AttentionMap.script = {
  url: new URL("./element.js", import.meta.url).href,
  text: () => fetchText(new URL("./headlens.arrays.js", import.meta.url)),
};
