// SPDX-License-Identifier: Apache-2.0
/** The sentence of a picture: its patches lie over it, tinted by what the chosen one looks at, beside the picture as it is. */
import { css, html } from "lit";
import type { TemplateResult } from "lit";
import type { Theme } from "../maps/palette.js";
import type { Run } from "../maps/run.js";
import { faded } from "./picture-drawing.js";
import { seenPicture } from "./picture-seen.js";

/** The most pixels on a side of the picture and of its patches, which a page can make smaller. */
const kSide = 200;
/** In so many columns, a patch has room for its name. */
const kMostNamed = 10;

/** The picture of a run, as its model sees it. */
export class SentencePicture {
  readonly #faded = new Map<Theme, HTMLCanvasElement>();

  private constructor(readonly run: Run, private readonly canvas: HTMLCanvasElement) {
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "The picture, as the model sees it");
    // Only pixels that are enlarged keep their edges.
    canvas.classList.toggle("enlarged", canvas.width < kSide);
  }

  static async of(run: Run, signal: AbortSignal): Promise<SentencePicture> {
    return new SentencePicture(run, (await seenPicture(run, signal)).canvas);
  }

  /** The tokens before the patches stand above them. Patches lie in their own grid of so many columns. */
  render(tokens: readonly TemplateResult[], [rows, columns]: readonly [number, number], theme: Theme): TemplateResult {
    const prefix = tokens.length - rows * columns;
    return html`
      <div class="sentence-seen">
        ${this.canvas}
        <div class="sentence-tokens sentence-patches" role="group" aria-label="Patches" data-columns=${columns}>
          <div>${tokens.slice(0, prefix)}</div>
          <div class="sentence-plate ${columns > kMostNamed ? "dense" : ""}" .style=${`--rows: ${rows}; --columns: ${columns}`}>
            ${this.#fadedIn(theme)}${tokens.slice(prefix)}
          </div>
        </div>
      </div>
    `;
  }

  #fadedIn(theme: Theme): HTMLCanvasElement {
    const known = this.#faded.get(theme) ?? faded(this.canvas, theme);
    known.className = this.canvas.className;
    this.#faded.set(theme, known);
    return known;
  }
}

export const styles = css`
  /* Patches have no arcs above them. The picture and its patches do not scroll. */
  .sentence-rows:has(> .sentence-seen) {
    max-height: none;
    padding-top: 8px;
  }
  .sentence-seen {
    --side: min(var(--attention-picture, ${kSide}px), (100% - 12px) / 2);
    display: flex;
    align-items: end;
    gap: 12px;
  }
  .sentence-seen > canvas,
  .sentence-patches {
    width: var(--side);
  }
  /* On a phone the picture is small, so that a finger finds a patch. */
  @container (max-width: 480px) {
    .sentence-seen > canvas {
      width: min(var(--side), 88px);
    }
    .sentence-patches {
      width: min(var(--attention-picture, 320px), 100% - 100px);
    }
  }
  .sentence-seen canvas {
    aspect-ratio: 1;
    border-radius: 4px;
    image-rendering: auto;
  }
  .sentence-seen canvas.enlarged {
    image-rendering: pixelated;
  }
  .sentence-patches {
    line-height: 24px;
  }
  .sentence-patches > div:first-child {
    display: flex;
    gap: 4px;
    padding: 2px;
    margin-bottom: 2px;
  }
  .sentence-plate {
    position: relative;
    display: grid;
    grid-template: repeat(var(--rows), minmax(0, 1fr)) / repeat(var(--columns), minmax(0, 1fr));
    aspect-ratio: 1;
  }
  .sentence-plate canvas {
    position: absolute;
    inset: 0;
    width: 100%;
    height: 100%;
  }
  .sentence-plate .sentence-token {
    position: relative;
    min-height: 0;
    padding: 0;
    border-radius: 0;
    background: color-mix(in srgb, var(--tint, transparent) calc(20% + 65% * var(--place, 0)), transparent);
    color: transparent;
    font-size: 12px;
    line-height: 1;
  }
  /* A name is read on its colour. */
  .sentence-plate:not(.dense) .sentence-token:is(.holding, .query, :hover, :focus-visible) {
    background: var(--tint, var(--paper));
    color: var(--ink-on-tint, var(--ink));
  }
  .sentence-plate .sentence-token:is(.query, .pointed, :focus-visible) {
    z-index: 1;
  }
`;
