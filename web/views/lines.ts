// SPDX-License-Identifier: Apache-2.0
/**
 * Links as lines: between two columns of tokens, or as arcs above one line of them. Several heads can be drawn together,
 * each in its colour. Of long texts only the tokens in sight and their links are drawn.
 */
import { html, nothing } from "lit";
import type { ReactiveController, TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { kNoPattern } from "../heads/no-pattern.js";
import { Looks, rowColors } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import { tintStyle } from "../maps/ink.js";
import { checkHead, type MapSource, type Overview, overviewOf } from "../maps/source.js";
import { tokenLabel, tokenName, tokenWidth } from "../maps/tokens.js";
import { strongestRow } from "../maps/words.js";
import { type Head, headName, headsOf, toggled } from "../state/lists.js";
import { pinnedCol, pinnedRows, placeOf } from "../state/pins.js";
import { drawLines, kHeadColors } from "./lines-draw.js";
import { drawnOf, type Link, Links, percent, type RowLinks } from "./lines-links.js";
import { linesStyles } from "./lines-styles.js";
import type { Host, View, ViewCode } from "./view.js";

type Axis = "row" | "col";

const kModes = ["columns", "arcs"] as const;
const kMostHeads = 8;
/** Tokens that are written and whose links are drawn beyond those in sight. */
const kMargin = 8;
const kArcsHeight = 240;
/** The lines of several heads stand so far apart at a token, in pixels, and all of them take no more than the second. */
const [kMostApart, kBand] = [3.5, 20];
/** The widths of tokens in a line, in pixels: of a letter, and at least and at most. */
const [kLetter, kNarrow, kWide] = [8.5, 50, 150];

interface Content {
  readonly maps: MapSource;
  readonly links: Links;
  readonly overviews: readonly Overview[];
  /** The row with the strongest link of the open head. */
  readonly usual: number;
  /** Where each token begins in a line of tokens, with the end of the last. */
  readonly begins: Float64Array;
  readonly isCross: boolean;
}

/** The rows or the column whose lines alone are drawn; all rows in sight where there is neither. */
interface Focus {
  readonly rows: readonly number[];
  readonly col: number | undefined;
}

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
    const listed = headsOf("heads", state.heads).filter((one) => headName(one) !== headName(open));
    const heads = [...new Map([open, ...listed].map((one) => [headName(one), one])).values()];
    for (const { layer, head } of heads) checkHead(maps, layer, head);
    const links = new Links(maps, heads.slice(0, kMostHeads));
    const overviews = await Promise.all(links.heads.map(({ layer, head }) => overviewOf(maps, layer, head)));
    const usual = strongestRow(overviews[0] as Overview) ?? maps.tokens.length - 1;
    const [begin, end] = this.#content?.maps === maps ? this.#inSight(this.#content, "row") : [0, 1];
    await Promise.all([links.fetch(begin, end), this.#fetchWanted(links, usual)]);
    signal.throwIfAborted();
    if (this.#only !== undefined && this.#only >= links.heads.length) this.#only = undefined;
    this.#content = { maps, links, overviews, usual, begins: beginsOf(maps.tokens), isCross: isCross(maps) };
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
    const isCross = this.#content?.isCross === true;
    const titles = { columns: "Columns", arcs: "Arcs" };
    const button = (mode: (typeof kModes)[number]): TemplateResult =>
      html`<button class="lines-mode" aria-pressed=${mode === now ? "true" : "false"} ?disabled=${isCross && mode === "arcs"} title=${isCross && mode === "arcs" ? "Queries and keys are two texts" : ""} @click=${(): void => this.host.change({ lines: mode })}>${titles[mode]}</button>`;
    return html`<span class="lines-modes" role="group" aria-label="Form of the lines">${kModes.map(button)}</span>`;
  }

  get #mode(): (typeof kModes)[number] {
    return this.host.state.lines === "arcs" && !this.#content?.isCross ? "arcs" : "columns";
  }

  render(): TemplateResult {
    const content = this.#content;
    if (!content) return html``;
    this.#rowHeight = matchMedia("(pointer: coarse)").matches ? 44 : 24;
    const focus = this.#focus(content);
    const isArcs = this.#mode === "arcs";
    const drawn = this.#drawn(content, focus);
    return html`
      <div class="lines ${isArcs ? "arcs" : "columns"}" part="lines" .style=${`--lines-row: ${this.#rowHeight}px`}>
        ${this.#legend(content)}
        <div class="lines-box" .style=${this.#height(content, isArcs)} @scroll=${(): void => this.host.requestUpdate()} @keydown=${this.#onKey} @pointerleave=${(): void => this.host.point(undefined)}>
          <canvas class="lines-canvas fine" aria-hidden="true"></canvas>
          ${isArcs ? nothing : html`<div class="lines-heads" aria-hidden="true"><span>query</span><span>key</span></div>`}
          <div class="lines-tall" .style=${this.#size(content, isArcs)}>
            ${this.#tokens(content, "row", focus, drawn)} ${isArcs ? nothing : this.#tokens(content, "col", focus, drawn)}
          </div>
        </div>
        <p class="lines-share">${this.#share(content, focus, drawn)}</p>
        ${this.#table(content, focus.rows.at(-1) ?? content.usual)}
      </div>
    `;
  }

  #size({ maps, begins }: Content, isArcs: boolean): string {
    if (isArcs) return `width: ${begins.at(-1) ?? 0}px; height: ${this.#rowHeight + 24}px`;
    return `height: ${Math.max(maps.tokens.length, maps.keyTokens.length) * this.#rowHeight}px`;
  }

  #height({ maps }: Content, isArcs: boolean): string {
    const columns = headHeight + Math.max(maps.tokens.length, maps.keyTokens.length) * this.#rowHeight;
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

  /** The links that are drawn, of each head. */
  #drawn(content: Content, { rows, col }: Focus): readonly (readonly Link[])[] {
    const { threshold, topK } = this.host.state;
    const all = this.#rowsOf(content, rows);
    return content.links.heads.map((_, head) => {
      if (this.#only !== undefined && this.#only !== head) return [];
      const links = all.flatMap((row) => {
        const found = content.links.of(head, row);
        return found ? drawnOf(found, threshold, topK) : [];
      });
      return col === undefined ? links : links.filter((link) => link.col === col);
    });
  }

  #rowsOf(content: Content, rows: readonly number[]): readonly number[] {
    if (rows.length > 0) return rows;
    const [begin, end] = this.#inSight(content, "row");
    return Array.from({ length: end - begin }, (_, index) => begin + index);
  }

  #legend({ links: { heads } }: Content): TemplateResult {
    const colors = kHeadColors[this.host.colors.theme];
    const toggle = (index: number): void => {
      this.#only = this.#only === index ? undefined : index;
      this.host.requestUpdate();
    };
    const listed = headsOf("heads", this.host.state.heads).length;
    const entry = (head: Head, index: number): TemplateResult => {
      // The bar already has the name of a head that is alone.
      const name = heads.length > 1 ? this.host.names?.[head.layer]?.[head.head]?.name : undefined;
      const label = html`<span class="lines-swatch" .style=${`background: ${colors[index] ?? ""}`}></span>${headName(head)}${name === undefined || name === kNoPattern ? nothing : html` <span class="lines-named">${name}</span>`}`;
      return heads.length === 1 ? html`<span class="lines-head">${label}</span>` : html`<button class="lines-head" aria-pressed=${this.#only === index ? "true" : "false"} title="Only this head" @click=${(): void => toggle(index)}>${label}</button>`;
    };
    const more = heads.length === kMostHeads && listed >= kMostHeads ? html`<span>No more than ${kMostHeads} heads are drawn.</span>` : nothing;
    return html`<div class="lines-legend" role="group" aria-label="Heads">${heads.map(entry)} ${more}</div>`;
  }

  #tokens(content: Content, axis: Axis, focus: Focus, drawn: readonly (readonly Link[])[]): TemplateResult {
    const { maps, begins } = content;
    const tokens = axis === "row" ? maps.tokens : maps.keyTokens;
    const isArcs = this.#mode === "arcs";
    const [begin, end] = this.#inSight(content, axis);
    const chosen = axis === "row" ? (focus.rows.at(-1) ?? this.#stops.row) : (focus.col ?? this.#stops.col);
    const stop = Math.max(Math.min(chosen, tokens.length - 1), 0);
    const inSight = Array.from({ length: end - begin }, (_, index) => begin + index);
    const shown = stop >= begin && stop < end ? inSight : [...inSight, stop];
    const values = this.#values(content, axis, focus, drawn);
    const pinned = new Set(axis === "row" ? pinnedRows(maps, this.host.state) : [pinnedCol(maps, this.host.state)]);
    const token = (index: number): TemplateResult => {
      const place = isArcs
        ? `left: ${begins[index] ?? 0}px; width: ${(begins[index + 1] ?? 0) - (begins[index] ?? 0)}px`
        : `top: ${index * this.#rowHeight}px`;
      const { text = "", tint = "" } = values.get(index) ?? {};
      const name = tokens[index] ?? "";
      const isChosen = axis === "row" ? focus.rows.includes(index) : focus.col === index;
      return html`<button
        class="lines-token ${axis} ${isChosen ? "chosen" : ""}" part="token" .style=${`${place}; ${tint}`} data-axis=${axis} data-index=${index}
        tabindex=${index === stop ? 0 : -1} aria-pressed=${pinned.has(index) ? "true" : "false"} aria-label=${`${tokenName(name)} ${text}`.trim()}
        @pointerenter=${(): void => this.#point(axis, index)} @click=${this.#onClick}
      ><span class="lines-name">${tokenLabel(name)}</span>${text ? html`<span class="lines-value" data-value=${text}></span>` : nothing}</button>`;
    };
    const label = axis === "row" ? "Tokens that look (queries)" : "Tokens that are looked at (keys)";
    return html`<div class="lines-tokens" role="group" aria-label=${label}>${repeat(shown, (index) => index, token)}</div>`;
  }

  /** The numbers beside the tokens on the other side of the chosen one: the largest, where there are several heads. */
  #values(
    content: Content, axis: Axis, { rows, col }: Focus, drawn: readonly (readonly Link[])[],
  ): Map<number, { readonly text: string; readonly tint: string }> {
    const values = new Map<number, { readonly text: string; readonly tint: string }>();
    const isOther = this.#mode === "arcs" || (axis === "col" ? rows.length > 0 : col !== undefined);
    if (!isOther || (rows.length === 0 && col === undefined)) return values;
    const { maps, links, overviews } = content;
    const best = new Map<number, { readonly link: Link; readonly head: number }>();
    drawn.forEach((all, head) => all.forEach((link) => {
      const at = col === undefined ? link.col : link.row;
      const before = best.get(at);
      if (!before || Math.abs(before.link.weight) < Math.abs(link.weight)) best.set(at, { link, head });
    }));
    for (const [at, { link, head }] of best) {
      const { layer } = links.heads[head] as Head;
      const look = this.#looks.of(maps, layer, overviews[head] as Overview, this.host.scaleChoice, this.host.colors);
      const part = { rows: [link.row, link.row + 1], cols: [link.col, link.col + 1] } as const;
      const color = rowColors({ part, size: [1, 1], values: Float32Array.of(link.weight) }, look);
      values.set(at, { text: shortValue(link.weight), tint: tintStyle(color) });
    }
    return values;
  }

  #share(content: Content, { rows, col }: Focus, drawn: readonly (readonly Link[])[]): string {
    const all = this.#rowsOf(content, rows);
    const isPart = rows.length === 0 && all.length < content.maps.tokens.length;
    const whose = isPart ? " of the queries in sight" : "";
    const count = drawn.flat().length;
    if (col !== undefined)
      return `${count} ${count === 1 ? "link" : "links"}${whose} to ${tokenName(content.maps.keyTokens[col] ?? "")}`;
    let total = 0;
    content.links.heads.forEach((_, head) => {
      if (this.#only === undefined || this.#only === head)
        for (const row of all) total += content.links.of(head, row)?.total ?? 0;
    });
    const held = drawn.flat().reduce((sum, { weight }) => sum + Math.abs(weight), 0);
    if (total === 0) return "No weight is known here";
    return `Links drawn hold ${percent(held, total)} of the weight${whose}`;
  }

  /** The links of one query in words and numbers. */
  #table({ maps, links }: Content, row: number): TemplateResult {
    const { threshold, topK } = this.host.state;
    const lines = links.heads.flatMap((head, index) => {
      const found: RowLinks | undefined = links.of(index, row);
      return found ? drawnOf(found, threshold, topK).map((link) => ({ head, link })) : [];
    });
    return html`
      <table class="unseen" part="table">
        <caption>Links of ${tokenName(maps.tokens[row] ?? "")}</caption>
        <thead><tr><th scope="col">Head</th><th scope="col">Key</th><th scope="col">Weight</th></tr></thead>
        <tbody>${lines.map(({ head, link }) => html`<tr><td>${headName(head)}</td><td>${tokenName(maps.keyTokens[link.col] ?? "")} (${link.col})</td><td>${formatValue(link.weight)}</td></tr>`)}</tbody>
      </table>
    `;
  }

  #point(axis: Axis, index: number): void {
    this.host.point(axis === "row" ? { row: index } : { col: index });
  }

  readonly #onClick = (event: MouseEvent): void => {
    const { axis, index = "" } = (event.currentTarget as HTMLElement).dataset;
    const { query, key } = this.host.state;
    if (axis === "col") return this.host.change(key === index ? { key: "" } : { key: index, query: "" });
    if (event.shiftKey) return this.host.change({ query: toggled(query, index) });
    this.host.change(query === index ? { query: "", key: "" } : { query: index, key: "" });
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
    this.#point(axis, index);
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
    }));
    const { clientWidth: width, clientHeight: height } = canvas;
    const left = box.scrollLeft;
    const middle = (index: number): number =>
      ((content.begins[index] ?? 0) + (content.begins[index + 1] ?? 0)) / 2 - left;
    const [row, top] = [this.#rowHeight, headHeight - box.scrollTop];
    const y = (index: number): number => (index + 0.5) * row + top;
    const ends = isArcs
      ? (link: Link) => [middle(link.row), height, middle(link.col), height] as const
      : (link: Link) => [0, y(link.row), width, y(link.col)] as const;
    drawLines(canvas, { width, height }, bundles, ends, isArcs);
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

/** The height of the names above the columns. */
const headHeight = 20;

/** A weight beside a token. One that is too small for its digits is not written as zero. */
function shortValue(weight: number): string {
  return Math.abs(weight) < 0.0005 ? "<0.001" : formatValue(weight, 3);
}

function beginsOf(tokens: readonly string[]): Float64Array {
  const begins = new Float64Array(tokens.length + 1);
  tokens.forEach((token, index) => {
    begins[index + 1] = (begins[index] as number) + Math.min(Math.max(tokenWidth(token) * kLetter + 8, kNarrow), kWide);
  });
  return begins;
}

const isCross = ({ tokens, keyTokens }: MapSource): boolean =>
  tokens.length !== keyTokens.length || tokens.some((token, index) => token !== keyTokens[index]);

function checkState({ threshold, topK, lines }: Host["state"]): void {
  if (!(threshold >= 0)) throw new Error(`threshold: ${threshold} is not a number from 0 on`);
  if (!(Number.isInteger(topK) && topK >= 0)) throw new Error(`top-k: ${topK} is not a whole number from 0 on`);
  if (!kModes.some((mode) => mode === lines))
    throw new Error(`lines: ${JSON.stringify(lines)} is not known; ${kModes.join(", ")} are`);
}

export const linesView: ViewCode = {
  styles: linesStyles(kArcsHeight, headHeight),
  create: (host) => new LinesView(host),
};
