// SPDX-License-Identifier: Apache-2.0
/**
 * The open head beside another text, head or model, and their difference over the tokens that both have or that stand in
 * each other's place.
 */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { barLook, kBar, type Look, lookOf, paint } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import { type CellMask, givenMask } from "../maps/mask.js";
import { formatOn, type Scale, scaleInWords, scaleOf } from "../maps/scale.js";
import { isReleased, type MapSource, nextTurn, type Picture } from "../maps/source.js";
import { tokenLabel, tokenWidth } from "../maps/tokens.js";
import type { Run } from "../maps/run.js";
import { isEqual, toggled } from "../state/lists.js";
import { placeOf } from "../state/pins.js";
import { afterPaint } from "./after-paint.js";
import type { Pair } from "./compare-align.js";
import { CompareChoice } from "./compare-choice.js";
import { type Aligned, type Divergences, kindOf, kNothing, mapOf, openOther } from "./compare-other.js";
import { compareStyles } from "./compare-styles.js";
import { differingWords, pairName, topsInWords } from "./compare-words.js";
import type { Cell, Host, View, ViewCode } from "./view.js";

const kTop = 8;
const kFirst: Pair = [0, 0];
/** The scale of differences ends here at least, so that what is hardly there is not seen as if it were large. */
const kLeast = 0.01;
/** So many names fit on a side of the smallest map that has any. */
const kMostLabels = 12;
/** Longer names are cut. */
const kMostLetters = 12;
/** Names of at most so many letters have space beside narrow maps, too. */
const kShort = 8;
/** The parts of the state that say what the open head is compared with. */
const kFields = Object.keys(kNothing) as (keyof typeof kNothing)[];
interface Ranked { readonly layer: number; readonly head: number; readonly mean: number }

/** The colours of the three maps, and those of the bars beside them. */
interface Looks {
  readonly key: string;
  readonly of: readonly [a: Look, b: Look, change: Look];
  readonly bars: readonly Look[];
}

/** A canvas that stays painted while the view is closed. */
class Kept {
  readonly canvas = document.createElement("canvas");
  #painted: readonly unknown[] = [];

  paint(picture: Picture, look: Look): void {
    if (!isEqual(this.#painted, [picture, look])) paint(this.canvas, picture, look);
    this.#painted = [picture, look];
  }

  /** Keeps no numbers. */
  forget(): void {
    this.#painted = [];
  }
}

/** The canvas of a map, and that of the bar below it. */
interface Canvases {
  readonly map: Kept;
  readonly bar: Kept;
}

function threeCanvases(): readonly Canvases[] {
  return Array.from({ length: 3 }, () => {
    const bar = new Kept();
    bar.canvas.setAttribute("aria-hidden", "true");
    return { map: new Kept(), bar };
  });
}

class CompareView implements View {
  #maps: MapSource | undefined;
  /** Both sides, and what they were opened for. */
  #opened: { readonly of: readonly unknown[]; readonly aligned: Aligned } | undefined;
  /** The words that say why the two cannot be compared. */
  #failed = "";
  /** The longest names of rows and columns, in letters, for which there is the same space beside all maps. */
  #longest = { row: 0, col: 0 };
  #ranked: readonly Ranked[] = [];
  #done = 0;
  /** The sides whose heads are ranked, or are about to be. */
  #ranking: Aligned | undefined;
  /** True once the maps are painted, so that their names may follow. */
  #isPainted = false;
  /** All that stands below the maps, which are painted first. */
  #below: { readonly divergences: Divergences | undefined } | undefined;
  #looks: Looks | undefined;
  readonly #canvases = threeCanvases();
  readonly #choice: CompareChoice;

  constructor(private readonly host: Host) {
    this.#choice = new CompareChoice(host);
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".cmp-plot")?.focus();
  }

  heads(): readonly (readonly [number, number])[] {
    return [[this.host.state.layer, this.host.state.head]];
  }

  clear(): void {
    this.#opened?.aligned.release();
    this.#opened = this.#maps = this.#looks = this.#below = this.#ranking = undefined;
    for (const { map } of this.#canvases) map.forget();
    this.#failed = "";
    this.#ranked = [];
    this.#done = 0;
  }

  async load(maps: MapSource, signal: AbortSignal): Promise<void> {
    if (!maps.run) throw new Error("compare: these maps have no model");
    const isOpen = this.#below !== undefined && this.host.renderRoot.querySelector(".cmp") !== null;
    const isHinting = this.#choice.hint(maps) !== undefined;
    const opened = isHinting ? undefined : await this.#open(maps, maps.run, signal).catch(inWords);
    signal.throwIfAborted();
    if (typeof opened !== "object") this.clear();
    this.#maps = maps;
    this.#failed = typeof opened === "string" ? opened : "";
    if (!isOpen) {
      this.#below = undefined;
      this.#isPainted = false;
      this.host.drawn(this);
      await afterPaint();
      this.#isPainted = true;
      this.host.requestUpdate();
    }
    if (typeof opened === "object") await this.#tellBelow(opened);
    signal.throwIfAborted();
    if (isOpen) this.host.drawn(this); // as a whole, so that nothing below the maps moves
  }

  async prepare(maps: MapSource): Promise<void> {
    const { run } = maps;
    // Another model may have to be loaded, which waits until it is asked for.
    if (!run || this.#choice.hint(maps) !== undefined || kindOf(run, this.host.state) === "model") return;
    this.#paint(await this.#open(maps, run, new AbortController().signal));
  }

  /** Opens both sides, unless they are what was opened last. */
  async #open(maps: MapSource, run: Run, signal: AbortSignal): Promise<Aligned> {
    const { state } = this.host;
    const of = [maps, state.layer, state.head, ...kFields.map((name) => state[name])];
    if (this.#opened && isEqual(this.#opened.of, of)) return this.#opened.aligned;
    const aligned = await openOther(maps, run, state, signal);
    if (signal.aborted) aligned.release();
    signal.throwIfAborted();
    this.clear();
    this.#maps = maps;
    this.#opened = { of, aligned };
    this.#longest = longestNames(aligned);
    return aligned;
  }

  async #tellBelow(aligned: Aligned): Promise<void> {
    const divergences = await aligned.divergences;
    if (this.#opened?.aligned !== aligned) return;
    this.#below = { divergences };
    this.host.requestUpdate();
    this.#rank(aligned).catch((error: unknown) => {
      if (this.#opened?.aligned === aligned && !isReleased(error)) this.host.fail(error);
    });
  }

  /** Ranks the heads by their mean absolute difference over the aligned cells that are not masked. */
  async #rank(aligned: Aligned): Promise<void> {
    const { hasPartners, sides: [{ maps }, { maps: other }] } = aligned;
    if (!hasPartners || this.#ranking === aligned) return;
    this.#ranking = aligned;
    const heads = maps.heads.flatMap((count, layer) => Array.from({ length: count }, (_, head) => ({ layer, head })));
    const ranked: Ranked[] = [];
    let cells: Uint8Array = new Uint8Array(0);
    for (const [index, head] of heads.entries()) {
      if (index % 16 === 0) await nextTurn();
      const [a, b] = await Promise.all([
        mapOf({ maps, ...head }, aligned, 0), mapOf({ maps: other, ...head }, aligned, 1),
      ]);
      if (this.#opened?.aligned !== aligned) return;
      if (head.head === 0) cells = shownCells(aligned, head.layer);
      ranked.push({ ...head, mean: meanDifference(a, b, cells) });
      this.#done = (index + 1) / heads.length;
      if (index % 16 === 15) this.host.requestUpdate();
    }
    this.#ranked = ranked.sort((a, b) => b.mean - a.mean).slice(0, kTop);
    this.host.requestUpdate();
  }

  render(): TemplateResult {
    const maps = this.#maps;
    if (!maps?.run) return html``;
    const words = this.#choice.hint(maps) ?? this.#failed;
    return html`
      <div class="cmp" part="compare">
        ${this.#choice.render(maps)}
        ${words === "" ? nothing : html`<p class="cmp-note" role="status">${words}</p>`}
        ${words === "" && this.#opened ? this.#comparison(this.#opened.aligned) : nothing}
      </div>
    `;
  }

  #comparison(aligned: Aligned): TemplateResult {
    const scales = this.#paint(aligned);
    const at = this.#place(aligned);
    const { note, sides: [sideA, sideB] } = aligned;
    const plot = (name: string, words: string, which: 0 | 1 | 2): TemplateResult =>
      this.#plot(name, words, aligned, scales[which], which, at);
    return html`
      ${differingWords(aligned)}
      ${note === "" ? nothing : html`<p class="cmp-note">${note}</p>`}
      <p class="cmp-tops">${topsInWords(aligned, at.row)}</p>
      <div class="cmp-maps">
        ${plot("A", sideA.words, 0)} ${plot("B", sideB.words, 1)}
        ${plot("B − A", "orange is less, blue is more", 2)}
      </div>
      <output class="cmp-readout">${this.#readout(aligned, at)}</output>
      ${this.#below ? html`${this.#divergence(aligned, this.#below.divergences)} ${this.#heads(aligned)} ${this.#table(aligned, at.row)}` : nothing}
    `;
  }

  /** Paints the three maps where anything about them changed, and returns their scales. */
  #paint(aligned: Aligned): readonly [a: Scale, b: Scale, change: Scale] {
    const { a, b, change, rows, cols } = aligned;
    const { of, bars } = this.#looksOf(aligned);
    for (const [which, values] of [a, b, change].entries()) {
      const { map, bar } = this.#canvases[which] as Canvases;
      map.paint(pictureOf(values, rows.length, cols.length), of[which] as Look);
      bar.paint(kBar, bars[which] as Look);
    }
    return [of[0].scale, of[1].scale, of[2].scale];
  }

  #looksOf(aligned: Aligned): Looks {
    const { a, b, change: values, cols, sides: [{ layer }] } = aligned;
    const { colors, scaleChoice } = this.host;
    const key = JSON.stringify([colors, scaleChoice]);
    if (this.#looks?.key === key) return this.#looks;
    const width = cols.length;
    const largest = new Float32Array(aligned.rows.length);
    for (const of of [a, b]) of.forEach((value, cell) => {
      const row = Math.floor(cell / width);
      largest[row] = Math.max(largest[row] as number, value);
    });
    const facts = { largest, signed: false, keys: new Float32Array(largest.length).fill(width) };
    const end = values.reduce((most, value) => Math.max(most, Math.abs(value)), kLeast);
    const signed: Scale = { kind: "fixed", colormap: "diverging", min: -end, max: end };
    const weights = scaleOf(scaleChoice, facts, width, () => 1);
    const masks = [maskOf(aligned, layer, 0), maskOf(aligned, aligned.sides[1].layer, 1)] as const;
    const change = lookOf(signed, maskOf(aligned, layer), colors);
    const of = [lookOf(weights, masks[0], colors), lookOf(weights, masks[1], colors), change] as const;
    this.#looks = { key, of, bars: of.map(barLook) };
    return this.#looks;
  }

  /** The cell of aligned tokens that is looked at, or else the one that differs most. */
  #place({ rows, cols, change, sides: [{ maps }] }: Aligned): Cell {
    const { row, col } = placeOf(maps, this.host.cursor, this.host.state);
    const pairOf = (pairs: readonly Pair[], token: number | undefined): number =>
      pairs.findIndex(([a]) => a === token);
    const most = (begin: number, end: number): number => {
      let best = begin;
      for (let cell = begin; cell < end; cell++)
        if (Math.abs(change[cell] ?? 0) > Math.abs(change[best] ?? 0)) best = cell;
      return best;
    };
    const width = cols.length;
    const own = pairOf(rows, row);
    const chosen = own >= 0 ? own : Math.floor(most(0, rows.length * width) / width);
    const key = pairOf(cols, col);
    return { row: chosen, col: key >= 0 ? key : most(chosen * width, (chosen + 1) * width) % width };
  }

  #plot(
    name: string, words: string, aligned: Aligned, scale: Scale, which: 0 | 1 | 2, at: Cell,
  ): TemplateResult {
    const [height, width] = [aligned.rows.length, aligned.cols.length];
    const { map, bar } = this.#canvases[which] as Canvases;
    const longest = this.#longest;
    const cell = ({ clientX, clientY, currentTarget }: MouseEvent): Cell => {
      const box = (currentTarget as Element).getBoundingClientRect();
      const place = (at: number, length: number, count: number): number =>
        Math.min(Math.max(Math.floor((at / length) * count), 0), count - 1);
      return { row: place(clientY - box.top, box.height, height), col: place(clientX - box.left, box.width, width) };
    };
    return html`
      <figure class="cmp-figure">
        <figcaption><b>${name}</b> <bdi>${words}</bdi></figcaption>
        <div class="cmp-plot ${Math.max(longest.row, longest.col) <= kShort ? "short" : ""}" role="application" tabindex=${which === 0 ? 0 : -1}
          .style=${`--row: ${at.row}; --col: ${at.col}; --rows: ${height}; --cols: ${width}; --row-name: ${longest.row}ch; --col-name: ${longest.col}ch`}
          aria-label=${`${name}: ${height} rows and ${width} columns of aligned tokens. Arrow keys move, Enter pins, Escape frees.`}
          @pointermove=${(event: MouseEvent): void => this.#point(aligned, cell(event))}
          @pointerleave=${(): void => this.host.point(undefined)}
          @click=${(event: MouseEvent): void => this.#pin(aligned, cell(event), event.shiftKey)}
          @keydown=${(event: KeyboardEvent): void => this.#onKey(event, aligned, at)}>
          ${map.canvas}<i class="cmp-cell"></i>
          ${this.#isPainted ? labels(aligned, which === 1 ? 1 : 0, at) : nothing}
        </div>
        <div class="cmp-scale">
          <small>${scale.kind === "row" ? "0" : formatOn(scale, scale.min)}</small>${bar.canvas}
          <small>${scale.kind === "row" ? "largest of the row" : formatOn(scale, scale.max)}</small><span class="unseen">Scale: ${scaleInWords(scale)}</span>
        </div>
      </figure>
    `;
  }

  #point({ rows, cols }: Aligned, { row, col }: Cell): void {
    this.host.point({ row: rows[row]?.[0], col: cols[col]?.[0] });
  }

  #pin({ rows, cols }: Aligned, { row, col }: Cell, isAdded: boolean): void {
    const query = String(rows[row]?.[0] ?? "");
    const key = String(cols[col]?.[0] ?? "");
    this.host.change({ query: isAdded ? toggled(this.host.state.query, query) : query, key });
  }

  #onKey(event: KeyboardEvent, aligned: Aligned, { row, col }: Cell): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const [bottom, right] = [aligned.rows.length - 1, aligned.cols.length - 1];
    const moves: Record<string, Cell> = {
      ArrowUp: { row: Math.max(row - 1, 0), col }, ArrowDown: { row: Math.min(row + 1, bottom), col },
      ArrowLeft: { row, col: Math.max(col - 1, 0) }, ArrowRight: { row, col: Math.min(col + 1, right) },
    };
    const move = moves[event.key];
    const { layer, head, query, key } = this.host.state;
    if (move) this.#point(aligned, move);
    else if (event.key === "Enter" || event.key === "p") this.#pin(aligned, { row, col }, event.shiftKey);
    else if (event.key === "Escape" && (query !== "" || key !== "")) this.host.change({ query: "", key: "" });
    else if (event.key === "s") this.host.silence(layer, head);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #readout({ rows, cols, a, b, change, sides: [{ maps }, { maps: other }] }: Aligned, { row, col }: Cell): string {
    const cell = row * cols.length + col;
    const [inA, inB, less] = [a, b, change].map((of) => formatValue(of[cell] ?? NaN));
    const query = pairName(rows[row] ?? kFirst, maps.tokens, other.tokens);
    const key = pairName(cols[col] ?? kFirst, maps.keyTokens, other.keyTokens);
    return `${query} → ${key}: A ${inA}, B ${inB}, B − A ${less}`;
  }

  #divergence(
    { sides: [{ maps }] }: Aligned, divergences: Divergences | undefined,
  ): TemplateResult | typeof nothing {
    const { run } = maps;
    if (!divergences || !run) return nothing;
    const { pairs, nats } = divergences;
    const most = nats.reduce((largest, value) => (Number.isFinite(value) ? Math.max(largest, value) : largest), 0) || 1;
    // The rows of an encoder's map are tokens of the source, and predictions are those at the target's.
    const tokens = run.shown === "encoder" ? run.attention.tokens : maps.tokens;
    const pin = (token: number): void => this.host.change({ query: String(token) });
    const bar = ([token]: Pair, pair: number): TemplateResult => {
      const value = nats[pair] ?? 0;
      const shown = html`<span class="cmp-bar" .style=${`--share: ${Math.min(value / most, 1)}`}></span>${tokenLabel(tokens[token] ?? "")}<small>${formatValue(value, 3)}</small>`;
      return html`<li>${run.shown === "encoder" ? html`<span class="cmp-moved">${shown}</span>` : html`<button class="cmp-moved" @click=${(): void => pin(token)}>${shown}</button>`}</li>`;
    };
    return html`<section aria-label="Change of the prediction">
      <p class="cmp-note">How far the prediction ${run.info.causal ? "of the next token moves" : "of each token moves"}, in nats</p><ol class="cmp-kl">${pairs.map(bar)}</ol></section>`;
  }

  #heads({ hasPartners }: Aligned): TemplateResult | typeof nothing {
    if (!hasPartners) return nothing;
    const one = ({ layer, head, mean }: Ranked): TemplateResult =>
      html`<li><button @click=${(): void => this.host.showHead(layer, head)}>${layer}.${head} <small>${formatValue(mean)}</small></button></li>`;
    return html`<section aria-label="Heads that differ most"><p class="cmp-note">Heads that differ most, on average</p>
      ${this.#ranked.length > 0 ? html`<ol class="cmp-heads">${this.#ranked.map(one)}</ol>` : html`<progress aria-label="Comparing heads" .value=${this.#done}></progress>`}</section>`;
  }

  #table({ rows, cols, a, b, change, sides: [{ maps }, { maps: other }] }: Aligned, row: number): TemplateResult {
    const line = (pair: Pair, col: number): TemplateResult => {
      const cell = row * cols.length + col;
      return html`<tr><th scope="row">${pairName(pair, maps.keyTokens, other.keyTokens)}</th>${[a, b, change].map((of) => html`<td>${formatValue(of[cell] ?? NaN)}</td>`)}</tr>`;
    };
    return html`<div class="unseen"><table class="cmp-table"><caption>${pairName(rows[row] ?? kFirst, maps.tokens, other.tokens)} looks at</caption>
      <thead><tr><th scope="col">Key</th><th scope="col">A</th><th scope="col">B</th><th scope="col">Difference</th></tr></thead>
      <tbody>${cols.map(line)}</tbody></table></div>`;
  }
}

/** An error in words, which are shown where the other side is chosen. */
function inWords(error: unknown): string {
  if (isReleased(error)) throw error;
  return error instanceof Error ? error.message : String(error);
}

/** 1 for each cell of aligned tokens that a side does not mask; without one, that one of the two does not. */
function shownCells({ rows, cols, sides }: Aligned, layer: number, side?: 0 | 1): Uint8Array {
  const cells = new Uint8Array(rows.length * cols.length);
  for (const which of side === undefined ? ([0, 1] as const) : [side]) {
    const mask = sides[which].maps.maskOf(layer);
    let cell = 0;
    for (const row of rows) {
      const top = row[which];
      const range = mask.visible?.(top, top + 1);
      for (const col of cols) {
        const begin = col[which];
        const isShown = range ? begin >= range[0] && begin < range[1] : !mask.hides(top, top + 1, begin, begin + 1);
        if (isShown) cells[cell] = 1;
        cell++;
      }
    }
  }
  return cells;
}

const maskOf = (aligned: Aligned, layer: number, side?: 0 | 1): CellMask =>
  givenMask(shownCells(aligned, layer, side), aligned.cols.length);

function meanDifference(a: Float32Array, b: Float32Array, cells: Uint8Array): number {
  let [sum, count] = [0, 0];
  for (let cell = 0; cell < cells.length; cell++) {
    if (cells[cell] === 0) continue;
    sum += Math.abs((b[cell] as number) - (a[cell] as number));
    count++;
  }
  return count > 0 ? sum / count : 0;
}

function longestNames({ sides }: Aligned): { row: number; col: number } {
  const longest = (of: readonly string[]): number =>
    Math.min(of.reduce((most, token) => Math.max(most, tokenWidth(token)), 2), kMostLetters);
  return {
    row: longest(sides.flatMap(({ maps }) => maps.tokens)), col: longest(sides.flatMap(({ maps }) => maps.keyTokens)),
  };
}

/** The names of a side's rows and columns: of large maps every second, third, …, and those of the cell that is looked at. */
function labels({ rows, cols, equal, sides }: Aligned, side: 0 | 1, at: Cell): TemplateResult {
  const { tokens, keyTokens } = sides[side].maps;
  const own = side === 1 ? "in-b" : "in-a";
  const axis = (name: "row" | "col", pairs: readonly Pair[], of: readonly string[]): TemplateResult => {
    const isOwn = (index: number): boolean => !equal[`${name}s`].includes(pairs[index] ?? kFirst);
    const every = Math.ceil(pairs.length / kMostLabels);
    const others = Array.from({ length: Math.ceil(pairs.length / every) }, (_, step) => step * every)
      .filter((index) => Math.abs(index - at[name]) >= every);
    const label = (index: number): TemplateResult =>
      html`<span class="${index === at[name] ? "chosen" : ""} ${isOwn(index) ? own : ""}"
        .style=${`--at: ${index}`}>${tokenLabel(of[pairs[index]?.[side] ?? 0] ?? "")}</span>`;
    return html`<div class=${`cmp-${name}s`} aria-hidden="true">${[...others, at[name]].sort((a, b) => a - b).map(label)}</div>`;
  };
  return html`${axis("row", rows, tokens)}${axis("col", cols, keyTokens)}`;
}

const pictures = new WeakMap<Float32Array, Picture>();

/** The same object for the same numbers, so that they are painted once. */
function pictureOf(values: Float32Array, height: number, width: number): Picture {
  const part = { rows: [0, height], cols: [0, width] } as const;
  const known = pictures.get(values) ?? { part, size: [height, width], values };
  pictures.set(values, known);
  return known;
}

export const compareView: ViewCode = { styles: compareStyles, create: (host) => new CompareView(host) };
