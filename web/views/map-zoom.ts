// SPDX-License-Identifier: Apache-2.0
/** The part of a map that is shown: as a whole until the reader zooms, with buttons, and with a small map of the whole. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { draw, type Look } from "../maps/canvas.js";
import type { Overview, Part } from "../maps/source.js";
import { fittingCell, isWhole, settled, showing, shownSize, type Viewport, zoomed } from "../maps/viewport.js";
import type { Cursor } from "../state/group.js";
import { type Axes, shownAt } from "../state/pins.js";
import type { Margins } from "./map-axes.js";
import type { Cell, Host, Room } from "./view.js";

/** Sizes in pixels of the map within the window. */
const maxSide = (): number => Math.min(Math.max(0.6 * innerHeight, 320), 640);
const kLeastSide = 64;
const kZoomStep = Math.SQRT2;
const kMinimap = 96;

/** The height of all above and below the map, in pixels: the bar, the exact value and the legend. */
const wordsHeight = ({ isCompact }: Room): number => (isCompact ? 56 : 120);

export interface Layout {
  readonly left: number;
  readonly top: number;
  readonly view: Viewport;
}

export class Zoom {
  /** The zoom and place that the reader chose, or undefined while the whole map is shown. */
  #chosen: Pick<Viewport, "cell" | "row" | "col"> | undefined;
  /** The part that is drawn. */
  view: Viewport | undefined;

  constructor(private readonly host: Host) {}

  layoutOf({ tokens, keyTokens }: Axes, margins: Margins): Layout {
    const { room } = this.host;
    const { left, top, right } = room.isCompact ? { left: 0, top: 0, right: 0 } : margins;
    const width = Math.max(Math.min(room.width - left - right, maxSide()), kLeastSide);
    const height = room.height === Infinity ? maxSide() : Math.max(room.height - top - wordsHeight(room), kLeastSide);
    const map = [tokens.length, keyTokens.length] as const;
    const { cell = 0, row = 0, col = 0 } = this.#chosen ?? {};
    return { left, top, view: settled({ map, width, height, cell, row, col }) };
  }

  /** Keeps the zoom when the new map has the size of the one before. */
  keepFor([rows, cols]: Viewport["map"]): void {
    const before = this.view?.map;
    if (before?.[0] !== rows || before[1] !== cols) this.#chosen = undefined;
  }

  move(view: Viewport): void {
    const { cell, row, col } = settled(view);
    const isFit = cell <= fittingCell(view.map, view.width, view.height);
    this.#chosen = isFit && isWhole(settled(view)) ? undefined : { cell, row, col };
    this.host.requestUpdate();
  }

  /** Moves a zoomed map as little as is needed for a cell to be seen. */
  reveal({ row, col }: Cell): void {
    if (this.view && !isWhole(this.view)) this.move(showing(this.view, row, col));
  }

  /** Zooms in or out around a place or the middle. */
  by(steps: 1 | -1, { row = NaN, col = NaN }: Cursor): void {
    if (!this.view) return;
    const { width, height } = shownSize(this.view);
    const inside = (at: number, length: number): number => (at >= 0 && at <= length ? at : length / 2);
    const x = inside((col + 0.5 - this.view.col) * this.view.cell, width);
    const y = inside((row + 0.5 - this.view.row) * this.view.cell, height);
    this.move(zoomed(this.view, kZoomStep ** steps, x, y));
  }

  fit(): void {
    if (this.view) this.move({ ...this.view, cell: 0 });
  }

  /** Shows a part, whose tokens are counted in the text as it is, as large as it can be. */
  to(axes: Axes, part: Part): void {
    if (!this.view) return;
    const placesOf = (axis: "rows" | "cols"): readonly [number, number] => {
      const [begin, end] = part[axis];
      const [first, last] = [shownAt(axes, axis, begin), shownAt(axes, axis, end - 1)];
      if (first === undefined || last === undefined || last < first)
        throw new Error(`zoomTo: ${axis} are ${begin} to ${end}, expected a range [begin, end) of tokens that are shown`);
      return [first, last + 1];
    };
    const [rows, cols] = [placesOf("rows"), placesOf("cols")];
    const { width, height } = this.view;
    const cell = Math.min(height / (rows[1] - rows[0]), width / (cols[1] - cols[0]));
    this.move({ ...this.view, cell, row: rows[0], col: cols[0] });
  }

  /** The buttons, which zoom around a place. */
  tools(place: Cursor): TemplateResult | typeof nothing {
    const { view } = this;
    if (!view) return nothing;
    const button = (sign: string, words: string, key: string, none: boolean, act: () => void): TemplateResult =>
      html`<button aria-label=${words} title=${`${words} ( ${key} )`} ?disabled=${none} @click=${act}>${sign}</button>`;
    const most = settled({ ...view, cell: Infinity }).cell;
    return html`
      <span class="zoom" part="zoom" role="group" aria-label="Zoom">
        ${button("−", "Zoom out", "-", isWhole(view), () => this.by(-1, place))}
        ${button("+", "Zoom in", "+", view.cell >= most, () => this.by(1, place))}
        ${button("fit", "Fit the whole map", "0", isWhole(view), () => this.fit())}
      </span>
    `;
  }

  /** The whole map in a corner, unless it would cover much of a narrow one. */
  minimap({ picture }: Overview, view: Viewport, look: Look | undefined): TemplateResult | typeof nothing {
    const [rows, cols] = view.map;
    const cell = Math.min(kMinimap / rows, kMinimap / cols);
    const { width, height } = shownSize(view);
    if (isWhole(view) || rows * cell > height / 2 || cols * cell > width / 2) return nothing;
    const size = `width: ${Math.max(cols * cell, 4)}px; height: ${Math.max(rows * cell, 4)}px`;
    const share = (value: number, of: number): string => `${(100 * value) / of}%`;
    const frame = `left: ${share(view.col, cols)}; top: ${share(view.row, rows)}; width: ${share(width / view.cell, cols)}; height: ${share(height / view.cell, rows)}`;
    return html`
      <div class="minimap" part="minimap" aria-hidden="true" .style=${size} @pointerdown=${this.#onMinimap} @pointermove=${this.#onMinimap}>
        <canvas ${draw(picture, look)}></canvas>
        <div class="frame" .style=${frame}></div>
      </div>
    `;
  }

  readonly #onMinimap = (event: PointerEvent): void => {
    event.stopPropagation();
    if (event.type === "pointermove" && event.buttons === 0) return;
    const { view } = this;
    if (!view || !(event.currentTarget instanceof HTMLElement)) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const box = event.currentTarget.getBoundingClientRect();
    const { width, height } = shownSize(view);
    const row = ((event.clientY - box.top) / box.height) * view.map[0] - height / view.cell / 2;
    const col = ((event.clientX - box.left) / box.width) * view.map[1] - width / view.cell / 2;
    this.move({ ...view, row, col });
  };
}
