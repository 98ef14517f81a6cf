// SPDX-License-Identifier: Apache-2.0
/**
 * The colours follow the text around the element: light text stands on dark ground. So maps fit into pages that say
 * nothing of a colour scheme, and into those that change it while they are read.
 */
import type { ReactiveController, ReactiveControllerHost } from "lit";
import type { Theme } from "../maps/palette.js";

export const kThemes = ["auto", "light", "dark"] as const;

const lightness = new Map<string, number>();
let pixel: CanvasRenderingContext2D | null | undefined;

/** The luma of a colour in any of the forms that browsers compute, from 0 to 255. */
function lightnessOf(color: string): number {
  const known = lightness.get(color);
  if (known !== undefined) return known;
  pixel ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D | null;
  if (!pixel) return 0;
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = color;
  pixel.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = pixel.getImageData(0, 0, 1, 1).data;
  const light = 0.299 * red + 0.587 * green + 0.114 * blue;
  lightness.set(color, light);
  return light;
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
