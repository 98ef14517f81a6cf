// SPDX-License-Identifier: Apache-2.0
/**
 * Links as lines: between two columns of tokens, or as arcs above one line of them. Several heads can be drawn together,
 * each in its colour. Of long texts only the tokens in sight and their links are drawn.
 */
import { html, nothing } from "lit";
import type { ReactiveController, TemplateResult } from "lit";
import { Looks, rowColors } from "../maps/canvas.js";
import { tintStyle } from "../maps/ink.js";
import { kSurroundings } from "../maps/palette.js";
import { checkHead, type MapSource, type Overview, overviewOf } from "../maps/source.js";
import { strongestRow } from "../maps/words.js";
import { type Head, headName, headsOf, toggled } from "../state/lists.js";
import { pinnedCol, pinnedCols, pinnedRows, placeOf, tokensAt } from "../state/pins.js";
import {
  type Axis, beginsOf, type Content, type Drawn, drawnLinks, type Focus, headAt, type HeadLink, rowsOfCols, strongestAt,
} from "./lines-content.js";
import { drawLines, kHeadColors } from "./lines-draw.js";
import { kMostHeads, linesLegend } from "./lines-legend.js";
import { type Link, Links } from "./lines-links.js";
import { linesStyles } from "./lines-styles.js";
import { type Beside, lineTokens } from "./lines-tokens.js";
import { combinedInWords, linksTable, shareInWords, shownName } from "./lines-words.js";
import type { Host, View, ViewCode } from "./view.js";

const kModes = ["columns", "arcs"] as const;
/** Tokens that are written and whose links are drawn beyond those in sight. */
const kMargin = 8;
const kArcsHeight = 240;
/** The height of the names above the columns. */
const kHeadHeight = 20;
/** The lines of several heads stand so far apart at a token, in pixels, and all of them take no more than the second. */
const [kMostApart, kBand] = [3.5, 20];

class LinesView implements View, ReactiveController {
  #content: Content | undefined;
  readonly #looks = new Looks();
  /** The only head that is drawn, by its place among the heads, when the reader chose one in the legend. */
  #only: number | undefined;
  readonly #stops = { row: 0, col: 0 };
  #focusNext: { readonly axis: Axis; readonly index: number } | undefined;
  /** The height of a token in a column: large enough for a finger where there is one. */
  #rowHeight = 24;
  /** The pinned place that was scrolled to last. */
  #scrolledTo = "";

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".lines-box [tabindex='0']")?.focus();
  }

  clear(): void {
    this.#content = undefined;
  }

  heads(): readonly (readonly [number, number])[] {
    return (this.#content?.links.heads ?? []).map(({ layer, head }) => [layer, head] as const);
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    const { state } = this.host;
    checkState(this.host.state);
    const open: Head = { layer: state.layer, head: state.head };
    const isCombined = combinedInWords(state) !== undefined;
    const listed = isCombined ? [] : headsOf("heads", state.heads).filter((one) => headName(one) !== headName(open));
    const heads = [...new Map([open, ...listed].map((one) => [headName(one), one])).values()];
    for (const { layer, head } of heads) checkHead(maps, layer, head);
    const links = new Links(maps, heads.slice(0, kMostHeads));
    const overviews = await Promise.all(links.heads.map(({ layer, head }) => overviewOf(maps, layer, head)));
    const usual = strongestRow(overviews[0] as Overview) ?? maps.tokens.length - 1;
    const [begin, end] = this.#content?.maps === maps ? this.#inSight(this.#content, "row") : [0, 1];
    await Promise.all([links.fetch(begin, end), this.#fetchWanted(links, usual)]);
    signal.throwIfAborted();
    if (this.#only !== undefined && this.#only >= links.heads.length) this.#only = undefined;
    this.#content = { maps, links, overviews, usual, begins: beginsOf(maps.tokens), rowOfCol: rowsOfCols(maps) };
    this.host.drawn(this);
  }

  /** The rows whose links are written in words, which need not be in sight. */
  #wantedRows(maps: MapSource, usual: number): number[] {
    const { row } = placeOf(maps, this.host.cursor, this.host.state);
    return [row ?? usual, ...pinnedRows(maps, this.host.state)];
  }

  async #fetchWanted(links: Links, usual: number): Promise<void> {
    await Promise.all(this.#wantedRows(links.maps, usual).map((row) => links.fetch(row, row + 1)));
  }

  tools(): TemplateResult {
    const now = this.#mode;
    const isCross = this.#content !== undefined && !this.#content.rowOfCol;
    const titles = { columns: "Columns", arcs: "Arcs" };
    const button = (mode: (typeof kModes)[number]): TemplateResult => {
      const isOff = isCross && mode === "arcs";
      const why = isOff ? "Queries and keys are not the same tokens" : "";
      return html`<button class="lines-mode" aria-pressed=${mode === now ? "true" : "false"} ?disabled=${isOff} title=${why} @click=${(): void => this.host.change({ lines: mode })}>${titles[mode]}</button>`;
    };
    return html`<span class="lines-modes" role="group" aria-label="Form of the lines">${kModes.map(button)}</span>`;
  }

  get #mode(): (typeof kModes)[number] {
    return this.host.state.lines === "arcs" && this.#content?.rowOfCol ? "arcs" : "columns";
  }

  render(): TemplateResult {
    const content = this.#content;
    if (!content) return html``;
    this.#rowHeight = matchMedia("(pointer: coarse)").matches ? 44 : 24;
    const focus = this.#focus(content);
    const isArcs = this.#mode === "arcs";
    const rows = this.#rowsOf(content, focus.rows);
    const drawn = this.#drawn(content, focus);
    const { state } = this.host;
    const isPart = focus.rows.length === 0 && rows.length < content.maps.tokens.length;
    return html`
      <div class="lines ${isArcs ? "arcs" : "columns"}" part="lines" .style=${`--lines-row: ${this.#rowHeight}px`}>
        ${linesLegend(this.host, content.links, this.#only, this.#toggle)}
        <div class="lines-box scrolled" .style=${this.#height(content, isArcs)} @scroll=${(): void => this.host.requestUpdate()} @keydown=${this.#onKey} @pointerleave=${(): void => this.host.point(undefined)}>
          <canvas class="lines-canvas fine" aria-hidden="true"></canvas>
          ${isArcs ? nothing : html`<div class="lines-heads" aria-hidden="true"><span>query</span><span>key</span></div>`}
          <div class="lines-tall" .style=${this.#size(content, isArcs)}>
            ${this.#tokens(content, "row", focus, drawn)} ${isArcs ? nothing : this.#tokens(content, "col", focus, drawn)}
          </div>
        </div>
        <p class="lines-share">${shareInWords(content, rows, isPart, focus.col, drawn, this.#only, state)}</p>
        ${linksTable(content, focus.rows.at(-1) ?? content.usual, state, (head) => shownName(content, head, state))}
      </div>
    `;
  }

  #size({ maps, begins }: Content, isArcs: boolean): string {
    if (isArcs) return `width: ${begins.at(-1) ?? 0}px; height: ${this.#rowHeight + 24}px`;
    return `height: ${Math.max(maps.tokens.length, maps.keyTokens.length) * this.#rowHeight}px`;
  }

  #height({ maps }: Content, isArcs: boolean): string {
    const columns = kHeadHeight + Math.max(maps.tokens.length, maps.keyTokens.length) * this.#rowHeight;
    return isArcs ? "" : `--lines-height: min(70vh, 640px, ${columns}px)`;
  }

  #focus({ maps }: Content): Focus {
    const { cursor, state } = this.host;
    const pointed = cursor ? placeOf(maps, cursor, { ...state, query: "", key: "" }) : {};
    if (pointed.row !== undefined) return { rows: [pointed.row], col: undefined };
    if (pointed.col !== undefined) return { rows: [], col: pointed.col };
    const rows = pinnedRows(maps, state);
    return { rows, col: rows.length > 0 ? undefined : pinnedCol(maps, state) };
  }

  /** The tokens [begin, end) in sight, with a margin. */
  #inSight({ maps, begins }: Content, axis: Axis): readonly [number, number] {
    const box = this.host.renderRoot.querySelector<HTMLElement>(".lines-box");
    const count = (axis === "row" ? maps.tokens : maps.keyTokens).length;
    const within = (begin: number, end: number): readonly [number, number] =>
      [Math.min(Math.max(begin - kMargin, 0), count), Math.max(Math.min(end + kMargin, count), 0)];
    if (this.#mode === "columns") {
      const [top, height] = [box?.scrollTop ?? 0, box?.clientHeight ?? 640];
      return within(Math.floor(top / this.#rowHeight), Math.ceil((top + height) / this.#rowHeight));
    }
    const [left, width] = [box?.scrollLeft ?? 0, box?.clientWidth ?? 1280];
    const begin = begins.findIndex((at, index) => (begins[index + 1] ?? at) >= left);
    const end = begins.findIndex((at) => at >= left + width);
    return within(begin, end < 0 ? count : end);
  }

  #drawn(content: Content, { rows, col }: Focus): Drawn {
    return drawnLinks(content, this.#rowsOf(content, rows), col, this.#only, this.host.state);
  }

  #rowsOf(content: Content, rows: readonly number[]): readonly number[] {
    if (rows.length > 0) return rows;
    const [begin, end] = this.#inSight(content, "row");
    return Array.from({ length: end - begin }, (_, index) => begin + index);
  }

  readonly #toggle = (index: number): void => {
    this.#only = this.#only === index ? undefined : index;
    this.host.requestUpdate();
  };

  #tokens(content: Content, axis: Axis, focus: Focus, drawn: Drawn): TemplateResult {
    const { maps } = content;
    const { state } = this.host;
    const count = (axis === "row" ? maps.tokens : maps.keyTokens).length;
    const at = axis === "row" ? (focus.rows.at(-1) ?? this.#stops.row) : (focus.col ?? this.#stops.col);
    return lineTokens({
      content, axis, isArcs: this.#mode === "arcs", inSight: this.#inSight(content, axis), rowHeight: this.#rowHeight,
      stop: Math.max(Math.min(at, count - 1), 0),
      pinned: new Set(axis === "row" ? pinnedRows(maps, state) : pinnedCols(maps, state)),
      chosen: new Set(axis === "row" ? focus.rows : focus.col === undefined ? [] : [focus.col]),
      beside: this.#beside(content, axis, focus, drawn),
      point: (index) => this.#point(content, axis, index),
      click: this.#onClick,
    });
  }

  /** The numbers beside the tokens on the other side of the chosen one. */
  #beside(content: Content, axis: Axis, { rows, col }: Focus, drawn: Drawn): ReadonlyMap<number, Beside> {
    const isArcs = this.#mode === "arcs";
    const isOther = isArcs || (axis === "col" ? rows.length > 0 : col !== undefined);
    const found = new Map<number, Beside>();
    if (!isOther || (rows.length === 0 && col === undefined)) return found;
    for (const [at, best] of strongestAt(drawn, col))
      found.set(isArcs && col === undefined ? (content.rowOfCol?.[at] ?? at) : at, this.#besideOf(content, best));
    return found;
  }

  #besideOf(content: Content, { link, head }: HeadLink): Beside {
    const { maps, links, overviews } = content;
    const { layer } = headAt(content, head);
    const look = this.#looks.of(maps, layer, overviews[head] as Overview, this.host.scaleChoice, this.host.colors);
    const part = { rows: [link.row, link.row + 1], cols: [link.col, link.col + 1] } as const;
    const color = rowColors({ part, size: [1, 1], values: Float32Array.of(link.weight) }, look);
    const name = links.heads.length > 1 ? headName(headAt(content, head)) : "";
    return { weight: link.weight, head: name, tint: tintStyle(color) };
  }

  #point({ maps }: Content, axis: Axis, index: number): void {
    this.host.point(tokensAt(maps, axis === "row" ? { row: index } : { col: index }));
  }

  readonly #onClick = (event: MouseEvent): void => {
    const { axis, index = "" } = (event.currentTarget as HTMLElement).dataset;
    if (!this.#content) return;
    const { query, key } = this.host.state;
    const { row, col } = tokensAt(this.#content.maps, { row: Number(index), col: Number(index) });
    const [looking, looked] = [String(row), String(col)];
    if (axis === "col" && event.shiftKey) return this.host.change({ key: toggled(key, looked), query: "" });
    if (axis === "col") return this.host.change(key === looked ? { key: "" } : { key: looked, query: "" });
    if (event.shiftKey) return this.host.change({ query: toggled(query, looking) });
    this.host.change(query === looking ? { query: "", key: "" } : { query: looking, key: "" });
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    const from = (event.target as HTMLElement).closest<HTMLElement>(".lines-token");
    const content = this.#content;
    if (!from || !content || event.altKey || event.ctrlKey || event.metaKey) return;
    const axis = from.dataset.axis === "col" ? "col" : "row";
    const to = this.#moved(content, axis, Number(from.dataset.index), event.key);
    const { state } = this.host;
    if (to) this.#moveTo(content, to.axis, to.index);
    else if (event.key === "p") from.click();
    else if (event.key === "s") this.host.silence(state.layer, state.head);
    else if (event.key === "Escape" && (state.query !== "" || state.key !== "")) this.host.change({ query: "", key: "" });
    else return;
    event.preventDefault();
  };

  #moved({ maps }: Content, axis: Axis, index: number, key: string): { axis: Axis; index: number } | undefined {
    const count = (of: Axis): number => (of === "row" ? maps.tokens : maps.keyTokens).length;
    const isArcs = this.#mode === "arcs";
    const [back, on] = isArcs ? (["ArrowLeft", "ArrowRight"] as const) : (["ArrowUp", "ArrowDown"] as const);
    const at = { [back]: index - 1, [on]: index + 1, Home: 0, End: count(axis) - 1 }[key];
    if (at !== undefined) return { axis, index: Math.max(0, Math.min(at, count(axis) - 1)) };
    const other = { ArrowLeft: "row", ArrowRight: "col" }[key] as Axis | undefined;
    return isArcs || !other ? undefined : { axis: other, index: Math.min(index, count(other) - 1) };
  }

  #moveTo(content: Content, axis: Axis, index: number): void {
    this.#stops[axis] = index;
    this.#focusNext = { axis, index };
    this.#scrollTo(content, index);
    this.#point(content, axis, index);
    this.host.requestUpdate();
  }

  /** Scrolls as little as is needed to have a token in sight. */
  #scrollTo({ begins }: Content, index: number): void {
    const box = this.host.renderRoot.querySelector<HTMLElement>(".lines-box");
    if (!box) return;
    const near = (at: number, length: number, now: number, room: number): number =>
      at < now ? at : at + length > now + room ? at + length - room : now;
    if (this.#mode === "arcs") {
      const at = begins[index] ?? 0;
      box.scrollLeft = near(at, (begins[index + 1] ?? at) - at, box.scrollLeft, box.clientWidth);
    } else box.scrollTop = near(index * this.#rowHeight, 2 * this.#rowHeight, box.scrollTop, box.clientHeight);
  }

  hostUpdated(): void {
    const content = this.#content;
    const box = this.host.renderRoot.querySelector<HTMLElement>(".lines-box");
    if (!content || !box) return;
    const focus = this.#focus(content);
    this.#showPinned(content);
    if (this.#focusNext) {
      const { axis, index } = this.#focusNext;
      this.#focusNext = undefined;
      box.querySelector<HTMLElement>(`[data-axis="${axis}"][data-index="${index}"]`)?.focus({ preventScroll: true });
    }
    this.#paint(content, focus, box);
    this.#fetch(content);
  }

  #showPinned(content: Content): void {
    const { query, key } = this.host.state;
    const pinned = pinnedRows(content.maps, this.host.state).at(-1) ?? pinnedCol(content.maps, this.host.state);
    const now = `${query}|${key}|${this.#mode}`;
    if (now === this.#scrolledTo) return;
    this.#scrolledTo = now;
    if (pinned !== undefined) this.#scrollTo(content, pinned);
  }

  #paint(content: Content, focus: Focus, box: HTMLElement): void {
    const canvas = box.querySelector<HTMLCanvasElement>(".lines-canvas");
    if (!canvas) return;
    const colors = kHeadColors[this.host.colors.theme];
    const isArcs = this.#mode === "arcs";
    const { fixedMost } = content.maps;
    const count = content.links.heads.length;
    const step = Math.min(kMostApart, kBand / count);
    const bundles = this.#drawn(content, focus).map((links, head) => ({
      color: colors[head] ?? "", links, most: fixedMost, shift: (head - (count - 1) / 2) * step,
      // A name at the strongest line of each head says without colour which it is.
      name: count > 1 ? headName(headAt(content, head)) : "",
    }));
    const { clientWidth: width, clientHeight: height } = canvas;
    const left = box.scrollLeft;
    const middle = (index: number): number =>
      ((content.begins[index] ?? 0) + (content.begins[index + 1] ?? 0)) / 2 - left;
    const [row, top] = [this.#rowHeight, kHeadHeight - box.scrollTop];
    const y = (index: number): number => (index + 0.5) * row + top;
    const ends = isArcs
      ? (link: Link) => [middle(link.row), height, middle(content.rowOfCol?.[link.col] ?? link.col), height] as const
      : (link: Link) => [0, y(link.row), width, y(link.col)] as const;
    drawLines(canvas, { width, height }, bundles, ends, isArcs, kSurroundings[this.host.colors.theme]);
  }

  /** Fetches the links of the rows that came into sight. */
  #fetch(content: Content): void {
    const [begin, end] = this.#inSight(content, "row");
    const rows = this.#wantedRows(content.maps, content.usual);
    const isThere = content.links.has(begin, end) && rows.every((row) => content.links.has(row, row + 1));
    if (isThere) return;
    Promise.all([content.links.fetch(begin, end), this.#fetchWanted(content.links, content.usual)]).then(
      () => content === this.#content && this.host.requestUpdate(),
      (error: unknown) => content === this.#content && this.host.fail(error),
    );
  }
}

function checkState({ threshold, topK, lines }: Host["state"]): void {
  if (!(threshold >= 0)) throw new Error(`threshold: ${threshold} is not a number from 0 on`);
  if (!(Number.isInteger(topK) && topK >= 0)) throw new Error(`top-k: ${topK} is not a whole number from 0 on`);
  if (!kModes.some((mode) => mode === lines))
    throw new Error(`lines: ${JSON.stringify(lines)} is not known; ${kModes.join(", ")} are`);
}

export const linesView: ViewCode = {
  styles: linesStyles(kArcsHeight, kHeadHeight),
  create: (host) => new LinesView(host),
};
