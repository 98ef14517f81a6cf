// SPDX-License-Identifier: Apache-2.0
import { adoptStyles, type CSSResult, type ReactiveElement } from "lit";
import { kAfter } from "./styles.js";

/** The styles of code that was loaded later, which have their place among those of the element. */
export class LaterStyles {
  readonly #loaded: CSSResult[] = [];

  constructor(private readonly host: ReactiveElement) {}

  add(more: CSSResult): void {
    if (this.#loaded.includes(more)) return; // a browser applies styles that it is given once more to all elements
    this.#loaded.push(more);
    const { elementStyles } = this.host.constructor as typeof ReactiveElement;
    const last = elementStyles.length - kAfter.length;
    const styles = [...elementStyles.slice(0, last), ...this.#loaded, ...elementStyles.slice(last)];
    if (this.host.renderRoot instanceof ShadowRoot) adoptStyles(this.host.renderRoot, styles);
  }
}
