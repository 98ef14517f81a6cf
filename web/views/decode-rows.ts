// SPDX-License-Identifier: Apache-2.0
/** The rows of the open head so far, which grow with each token that is read. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { draw, type Look } from "../maps/canvas.js";
import type { CellMask } from "../maps/mask.js";
import type { Run } from "../maps/run.js";
import type { MapSource, Picture } from "../maps/source.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import type { Lengths, TokenReading, WholeMap } from "./decode-reading.js";
import { exact } from "./map.js";
import type { Cell, Host } from "./view.js";

/** Rows have names where there are at most so many. */
const kMostNames = 40;

/** Facts that stay the same while the head and its maps do. */
export interface Content {
  readonly maps: MapSource;
  readonly run: Run;
  readonly layer: number;
  readonly head: number;
  readonly names: ReadonlyMap<number, string>;
  /** The lengths of keys and values, which come after the first step is drawn. */
  lengths: Lengths;
  readonly whole: WholeMap;
  /** The cells of the rows that a query may not look at. */
  readonly mask: CellMask;
  /** The row with the head's strongest link. */
  readonly telling: number;
  /** The number of tokens of the text that are read. */
  readonly count: number;
}

export class DecodeRows {
  /** The cell under the pointer. */
  #cell: Cell | undefined;
  #picture: { key: string; reading: TokenReading; picture: Picture } | undefined;

  constructor(private readonly host: Host) {}

  render(content: Content, reading: TokenReading, step: number, look: Look): TemplateResult {
    const { maps, run, layer, head, count } = content;
    const picture = this.#pictureOf(content, reading, step);
    const [rows, cols] = picture.size;
    const side = Math.min(360 / Math.max(rows, cols), 28);
    const point = (event: PointerEvent): void => {
      const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
      const place = (share: number, of: number): number => Math.min(Math.max(Math.floor(share * of), 0), of - 1);
      const row = place((event.clientY - box.top) / box.height, rows);
      this.#cell = { row, col: place((event.clientX - box.left) / box.width, cols) };
      this.host.requestUpdate();
    };
    const leave = (): void => {
      this.#cell = undefined;
      this.host.requestUpdate();
    };
    const nameOf = (row: number): string => (row < count ? (maps.tokens[row] ?? "") : (reading.tokens[row]?.token ?? ""));
    const label = (_: unknown, row: number): TemplateResult =>
      html`<span class=${row === step ? "decode-now" : row > step ? "decode-later" : ""} .style=${`height: ${side}px; line-height: ${side}px`}>${tokenLabel(nameOf(row))}</span>`;
    const cell = this.#cell;
    const value = cell && cell.row <= step ? (picture.values[cell.row * cols + cell.col] ?? NaN) : undefined;
    const keyName = (col: number): string => (run.of.attention === "cross" ? (maps.keyTokens[col] ?? "") : nameOf(col));
    const isHidden = cell && look.mask.hides(cell.row, cell.row + 1, cell.col, cell.col + 1);
    const shown = value === undefined ? "not read yet" : isHidden ? "masked" : exact(value);
    return html`
      <span class="decode-caption">rows of head ${layer}.${head}, 0 – 1</span>
      <div class="decode-map">
        ${rows <= kMostNames ? html`<div class="decode-names" aria-hidden="true">${Array.from({ length: rows }, label)}</div>` : nothing}
        <div class="decode-cells" role="img" aria-label=${`The rows of head ${layer}.${head} so far. A table of the newest follows.`} .style=${`width: ${side * cols}px; height: ${side * rows}px`} @pointermove=${point} @pointerdown=${point} @pointerleave=${leave}>
          <canvas ${draw(picture, look)}></canvas>
          <span class="decode-row" .style=${`top: ${(100 * step) / rows}%; height: ${100 / rows}%`}></span>
        </div>
      </div>
      <output class="decode-readout">${cell ? html`${tokenName(nameOf(cell.row))} → ${tokenName(keyName(cell.col))}: ${shown}` : nothing}</output>
    `;
  }

  /** The rows so far. It stays the same object while nothing changes. */
  #pictureOf({ maps, run, count }: Content, reading: TokenReading, step: number): Picture {
    const { tokens } = reading;
    const rows = Math.max(count, tokens.length);
    const key = `${rows} ${step}`;
    if (this.#picture?.key === key && this.#picture.reading === reading) return this.#picture.picture;
    const isCross = run.of.attention === "cross";
    const cols = isCross ? maps.keyTokens.length : rows;
    const values = new Float32Array(rows * cols);
    for (let row = 0; row <= step; row++) {
      const token = tokens[row];
      if (token) values.set(token.row, row * cols + (isCross ? 0 : token.firstKey));
    }
    const known = new Uint8Array(rows * cols).fill(1, 0, (step + 1) * cols);
    const picture = { part: { rows: [0, rows], cols: [0, cols] }, size: [rows, cols], values, known } as const;
    this.#picture = { key, reading, picture };
    return picture;
  }
}
