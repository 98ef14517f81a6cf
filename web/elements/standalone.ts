// SPDX-License-Identifier: Apache-2.0
/** The elements and the engine as one script, which carries its worker, its code and the built-in model. A page sees it as `headlens`. */
import { HeadlensError, load } from "headlens";
import { drawing } from "headlens-drawing";
import { AttentionMap } from "./index.js";

export { AttentionMap, HeadlensError, load };

const { currentScript } = document as Partial<Pick<Document, "currentScript">>;
const url = currentScript instanceof HTMLElement ? (currentScript).src : "";
AttentionMap.script = { url, text: () => Promise.resolve(drawing) };
Object.assign(globalThis, { headlens: { AttentionMap, HeadlensError, load } });
