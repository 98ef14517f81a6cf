// SPDX-License-Identifier: Apache-2.0
/** The elements and the engine as one script, which carries its worker, its code and the built-in model. A page sees it as `headlens`. */
import { HeadlensError, load } from "headlens";
import { AttentionMap } from "./index.js";

export { AttentionMap, HeadlensError, load };

Object.assign(globalThis, { headlens: { AttentionMap, HeadlensError, load } });
