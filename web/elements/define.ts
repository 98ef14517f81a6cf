// SPDX-License-Identifier: Apache-2.0
import { AttentionMap } from "./attention-map.js";

/** Registers `<attention-map>`, unless the page already has such an element, or there is no page. */
export function define(): void {
  const { customElements } = globalThis as Partial<typeof globalThis>;
  if (customElements && !customElements.get("attention-map")) customElements.define("attention-map", AttentionMap);
}
