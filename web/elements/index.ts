// SPDX-License-Identifier: Apache-2.0
/** Importing this file registers `<attention-map>`, unless the page already has such an element. */
import { AttentionMap } from "./attention-map.js";

export { AttentionMap };
export type { AttentionMapEvents } from "./attention-map.js";
export type { NestedNumbers } from "../maps/nested.js";
export type { WorkedExample } from "../views/worked-example.js";

if (!customElements.get("attention-map")) customElements.define("attention-map", AttentionMap);

declare global {
  interface HTMLElementTagNameMap {
    "attention-map": AttentionMap;
  }
}
