// SPDX-License-Identifier: Apache-2.0
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { Theme } from "../maps/palette.js";

/**
 * The colour scheme of an element. The page's `color-scheme` decides, so the maps stay light on a page that is always
 * light.
 */
export class ThemeController implements ReactiveController {
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #changed = (): void => this.host.requestUpdate();

  constructor(private readonly host: ReactiveControllerHost & Element) {
    host.addController(this);
  }

  get theme(): Theme {
    const scheme = getComputedStyle(this.host).colorScheme;
    const isDark = scheme.includes("dark") && (!scheme.includes("light") || this.#dark.matches);
    return isDark ? "dark" : "light";
  }

  hostConnected(): void {
    this.#dark.addEventListener("change", this.#changed);
  }

  hostDisconnected(): void {
    this.#dark.removeEventListener("change", this.#changed);
  }
}
