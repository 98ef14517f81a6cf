// SPDX-License-Identifier: Apache-2.0
/** The script `headlens.arrays.js`: the same as arrays.ts in one classic script, which may also stand in a page itself. */
import { AttentionMap } from "./attention-map.js";
import { define } from "./define.js";
import { fetchText } from "./script.js";

// A server without a DOM has no such thing, and inside of a module there is none.
const { currentScript } = document as Partial<Pick<Document, "currentScript">>;
const own = currentScript instanceof HTMLElement ? (currentScript) : undefined;
const [url, text] = [own?.src ?? "", own?.textContent ?? ""];

AttentionMap.script = { url, text: () => (url === "" ? Promise.resolve(text) : fetchText(url)) };
define();
