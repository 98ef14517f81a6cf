// SPDX-License-Identifier: Apache-2.0
/** The legend of a map: its scale, the place of a value on it, and the kinds of cells that have no place there. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { barLook, codesOf, draw, kBar, type Look } from "../maps/canvas.js";
import { kInfinite, kMasked, kMinusInfinite, kNaN, kUnknown } from "../maps/palette.js";
import { formatOn, placeOf, scaleInWords, valueAt } from "../maps/scale.js";
import type { MapSource, Overview } from "../maps/source.js";

export const kNotKnown = "not known";

/** The kinds of cells that have no place on the scale. */
const kOddCells = [
  [kMasked, "masked"],
  [kNaN, "NaN"],
  [kInfinite, "∞"],
  [kMinusInfinite, "−∞"],
  [kUnknown, kNotKnown],
] as const;

export class Legend {
  #look: Look | undefined;
  #bar: Look | undefined;
  /** The kinds of cells that only a legend can explain. */
  #odd: (typeof kOddCells)[number][] = [];

  /** `value` is that of a cell in `row`, and `block` the side of the blocks to which cells are pooled. */
  render(
    { unknownName }: MapSource, overview: Overview, look: Look, block: number,
    value: number | undefined, row: number | undefined,
  ): TemplateResult {
    this.#follow(overview, look);
    const { scale } = look;
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((place) => formatOn(scale, valueAt(scale, place)));
    const place = value === undefined ? NaN : placeOf(scale, value, row);
    const pooled = block > 1 ? ` · max of ${block}×${block}` : "";
    return html`
      <div class="legend" part="legend">
        <div class="scale" aria-label=${`Colours: ${scaleInWords(scale)}`} role="img">
          <canvas part="canvas" ${draw(kBar, this.#bar)}></canvas>
          ${Number.isFinite(place) ? html`<span class="pointer" .style=${`--place: ${Math.min(Math.max(place, 0), 1)}`}></span>` : nothing}
          <div class="ticks">${scale.kind === "row" ? html`<span>0</span><span>largest of the row</span>` : ticks.map((tick) => html`<span>${tick}</span>`)}</div>
        </div>
        <div class="words">
          <span class="range" part="scale">${scaleInWords(scale)}${pooled}</span>
          ${this.#odd.map((kind) => oddSwatch(kind, look, unknownName))}
        </div>
      </div>
    `;
  }

  #follow(overview: Overview, look: Look): void {
    if (look === this.#look) return;
    this.#look = look;
    this.#bar = barLook(look);
    const found = new Set<number>(codesOf(overview.picture, look));
    this.#odd = kOddCells.filter(([code]) => found.has(code));
  }
}

function oddSwatch(
  [code, usual]: (typeof kOddCells)[number], { palette: { bytes } }: Look, unknownName: string | undefined,
): TemplateResult {
  const name = code === kUnknown ? (unknownName ?? usual) : usual;
  const color = code === kUnknown ? "var(--dots)" : `rgb(${[...bytes.subarray(code * 4, code * 4 + 3)].join(" ")})`;
  return html`<span class="masked"><span class="swatch" .style=${code === kMasked ? "" : `background: ${color}`}></span>${name}</span>`;
}
