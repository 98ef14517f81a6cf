// SPDX-License-Identifier: Apache-2.0
/**
 * The colours follow the text around the element: light text stands on dark ground. So maps fit into pages that say
 * nothing of a colour scheme, and into those that change it while they are read.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import { rgbOf } from "../maps/color.js";
import type { Ends, Theme } from "../maps/palette.js";

export const kThemes = ["auto", "light", "dark"] as const;

/** The luma of a colour, from 0 to 255. */
function lightnessOf(color: string): number {
  const [red, green, blue] = rgbOf(color);
  return 0.299 * red + 0.587 * green + 0.114 * blue;
}

/** The ends of the colours of maps that a page sets, if it does. They are read whenever the element draws. */
export function endsOf(host: Element): Ends | undefined {
  const style = getComputedStyle(host);
  const [low, high, negative] = ["low", "high", "negative"].map((end) => style.getPropertyValue(`--attention-${end}`).trim());
  return low && high ? { low, high, negative: negative === "" ? high : (negative ?? high) } : undefined;
}

export class ThemeController implements ReactiveController {
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  readonly #changed = (): void => this.host.requestUpdate();
  /** The host's text colour has a transition, whose end tells of its change. */
  readonly #transition = (event: TransitionEvent): void => {
    if (event.propertyName === "color" && event.target === this.host) this.#changed();
  };

  constructor(private readonly host: ReactiveControllerHost & HTMLElement) {
    host.addController(this);
  }

  /** The theme for an attribute, where what is neither "light" nor "dark" is "auto". */
  of(choice: string): Theme {
    if (choice === "light" || choice === "dark") return choice;
    return lightnessOf(getComputedStyle(this.host).color) > 127 ? "dark" : "light";
  }

  hostConnected(): void {
    this.#dark.addEventListener("change", this.#changed);
    this.host.addEventListener("transitionend", this.#transition);
  }

  hostDisconnected(): void {
    this.#dark.removeEventListener("change", this.#changed);
    this.host.removeEventListener("transitionend", this.#transition);
  }
}
