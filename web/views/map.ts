// SPDX-License-Identifier: Apache-2.0
/**
 * The large map of one head, which can be moved and enlarged, with labelled rows and columns, the exact value of the
 * cell under the pointer or the keyboard's cursor, and a legend.
 */
import { html, nothing } from "lit";
import type { ReactiveController, TemplateResult } from "lit";
import { type Look, Looks, rowColors } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import { checkHead, type MapSource, type Overview, overviewOf, type Part } from "../maps/source.js";
import { Strips, type Tile, tileOf, Tiles } from "../maps/tiles.js";
import { tokenName } from "../maps/tokens.js";
import { isWhole, shownSize, type Viewport } from "../maps/viewport.js";
import { type Link, linkInWords, strongestLink } from "../maps/words.js";
import type { Cursor } from "../state/group.js";
import { isEqual, toggled } from "../state/lists.js";
import { pinnedCol, pinnedRows, placeOf as lookedAt, tokensAt } from "../state/pins.js";
import { Gestures } from "./gestures.js";
import { axes, highlight, type Margins, marginsOf } from "./map-axes.js";
import { kNotKnown, Legend } from "./map-legend.js";
import { kMapStyles } from "./map-styles.js";
import { type Layout, Zoom } from "./map-zoom.js";
import { meanOf, rowStrip } from "./row-strip.js";
import type { Cell, Host, View, ViewCode } from "./view.js";

/** One head of the maps, and what is known of it. */
interface Content {
  readonly maps: MapSource;
  readonly layer: number;
  readonly head: number;
  readonly overview: Overview;
  readonly base: Tile;
  readonly tiles: Tiles;
  readonly strips: Strips;
  readonly margins: Margins;
  /** The strongest link of the head, once it is known; null when no query has a choice of keys. */
  strongest: Link | null | undefined;
}

class MapView implements View, ReactiveController {
  #content: Content | undefined;
  /** The place that is looked at: a cell, or only its row or its column. */
  #place: Cursor = {};
  /** True when the pointer, and not the keyboard, moved last. */
  #isPointed = false;
  /** The cell that listeners were told of last. */
  #told: { readonly cell: Cell | undefined; readonly row: unknown } | undefined;
  readonly #zoom: Zoom;
  #look: Look | undefined;
  /** All that the canvas was painted from last. */
  #painted: readonly unknown[] = [];
  readonly #looks = new Looks();
  readonly #legend = new Legend();
  readonly #gestures: Gestures;

  constructor(private readonly host: Host) {
    host.addController(this);
    this.#zoom = new Zoom(host);
    this.#gestures = new Gestures({
      view: () => this.#zoom.view,
      move: (view) => this.#zoom.move(view),
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
    const { view } = this.#zoom.layoutOf(maps, content.margins);
    const isSmall = view.map[0] * view.map[1] <= kWaitCells;
    const { tiles } = content;
    tiles.show(view, devicePixelRatio);
    // A small map appears at once with all that is said of it. A large one appears with its overview.
    while (isSmall && !tiles.isSharp) {
      await tiles.next();
      signal.throwIfAborted();
    }
    if (isSmall) await this.#describe(content);
    signal.throwIfAborted();
    this.#content?.tiles.close();
    this.#content = content;
    this.#zoom.keepFor(view.map);
    this.host.drawn(this);
    if (isSmall) return;
    const described = this.#describe(content).then(() => this.host.requestUpdate());
    described.catch((error: unknown) => content === this.#content && this.host.fail(error));
  }

  #contentOf(maps: MapSource, layer: number, head: number, overview: Overview): Content {
    const changed = (): void => this.host.requestUpdate();
    const failed = (error: unknown): void => this.host.fail(error);
    const { picture } = overview;
    const all = isEqual(picture.size, [maps.tokens.length, maps.keyTokens.length]) ? picture : undefined;
    const tiles = new Tiles(maps, layer, head, changed, failed, all);
    const strips = new Strips(maps, layer, head, changed, failed, all);
    const base = tileOf(picture, Infinity);
    return { maps, layer, head, overview, base, tiles, strips, margins: marginsOf(maps), strongest: undefined };
  }

  async #describe(content: Content): Promise<void> {
    const { maps, layer, head, overview } = content;
    content.strongest = (await strongestLink(maps, layer, head, overview)) ?? null;
  }

  render(): TemplateResult {
    const content = this.#content;
    if (!content) return html``;
    const { maps, layer, head, strongest } = content;
    this.#place = lookedAt(maps, this.host.cursor, this.host.state);
    const cell = this.#cell;
    const value = cell && this.#valueAt(content, cell);
    const layout = this.#zoom.layoutOf(maps, content.margins);
    const { view } = layout;
    this.#zoom.view = view;
    const look = this.#looks.of(maps, layer, content.overview, this.host.scaleChoice, this.host.colors);
    this.#look = look;
    content.tiles.show(view, devicePixelRatio);
    const words = strongest === undefined ? "" : `${linkInWords(maps, strongest)}. `;
    const about = `Layer ${layer}, head ${head}: ${words}Rows are queries, columns are keys. Arrow keys move the cell, Enter pins it, plus and minus zoom.`;
    const zoom = isWhole(view) ? "" : "zoomed";
    const { isCompact } = this.host.room;
    return html`
      <div class="head ${isCompact ? "compact" : ""}" part="map">
        <output part="readout" class=${isCompact ? "unseen" : "readout"} aria-live="polite">${this.#readout(content, cell, value)}</output>
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
          ${isCompact ? nothing : axes(maps, view, this.#place)}
          <div class="cells ${zoom}">
            <canvas part="canvas"></canvas>
            ${this.#pinnedMarks(content, view)} ${highlight(this.#place, view)} ${this.#zoom.minimap(content.overview, view, look)}
            ${content.tiles.isSharp ? nothing : html`<span class="coarse" role="status">coarse, being computed …</span>`}
          </div>
        </div>
        ${this.#legend.render(maps, content.overview, look, content.tiles.block, typeof value === "number" ? value : undefined, cell?.row)} ${isCompact || this.host.room.height < Infinity ? nothing : this.#strip(content)}
      </div>
    `;
  }

  tools(): TemplateResult | typeof nothing {
    return this.#zoom.tools(this.#place);
  }

  zoomTo(part: Part): void {
    if (this.#content) this.#zoom.to(this.#content.maps, part);
  }

  #paint(content: Content): void {
    const { view } = this.#zoom;
    const look = this.#look;
    const cells = this.host.renderRoot.querySelector<HTMLElement>(".cells");
    if (cells) this.#gestures.follow(cells);
    const canvas = cells?.querySelector("canvas");
    if (!view || !look || !canvas) return;
    const ratio = devicePixelRatio;
    const { width, height } = shownSize(view);
    const { tiles } = content;
    const painted = [canvas, tiles, tiles.count, look, ratio, width, height, view.cell, view.row, view.col];
    if (isEqual(painted, this.#painted)) return;
    this.#painted = painted;
    tiles.draw(canvas, view, ratio, look, content.base);
  }

  /** The exact value of a cell, undefined until it is there, or why it has none. */
  #valueAt({ maps, layer, tiles, strips }: Content, { row, col }: Cell): number | string | undefined {
    if (maps.maskOf(layer).hides(row, row + 1, col, col + 1)) return "masked";
    const picture = (tiles.block === 1 ? tiles.pictureAt(row, col) : undefined) ?? strips.row(row);
    if (!picture) return undefined;
    const { part, size, values, known } = picture;
    const at = (row - part.rows[0]) * size[1] + col - part.cols[0];
    return known?.[at] === 0 ? (maps.unknownName ?? kNotKnown) : values[at];
  }

  #readout(content: Content, cell: Cell | undefined, value: number | string | undefined): TemplateResult {
    if (!cell)
      return html`<span class="hint">Point at a cell, or use the arrow keys, for its exact value.<span class="mouse"> Ctrl + wheel zooms.</span></span>`;
    const { row, col } = cell;
    const shown = typeof value === "number" ? exact(value) : (value ?? "…");
    const { tokens, keyTokens } = content.maps;
    return html`query ${tokenName(tokens[row] ?? "")} → key ${tokenName(keyTokens[col] ?? "")}: <b>${shown}</b>`;
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
    const { view } = this.#zoom;
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
    const { view } = this.#zoom;
    if (!view) return;
    const inside = (at: number, count: number): number => Math.max(0, Math.min(at, count - 1));
    const cell = { row: inside(to.row, view.map[0]), col: inside(to.col, view.map[1]) };
    this.#isPointed = false;
    this.#point(cell);
    this.#zoom.reveal(cell);
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
      "+": () => this.#zoom.by(1, this.#place),
      "=": () => this.#zoom.by(1, this.#place),
      "-": () => this.#zoom.by(-1, this.#place),
      "0": () => this.#zoom.fit(),
      "Enter": () => this.#pin({ row, col }, event.shiftKey),
      "p": () => this.#pin({ row, col }, event.shiftKey),
      "s": () => this.host.silence(state.layer, state.head),
      ...((state.query !== "" || state.key !== "") && { Escape: () => this.host.change({ query: "", key: "" }) }),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
}

/** The cells of a map for whose tiles its first picture waits. */
const kWaitCells = 1 << 18;

/** All digits that a 32-bit float has. */
export function exact(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(3).replace(/-/g, "−") : formatValue(value);
}

const isSameCell = (a: Cell | undefined, b: Cell | undefined): boolean => a?.row === b?.row && a?.col === b?.col;

function sizes({ left, top, view }: Layout): string {
  const { width, height } = shownSize(view);
  return `--left: ${left}px; --top: ${top}px; --width: ${width}px; --height: ${height}px`;
}

export const mapView: ViewCode = { styles: kMapStyles, create: (host) => new MapView(host) };
