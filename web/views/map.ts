// SPDX-License-Identifier: Apache-2.0
/**
 * The large map of one head, which can be moved and enlarged, with labelled rows and columns, the exact value of the
 * cell under the pointer or the keyboard's cursor, and a legend.
 */
import { css, html, nothing } from "lit";
import type { ReactiveController, TemplateResult } from "lit";
import { barLook, codesOf, draw, kBar, type Look, Looks, rowColors } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import { kInfinite, kMasked, kMinusInfinite, kNaN, kUnknown } from "../maps/palette.js";
import { formatOn, placeOf, scaleInWords, valueAt } from "../maps/scale.js";
import { checkHead, type MapSource, type Overview, overviewOf, type Range } from "../maps/source.js";
import { Strips, type Tile, tileOf, Tiles } from "../maps/tiles.js";
import { tokenLabel, tokenName, tokenWidth } from "../maps/tokens.js";
import {
  fittingCell, isWhole, settled, showing, shownPart, shownSize, type Viewport, zoomed,
} from "../maps/viewport.js";
import { type Link, linkInWords, strongestLink } from "../maps/words.js";
import type { Cursor } from "../state/group.js";
import { headName, toggled } from "../state/lists.js";
import { pinnedCol, pinnedRows, placeOf as lookedAt, tokensAt } from "../state/pins.js";
import { Gestures } from "./gestures.js";
import { kStripStyles, meanOf, rowStrip } from "./row-strip.js";
import type { Cell, Host, Room, View, ViewCode } from "./view.js";

/** Sizes in pixels of the map within the window, and of labels. */
const maxSide = (): number => Math.min(Math.max(0.6 * innerHeight, 320), 640);
const kLeastSide = 64;
const kLabelHeight = 14;
const kCharWidth = 7.3;
const kMaxChars = 12;
/** Column labels are tilted by 60°. For each pixel of length they take this much space upwards and to the right. */
const kLean = { up: 0.87, right: 0.5 };
const kZoomStep = Math.SQRT2;
const kMinimap = 96;

/** One head of the maps, and what is known of it. */
interface Content {
  readonly maps: MapSource;
  readonly layer: number;
  readonly head: number;
  readonly overview: Overview;
  readonly base: Tile;
  readonly tiles: Tiles;
  readonly strips: Strips;
  /** The length in pixels of the longest row label and of the longest column label. */
  readonly rowLabel: number;
  readonly colLabel: number;
  /** The strongest link of the head, once it is known; null when no query has a choice of keys. */
  strongest: Link | null | undefined;
}

interface Layout {
  readonly left: number;
  readonly top: number;
  readonly view: Viewport;
}

class MapView implements View, ReactiveController {
  #content: Content | undefined;
  /** The place that is looked at: a cell, or only its row or its column. */
  #place: Cursor = {};
  /** True when the pointer, and not the keyboard, moved last. */
  #isPointed = false;
  /** The cell that listeners were told of last. */
  #told: { readonly cell: Cell | undefined; readonly row: unknown } | undefined;
  /** The zoom and place that the reader chose, or undefined while the whole map is shown. */
  #chosen: Pick<Viewport, "cell" | "row" | "col"> | undefined;
  #layout: Layout | undefined;
  #look: Look | undefined;
  #barLook: Look | undefined;
  readonly #looks = new Looks();
  /** The kinds of cells that only a legend can explain. */
  #odd: (typeof kOddCells)[number][] = [];
  readonly #gestures: Gestures;

  constructor(private readonly host: Host) {
    host.addController(this);
    this.#gestures = new Gestures({
      view: () => this.#layout?.view,
      move: (view) => this.#moveMap(view),
      point: (x, y) => this.#pointAt(x, y),
      pin: (x, y, isMore) => this.#pinAt(x, y, isMore),
      leave: () => this.#isPointed && this.host.point(undefined),
      hasFocus: () => this.host.renderRoot.querySelector(".plot:focus-within") !== null,
    });
  }

  hostUpdated(): void {
    if (!this.#content) return;
    this.#paint(this.#content);
    this.#announceCell(this.#content);
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".plot")?.focus();
  }

  clear(): void {
    this.#content?.tiles.close();
    this.#content = undefined;
  }

  heads(): readonly (readonly [number, number])[] {
    return this.#content ? [[this.#content.layer, this.#content.head]] : [];
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    const { layer, head } = this.host.state;
    checkHead(maps, layer, head);
    const overview = await overviewOf(maps, layer, head);
    signal.throwIfAborted();
    const content = this.#contentOf(maps, layer, head, overview);
    const view = this.#layoutOf(content).view;
    await this.#untilSharp(content.tiles, view, signal);
    this.#content?.tiles.close();
    this.#content = content;
    this.#fit(view.map);
    this.host.drawn(this);
    void this.#describe(content);
  }

  /** Keeps the zoom when the new map has the size of the one before. */
  #fit([rows, cols]: Viewport["map"]): void {
    const before = this.#layout?.view.map;
    if (before?.[0] !== rows || before[1] !== cols) this.#chosen = undefined;
  }

  #contentOf(maps: MapSource, layer: number, head: number, overview: Overview): Content {
    const changed = (): void => this.host.requestUpdate();
    const failed = (error: unknown): void => this.host.fail(error);
    const tiles = new Tiles(maps, layer, head, changed, failed);
    tiles.seed(overview.picture);
    return {
      maps,
      layer,
      head,
      overview,
      base: tileOf(overview.picture, Infinity),
      tiles,
      strips: new Strips(maps, layer, head, changed, failed),
      rowLabel: labelLength(maps.tokens),
      colLabel: labelLength(maps.keyTokens),
      strongest: undefined,
    };
  }

  /** Waits for the tiles of a small map, so that it appears at once. A large one appears with its overview. */
  async #untilSharp(tiles: Tiles, view: Viewport, signal: AbortSignal): Promise<void> {
    tiles.show(view, devicePixelRatio);
    const [rows, cols] = view.map;
    if (rows * cols > kWaitCells) return;
    while (!tiles.isSharp) {
      await tiles.next();
      signal.throwIfAborted();
    }
  }

  async #describe(content: Content): Promise<void> {
    const { maps, layer, head, overview } = content;
    try {
      content.strongest = (await strongestLink(maps, layer, head, overview)) ?? null;
    } catch (error) {
      if (content === this.#content) this.host.fail(error);
      return;
    }
    if (content === this.#content) this.host.requestUpdate();
  }

  render(): TemplateResult {
    const content = this.#content;
    if (!content) return html``;
    const { maps, layer, head, strongest } = content;
    this.#place = lookedAt(maps, this.host.cursor, this.host.state);
    const cell = this.#cell;
    const layout = this.#layoutOf(content);
    this.#layout = layout;
    this.#look = this.#lookOf(content);
    content.tiles.show(layout.view, devicePixelRatio);
    const words = strongest === undefined ? "" : `${linkInWords(maps, strongest)}. `;
    const about = `Layer ${layer}, head ${head}: ${words}Rows are queries, columns are keys. Arrow keys move the cell, Enter pins it, plus and minus zoom.`;
    const zoom = isWhole(layout.view) ? "" : "zoomed";
    const { isCompact } = this.host.room;
    return html`
      <div class="head ${isCompact ? "compact" : ""}" part="map">
        <output part="readout" class=${isCompact ? "unseen" : "readout"} aria-live="polite">${this.#readout(content)}</output>
        <div
          class="plot"
          part="plot"
          role="application"
          aria-roledescription="attention map"
          aria-label=${about}
          tabindex="0"
          .style=${sizes(layout)}
          @keydown=${this.#onKey}
          @focus=${this.#onFocus}
        >
          ${isCompact ? nothing : this.#axes(content, layout.view)}
          <div class="cells ${zoom}" ${this.#gestures.attach()}>
            <canvas part="canvas"></canvas>
            ${this.#pinnedMarks(content, layout.view)} ${highlight(this.#place, layout.view)} ${this.#minimap(content, layout.view)}
            ${content.tiles.isSharp ? nothing : html`<span class="coarse" role="status">coarse, being computed …</span>`}
          </div>
        </div>
        ${this.#legend(content, this.#look, cell)} ${isCompact || this.host.room.height < Infinity ? nothing : this.#strip(content)}
      </div>
    `;
  }

  #axes({ maps: { tokens, keyTokens } }: Content, view: Viewport): TemplateResult {
    return html`
      <div class="axes" aria-hidden="true"><span class="key">key →</span><span class="query">query ↓</span></div>
      ${labels("cols", keyTokens, view, this.#place.col)} ${labels("rows", tokens, view, this.#place.row)}
    `;
  }

  tools(): TemplateResult {
    const view = this.#layout?.view;
    if (!view) return html``;
    const zoom = (factor: number, sign: string, words: string, key: string, none: boolean): TemplateResult =>
      html`<button aria-label=${words} title=${`${words} ( ${key} )`} ?disabled=${none} @click=${(): void => this.#zoom(factor)}>${sign}</button>`;
    const most = settled({ ...view, cell: Infinity }).cell;
    return html`
      <span class="zoom" role="group" aria-label="Zoom">
        ${zoom(1 / kZoomStep, "−", "Zoom out", "-", isWhole(view))} ${zoom(kZoomStep, "+", "Zoom in", "+", view.cell >= most)}
        ${zoom(0, "fit", "Fit the whole map", "0", isWhole(view))}
      </span>
    `;
  }

  /** Zooms around the highlighted cell or the middle; by 0, shows the whole map. */
  #zoom(factor: number): void {
    const view = this.#layout?.view;
    if (!view) return;
    if (factor === 0) return this.#moveMap({ ...view, cell: 0 });
    const { width, height } = shownSize(view);
    const inside = (at: number, length: number): number => (at >= 0 && at <= length ? at : length / 2);
    const { row = NaN, col = NaN } = this.#place;
    const x = inside((col + 0.5 - view.col) * view.cell, width);
    const y = inside((row + 0.5 - view.row) * view.cell, height);
    this.#moveMap(zoomed(view, factor, x, y));
  }

  #moveMap(view: Viewport): void {
    const { cell, row, col } = settled(view);
    const isFit = cell <= fittingCell(view.map, view.width, view.height);
    this.#chosen = isFit && isWhole(settled(view)) ? undefined : { cell, row, col };
    this.host.requestUpdate();
  }

  #layoutOf({ maps, rowLabel, colLabel }: Content): Layout {
    const { room } = this.host;
    const left = room.isCompact ? 0 : Math.ceil(Math.max(rowLabel, 56));
    const top = room.isCompact ? 0 : Math.ceil(colLabel * kLean.up + 8);
    const right = room.isCompact ? 0 : colLabel * kLean.right;
    const width = Math.max(Math.min(room.width - left - right, maxSide()), kLeastSide);
    const height = room.height === Infinity ? maxSide() : Math.max(room.height - top - wordsHeight(room), kLeastSide);
    const map = [maps.tokens.length, maps.keyTokens.length] as const;
    const { cell = 0, row = 0, col = 0 } = this.#chosen ?? {};
    return { left, top, view: settled({ map, width, height, cell, row, col }) };
  }

  #lookOf({ maps, layer, overview }: Content): Look {
    const look = this.#looks.of(maps, layer, overview, this.host.scaleChoice, this.host.colors);
    if (look === this.#look) return look;
    this.#odd = oddCells(overview, look);
    this.#barLook = barLook(look);
    return look;
  }

  #paint(content: Content): void {
    const [layout, look] = [this.#layout, this.#look];
    const canvas = this.host.renderRoot.querySelector<HTMLCanvasElement>(".cells > canvas");
    const context = canvas?.getContext("2d");
    if (!layout || !look || !canvas || !context) return;
    const ratio = devicePixelRatio;
    const { width, height } = shownSize(layout.view);
    [canvas.width, canvas.height] = [Math.max(Math.round(width * ratio), 1), Math.max(Math.round(height * ratio), 1)];
    content.tiles.draw(context, layout.view, ratio, look, content.base);
  }

  /** The whole map in a corner, unless it would cover much of a narrow one. */
  #minimap({ overview }: Content, view: Viewport): TemplateResult | typeof nothing {
    const [rows, cols] = view.map;
    const cell = Math.min(kMinimap / rows, kMinimap / cols);
    const { width, height } = shownSize(view);
    if (isWhole(view) || rows * cell > height / 2 || cols * cell > width / 2) return nothing;
    const size = `width: ${Math.max(cols * cell, 4)}px; height: ${Math.max(rows * cell, 4)}px`;
    const share = (value: number, of: number): string => `${(100 * value) / of}%`;
    const frame = `left: ${share(view.col, cols)}; top: ${share(view.row, rows)}; width: ${share(width / view.cell, cols)}; height: ${share(height / view.cell, rows)}`;
    return html`
      <div class="minimap" part="minimap" aria-hidden="true" .style=${size} @pointerdown=${this.#onMinimap} @pointermove=${this.#onMinimap}>
        <canvas ${draw(overview.picture, this.#look)}></canvas>
        <div class="frame" .style=${frame}></div>
      </div>
    `;
  }

  readonly #onMinimap = (event: PointerEvent): void => {
    event.stopPropagation();
    if (event.type === "pointermove" && event.buttons === 0) return;
    const view = this.#layout?.view;
    if (!view || !(event.currentTarget instanceof HTMLElement)) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const box = event.currentTarget.getBoundingClientRect();
    const { width, height } = shownSize(view);
    const row = ((event.clientY - box.top) / box.height) * view.map[0] - height / view.cell / 2;
    const col = ((event.clientX - box.left) / box.width) * view.map[1] - width / view.cell / 2;
    this.#moveMap({ ...view, row, col });
  };

  /** The exact value of a cell, undefined until it is there, or why it has none. */
  #valueAt({ maps, layer, tiles, strips }: Content, { row, col }: Cell): number | string | undefined {
    if (maps.maskOf(layer).hides(row, row + 1, col, col + 1)) return "masked";
    const picture = (tiles.block === 1 ? tiles.pictureAt(row, col) : undefined) ?? strips.row(row);
    if (!picture) return undefined;
    const { part, size, values, known } = picture;
    const at = (row - part.rows[0]) * size[1] + col - part.cols[0];
    return known?.[at] === 0 ? (maps.unknownName ?? kNotKnown) : values[at];
  }

  #readout(content: Content): TemplateResult {
    const cell = this.#cell;
    if (!cell)
      return html`<span class="hint">Point at a cell, or use the arrow keys, for its exact value.<span class="mouse"> Ctrl + wheel zooms.</span></span>`;
    const { row, col } = cell;
    const value = this.#valueAt(content, cell);
    const shown = typeof value === "number" ? exact(value) : (value ?? "…");
    const { tokens, keyTokens } = content.maps;
    return html`query ${tokenName(tokens[row] ?? "")} → key ${tokenName(keyTokens[col] ?? "")}: <b>${shown}</b>`;
  }

  #legend(content: Content, look: Look, cell: Cell | undefined): TemplateResult {
    const { scale } = look;
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((place) => formatOn(scale, valueAt(scale, place)));
    const value = cell && this.#valueAt(content, cell);
    const place = typeof value === "number" ? placeOf(scale, value, cell?.row) : NaN;
    const { block } = content.tiles;
    const pooled = block > 1 ? ` · max of ${block}×${block}` : "";
    return html`
      <div class="legend" part="legend">
        <div class="scale" aria-label=${`Colours: ${scaleInWords(scale)}`} role="img">
          <canvas part="canvas" ${draw(kBar, this.#barLook)}></canvas>
          ${Number.isFinite(place) ? html`<span class="pointer" .style=${`--place: ${Math.min(Math.max(place, 0), 1)}`}></span>` : nothing}
          <div class="ticks">${scale.kind === "row" ? html`<span>0</span><span>largest of the row</span>` : ticks.map((tick) => html`<span>${tick}</span>`)}</div>
        </div>
        <div class="words">
          <span class="range" part="scale">${scaleInWords(scale)}${pooled}</span>
          ${this.#odd.map((kind) => oddSwatch(kind, look, content.maps))}
        </div>
      </div>
    `;
  }

  get #cell(): Cell | undefined {
    const { row, col } = this.#place;
    return row === undefined || col === undefined ? undefined : { row, col };
  }

  /** The rows that the reader pinned. */
  #pinnedMarks({ maps }: Content, view: Viewport): TemplateResult[] {
    return pinnedRows(maps, this.host.state).map((row) =>
      html`<div class="pinned" part="pin" .style=${`--y: ${(row - view.row) * view.cell}px; --cell: ${Math.max(view.cell, 1)}px`}></div>`);
  }

  /** The weights of what is looked at: of the row under the pointer, of the pinned ones, or of the strongest one. */
  #strip(content: Content): TemplateResult | typeof nothing {
    const { maps, layer, strips, strongest } = content;
    const pinned = pinnedRows(maps, this.host.state);
    const at = this.host.cursor === undefined ? undefined : this.#place.row;
    const rows = at !== undefined ? [at] : pinned.length > 0 ? pinned : strongest ? [strongest.row] : [];
    const pictures = rows.map((row) => strips.row(row));
    const mask = maps.maskOf(layer);
    const weights = pictures.map((picture, index) =>
      picture?.values.map((value, col) => {
        const row = rows[index] ?? 0;
        return picture.known?.[col] === 0 || mask.hides(row, row + 1, col, col + 1) ? NaN : value;
      }));
    const known = weights.filter((row) => row !== undefined);
    if (known.length < rows.length) return html`<div class="strip"></div>`;
    const names = rows.map((row) => maps.tokens[row] ?? "");
    return rowStrip(names, maps.keyTokens, meanOf(known), pinnedCol(maps, this.host.state), (col) =>
      this.host.change({
        query: rows.map((row) => tokensAt(maps, { row }).row).join(" "),
        key: String(tokensAt(maps, { col }).col),
      }));
  }

  /** Tells of the highlighted cell, when it moves and when the numbers under it change. */
  #announceCell(content: Content): void {
    const [cell, look] = [this.#cell, this.#look];
    const row = cell && content.strips.row(cell.row)?.values;
    if (this.#told && isSameCell(this.#told.cell, cell) && this.#told.row === row) return;
    if (!this.#told && !cell) return;
    this.#told = { cell, row };
    const picture = cell && content.strips.row(cell.row);
    this.host.visitCell(cell, picture && look && rowColors(picture, look));
  }

  #cellAt(x: number, y: number): Cell | undefined {
    const view = this.#layout?.view;
    if (!view) return undefined;
    const [row, col] = [Math.floor(view.row + y / view.cell), Math.floor(view.col + x / view.cell)];
    return row >= 0 && row < view.map[0] && col >= 0 && col < view.map[1] ? { row, col } : undefined;
  }

  #pointAt(x: number, y: number): void {
    const cell = this.#cellAt(x, y);
    this.#isPointed = true;
    if (cell) this.#point(cell);
  }

  #point(cell: Cursor): void {
    if (this.#content) this.host.point(tokensAt(this.#content.maps, cell));
  }

  #pinAt(x: number, y: number, isMore: boolean): void {
    const cell = this.#cellAt(x, y);
    if (cell) this.#pin(cell, isMore);
  }

  /** Pins a cell, or frees it when it is pinned. With `isMore`, its row joins the pinned ones or leaves them. */
  #pin(cell: Cell, isMore: boolean): void {
    if (!this.#content) return;
    const { row, col } = tokensAt(this.#content.maps, cell);
    const { query, key } = this.host.state;
    if (isMore) return this.host.change({ query: toggled(query, String(row)) });
    const isPinned = query === String(row) && key === String(col);
    this.host.change(isPinned ? { query: "", key: "" } : { query: String(row), key: String(col) });
  }

  readonly #onFocus = (): void => {
    if (!this.host.renderRoot.querySelector(".plot:focus-visible")) return;
    if (!this.#cell) this.#point({ row: this.#place.row ?? 0, col: this.#place.col ?? 0 });
  };

  /** Moves the highlighted cell, and the map with it. */
  #step(to: Cell): void {
    const view = this.#layout?.view;
    if (!view) return;
    const inside = (at: number, count: number): number => Math.max(0, Math.min(at, count - 1));
    const cell = { row: inside(to.row, view.map[0]), col: inside(to.col, view.map[1]) };
    this.#isPointed = false;
    this.#point(cell);
    if (!isWhole(view)) this.#moveMap(showing(view, cell.row, cell.col));
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    // Alt with an arrow belongs to the browser. On many keyboards AltGr types a bracket, which is allowed.
    if (!this.#content || event.metaKey || (event.altKey && event.key.length > 1)) return;
    if (event.ctrlKey && event.key.length === 1) return;
    const { tokens, keyTokens } = this.#content.maps;
    const { row = 0, col = 0 } = this.#place;
    const { state } = this.host;
    const far = event.shiftKey ? 10 : 1;
    const actions: Record<string, () => void> = {
      ArrowUp: () => this.#step({ row: row - far, col }),
      ArrowDown: () => this.#step({ row: row + far, col }),
      ArrowLeft: () => this.#step({ row, col: col - far }),
      ArrowRight: () => this.#step({ row, col: col + far }),
      Home: () => this.#step({ row: event.ctrlKey ? 0 : row, col: 0 }),
      End: () => this.#step({ row: event.ctrlKey ? tokens.length - 1 : row, col: keyTokens.length - 1 }),
      "+": () => this.#zoom(kZoomStep),
      "=": () => this.#zoom(kZoomStep),
      "-": () => this.#zoom(1 / kZoomStep),
      "0": () => this.#zoom(0),
      "Enter": () => this.#pin({ row, col }, event.shiftKey),
      "p": () => this.#pin({ row, col }, event.shiftKey),
      "s": () => this.host.change({ ablate: toggled(state.ablate, headName(state)) }),
      ...((state.query !== "" || state.key !== "") && { Escape: () => this.host.change({ query: "", key: "" }) }),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
}

/** The height of all above and below the map, in pixels: the bar, the exact value and the legend. */
const wordsHeight = ({ isCompact }: Room): number => (isCompact ? 56 : 120);

/** The cells of a map for whose tiles its first picture waits. */
const kWaitCells = 1 << 18;

/** All digits that a 32-bit float has. */
export function exact(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(3).replace(/-/g, "−") : formatValue(value);
}

const kNotKnown = "not known";

/** The kinds of cells that have no place on the scale. */
const kOddCells = [
  [kMasked, "masked"],
  [kNaN, "NaN"],
  [kInfinite, "∞"],
  [kMinusInfinite, "−∞"],
  [kUnknown, kNotKnown],
] as const;

/** Which of these kinds the overview has. */
function oddCells({ picture }: Overview, look: Look): (typeof kOddCells)[number][] {
  const found = new Set<number>();
  for (const code of codesOf(picture, look)) if (code >= kMasked) found.add(code);
  return kOddCells.filter(([code]) => found.has(code));
}

function oddSwatch([code, usual]: (typeof kOddCells)[number], look: Look, maps: MapSource): TemplateResult {
  const { palette: { bytes } } = look;
  const name = code === kUnknown ? (maps.unknownName ?? usual) : usual;
  const color = code === kUnknown ? "var(--dots)" : `rgb(${[...bytes.subarray(code * 4, code * 4 + 3)].join(" ")})`;
  return html`<span class="masked"><span class="swatch" .style=${code === kMasked ? "" : `background: ${color}`}></span>${name}</span>`;
}

const isSameCell = (a: Cell | undefined, b: Cell | undefined): boolean => a?.row === b?.row && a?.col === b?.col;

function highlight({ row, col }: Cursor, view: Viewport): TemplateResult | typeof nothing {
  const { rows, cols } = shownPart(view);
  const isSeen = (at: number | undefined, [begin, end]: Range): boolean => at !== undefined && at >= begin && at < end;
  const [isRow, isCol] = [isSeen(row, rows), isSeen(col, cols)];
  if ((row !== undefined && !isRow) || (col !== undefined && !isCol)) return nothing;
  const side = Math.max(view.cell, 1);
  const at = `--y: ${((row ?? 0) - view.row) * view.cell}px; --x: ${((col ?? 0) - view.col) * view.cell}px; --cell: ${side}px`;
  const line = (name: string): TemplateResult => html`<div class=${name} part="crosshair" .style=${at}></div>`;
  return html`${isRow ? line("across") : nothing} ${isCol ? line("down") : nothing} ${isRow && isCol ? line("cell") : nothing}`;
}

function sizes({ left, top, view }: Layout): string {
  const { width, height } = shownSize(view);
  return `--left: ${left}px; --top: ${top}px; --width: ${width}px; --height: ${height}px`;
}

/**
 * Shows only every second, third, … label of what is seen where labels would overlap. The highlighted one is always
 * shown, and its neighbours are left out.
 */
function labels(axis: "rows" | "cols", tokens: readonly string[], view: Viewport, chosen: number | undefined): TemplateResult {
  const every = Math.ceil(kLabelHeight / view.cell);
  const [begin, end] = shownPart(view)[axis];
  const indexes = new Set<number>();
  for (let index = Math.ceil(begin / every) * every; index < end; index += every) indexes.add(index);
  if (chosen !== undefined && chosen >= begin && chosen < end) {
    for (const index of [...indexes]) if (Math.abs(index - chosen) < every) indexes.delete(index);
    indexes.add(chosen);
  }
  const origin = axis === "rows" ? view.row : view.col;
  const space = shownSize(view)[axis === "rows" ? "height" : "width"];
  const label = (index: number): TemplateResult | typeof nothing => {
    const at = (index + 0.5 - origin) * view.cell;
    if (at < 0 || at > space) return nothing;
    return html`<span part="label" class="label ${index === chosen ? "chosen" : ""}" .style=${`--at: ${at}px`}>${tokenLabel(tokens[index] ?? "")}</span>`;
  };
  return html`<div class=${axis} aria-hidden="true">${[...indexes].sort((a, b) => a - b).map(label)}</div>`;
}

function labelLength(tokens: readonly string[]): number {
  let longest = 2;
  for (const token of tokens) {
    if (longest >= kMaxChars) break;
    longest = Math.max(longest, tokenWidth(token));
  }
  return Math.min(longest, kMaxChars) * kCharWidth + 10;
}

const styles = css`
  ${kStripStyles}
  .head {
    display: grid;
    gap: 8px;
  }
  .compact.head {
    gap: 4px;
  }
  .compact .words,
  .compact .ticks,
  .compact .scale {
    display: none;
  }
  .compact .legend {
    margin: 0;
    flex-wrap: nowrap;
    white-space: nowrap;
    overflow: hidden;
  }
  .compact .legend > .words {
    display: flex;
  }
  .compact .plot {
    margin-top: 0;
    grid-template: var(--height) / var(--width);
  }
  .zoom {
    display: flex;
    margin-inline-start: auto;
  }
  .zoom button {
    font: 16px/24px var(--mono);
  }
  .zoom button:last-child {
    font-size: 14px;
  }
  .plot {
    position: relative;
    display: grid;
    grid-template: var(--top) var(--height) / var(--left) var(--width);
    margin-top: -8px;
    width: max-content;
    max-width: 100%;
    border-radius: 4px;
  }
  .axes {
    display: flex;
    flex-direction: column;
    align-items: flex-end;
    justify-content: flex-end;
    padding: 0 8px 4px 0;
    color: var(--faint);
    font-size: 12px;
    line-height: 16px;
    white-space: nowrap;
  }
  .rows,
  .cols,
  .cells {
    position: relative;
  }
  .label {
    position: absolute;
    max-width: calc(12ch + 10px);
    overflow: hidden;
    font: 12px/16px var(--mono);
    text-overflow: ellipsis;
    white-space: pre;
    pointer-events: none;
  }
  .rows .label {
    top: calc(var(--at) - 8px);
    right: 8px;
  }
  .cols .label {
    bottom: 2px;
    left: calc(var(--at) - 4px);
    transform: rotate(-60deg);
    transform-origin: 0 50%;
  }
  .label.chosen {
    z-index: 1;
    background: var(--paper);
    color: var(--accent);
    font-weight: 600;
  }
  .cells {
    width: var(--width);
    height: var(--height);
    overflow: hidden;
    background: var(--hatch);
    cursor: crosshair;
    touch-action: pan-x pan-y;
  }
  .cells.zoomed {
    touch-action: none;
  }
  .across,
  .down,
  .cell {
    position: absolute;
    top: 0;
    left: 0;
    width: 100%;
    height: 100%;
    pointer-events: none;
  }
  .across,
  .cell {
    top: var(--y);
    height: var(--cell);
  }
  .down,
  .cell {
    left: var(--x);
    width: var(--cell);
  }
  .across,
  .down {
    outline: 1px solid color-mix(in oklab, var(--accent) 70%, transparent);
  }
  .cell {
    outline: 2px solid var(--accent);
    box-shadow: 0 0 0 3px var(--paper);
  }
  .pinned {
    position: absolute;
    top: var(--y);
    left: 0;
    width: 100%;
    height: var(--cell);
    border-inline-start: 3px solid var(--accent);
    pointer-events: none;
  }
  .minimap {
    position: absolute;
    top: 8px;
    right: 8px;
    overflow: hidden;
    outline: 1px solid var(--faint);
    background: var(--hatch) var(--paper);
    cursor: move;
    touch-action: none;
  }
  .frame {
    position: absolute;
    min-width: 4px;
    min-height: 4px;
    outline: 2px solid var(--accent);
    box-shadow: 0 0 0 1px var(--paper) inset;
  }
  .coarse {
    position: absolute;
    bottom: 8px;
    left: 8px;
    padding: 0 8px;
    border-radius: 4px;
    background: var(--paper);
    color: var(--faint);
    font-size: 12px;
    pointer-events: none;
  }
  .readout {
    display: block;
    min-height: 24px;
    overflow-wrap: anywhere;
    font: 14px/24px var(--mono);
    font-variant-numeric: tabular-nums;
  }
  /* Room for two lines, so that the map stays where it is. */
  @container (max-width: 640px) {
    .readout {
      min-height: 48px;
    }
  }
  /* Where the height is limited, the words take one line each. */
  .limited .readout {
    min-height: 24px;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .limited .legend {
    flex-wrap: nowrap;
  }
  .limited .plot {
    margin-top: 0;
  }
  .hint {
    color: var(--faint);
    font-family: system-ui, sans-serif;
  }
  @media (hover: none) {
    .mouse {
      display: none;
    }
  }
  .legend {
    display: flex;
    flex-wrap: wrap;
    align-items: flex-start;
    gap: 8px 24px;
    margin-top: 8px;
    color: var(--faint);
    font: 12px/16px var(--mono);
  }
  .scale {
    position: relative;
    flex: 0 1 256px;
  }
  .scale canvas {
    height: 8px;
    border-radius: 2px;
    image-rendering: auto;
  }
  .pointer {
    position: absolute;
    top: -4px;
    left: calc(var(--place) * 100%);
    width: 2px;
    height: 16px;
    margin-left: -1px;
    background: var(--accent);
  }
  .range {
    direction: ltr;
    unicode-bidi: isolate;
  }
  .ticks {
    display: flex;
    justify-content: space-between;
    margin-top: 4px;
  }
  .legend > .words {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 16px;
  }
  .masked {
    display: flex;
    align-items: center;
    gap: 8px;
  }
  .swatch {
    width: 16px;
    height: 16px;
    border: 1px solid var(--line);
    border-radius: 2px;
    background: var(--hatch);
  }
`;

export const mapView: ViewCode = { styles, create: (host) => new MapView(host) };
