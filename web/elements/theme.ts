// SPDX-License-Identifier: Apache-2.0
/**
 * The colours follow the text around the element: light text stands on dark ground. So maps fit into pages that say
 * nothing of a colour scheme, and into those that change it while they are read.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { Colors } from "../maps/canvas.js";
import { rgbOf } from "../maps/color.js";
import type { Ends, Theme } from "../maps/palette.js";

export const kThemes = ["auto", "light", "dark"] as const;

/** The luma of a colour, from 0 to 255. */
function lightnessOf(color: string): number {
  const [red, green, blue] = rgbOf(color);
  return 0.299 * red + 0.587 * green + 0.114 * blue;
}

/** The ends of the colours of maps that a page sets, if it does. */
function endsOf(style: CSSStyleDeclaration): Ends | undefined {
  const [low, high, negative] = ["low", "high", "negative"].map((end) => style.getPropertyValue(`--attention-${end}`).trim());
  return low && high ? { low, high, negative: negative === "" ? high : (negative ?? high) } : undefined;
}

/** The controllers of elements in a document. */
const kConnected = new Set<ThemeController>();
let areRead = false;

/**
 * To read a style, the browser brings all styles up to date. So those of all elements are read together and once a frame,
 * before the first of them draws, and what a page changes later in that frame is drawn in the next one.
 */
function readAll(): void {
  if (areRead) return;
  areRead = true;
  for (const controller of kConnected) controller.read();
  requestAnimationFrame(() => {
    areRead = false;
    for (const controller of kConnected) if (controller.read()) controller.host.requestUpdate();
  });
}

export class ThemeController implements ReactiveController {
  readonly #dark = matchMedia("(prefers-color-scheme: dark)");
  /** The host's text colour has a transition, whose end tells of its change. */
  readonly #transition = (event: TransitionEvent): void => {
    if (event.propertyName === "color" && event.target === this.host) this.#changed();
  };
  readonly #changed = (): void => {
    areRead = false;
    this.host.requestUpdate();
  };
  #own: Theme = "light";
  #colors: Colors = { theme: "light" };

  constructor(readonly host: ReactiveControllerHost & HTMLElement) {
    host.addController(this);
  }

  /** The colours for an attribute, where what is neither "light" nor "dark" is "auto": the same object until they change. */
  of(choice: string): Colors {
    readAll();
    const theme = choice === "light" || choice === "dark" ? choice : this.#own;
    if (theme !== this.#colors.theme) this.#colors = { ...this.#colors, theme };
    return this.#colors;
  }

  /** Returns true when the page's colours are others than before. */
  read(): boolean {
    const [style, { ends: before }, own] = [getComputedStyle(this.host), this.#colors, this.#own];
    const ends = endsOf(style);
    this.#own = lightnessOf(style.color) > 127 ? "dark" : "light";
    if (JSON.stringify(ends) === JSON.stringify(before)) return own !== this.#own;
    this.#colors = { ...this.#colors, ends };
    return true;
  }

  hostConnected(): void {
    kConnected.add(this);
    areRead = false;
    this.#dark.addEventListener("change", this.#changed);
    this.host.addEventListener("transitionend", this.#transition);
  }

  hostDisconnected(): void {
    kConnected.delete(this);
    this.#dark.removeEventListener("change", this.#changed);
    this.host.removeEventListener("transitionend", this.#transition);
  }
}
