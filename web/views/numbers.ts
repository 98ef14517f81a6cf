// SPDX-License-Identifier: Apache-2.0
/** Every number on the open head's way from one query and one key to what the head writes. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { paletteOf, kSteps } from "../maps/palette.js";
import { checkHead, isReleased, type MapSource, overviewOf } from "../maps/source.js";
import { tokenLabel, tokenText } from "../maps/tokens.js";
import { strongestRow } from "../maps/words.js";
import { afterPaint } from "./after-paint.js";
import { exact } from "./map.js";
import { type HeadNumbers, largestKey, type RowNumbers, runNumbers } from "./numbers-data.js";
import { MatrixPanels, type OpenMatrix, openMatrix } from "./numbers-matrix.js";
import { exponentials, type MatrixName, type NumbersStep, type Share, sharesOf, stepsOf } from "./numbers-steps.js";
import { dimensionBars } from "./numbers-bars.js";
import { kNumbersStyles } from "./numbers-styles.js";
import { free, keyOf, queryOf } from "./place.js";
import type { Run } from "../maps/run.js";
import type { Host, View, ViewCode } from "./view.js";

/** The most rows of which scores are fetched for a whole matrix, the keys that a row lists, and the heads with a share. */
const kMostRows = 512;
const kMostKeys = 48;
const kMostHeads = 16;
/** A reader who moves on within so many milliseconds does not wait for shares. */
const kRest = 60;
/** The steps that are drawn first. They fill a screen. */
const kFirstSteps = 4;
/** A dimension is at most so wide, in pixels, and so wide are the words beside the bars. */
const kBarWidth = 48;
const kWords = 320;

interface Content {
  readonly maps: MapSource;
  readonly numbers: HeadNumbers;
  /** The row with the head's strongest link. */
  readonly telling: number;
  readonly rows: Map<number, RowNumbers>;
  /** The shares of the layer's heads for each query. */
  readonly shares: Map<number, ReturnType<typeof sharesOf>>;
  readonly open: Map<MatrixName, OpenMatrix | undefined>;
}

class NumbersView implements View {
  #content: Content | undefined;
  /** The content that was fetched before the view is opened. */
  #ahead: Content | undefined;
  /** The query whose numbers are drawn. While those of another are fetched, they stay. */
  #query = 0;
  #dim: number | undefined;
  /** The key whose button is the list's tab stop, when the arrow keys moved to it. */
  #stop: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** True once all steps are drawn, and the table of them that is read aloud. */
  #isWhole = false;
  readonly #panels: MatrixPanels;

  constructor(private readonly host: Host) {
    this.#panels = new MatrixPanels(host);
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".num-key[tabindex='0']")?.focus();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#content = this.#ahead = undefined;
    this.#isWhole = false;
  }

  heads(): readonly (readonly [number, number])[] {
    return this.#content ? [[this.#content.numbers.layer, this.#content.numbers.head]] : [];
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps?.run) return;
    const { content, query } = await this.#fetch(maps, maps.run);
    signal.throwIfAborted();
    const isSame = content === this.#content;
    const open = [...(this.#content?.open.keys() ?? [])];
    this.#content = content;
    this.#ahead = undefined;
    this.#query = query;
    this.#stop = undefined;
    if (!isSame) for (const name of open) void this.#fill(content, name);
    if (isSame) for (const [name, matrix] of content.open) if (matrix) content.open.set(name, this.#recoloured(matrix));
    this.#isWhole &&= this.host.renderRoot.querySelector(".num") !== null; // a view that is open stays whole
    this.host.drawn(this);
    this.#share(content, query);
    if (this.#isWhole) return;
    await afterPaint();
    this.#isWhole = true;
    this.host.requestUpdate();
  }

  async prepare(maps: MapSource): Promise<void> {
    if (maps.run) this.#ahead = (await this.#fetch(maps, maps.run)).content;
  }

  /** The numbers of the open head, with those of the query that is looked at. */
  async #fetch(maps: MapSource, run: Run): Promise<{ content: Content; query: number }> {
    const { layer, head } = this.host.state;
    checkHead(maps, layer, head);
    const known = [this.#content, this.#ahead].find((one) =>
      one?.maps === maps && one.numbers.layer === layer && one.numbers.head === head);
    const telling = known?.telling ?? await tellingRow(maps, layer, head);
    const query = queryOf(maps, this.host, telling);
    const content = known ?? newContent(maps, await runNumbers(maps, run, layer, head, query), telling);
    if (!content.rows.has(query)) content.rows.set(query, await content.numbers.row(query));
    return { content, query };
  }

  render(): TemplateResult {
    const content = this.#content;
    if (!content) return html``;
    const { numbers, maps } = content;
    this.#follow(content, queryOf(maps, this.host, content.telling));
    const row = content.rows.get(this.#query);
    if (!row) return html``;
    const key = keyOf(maps, this.host, largestKey(row));
    const steps = stepsOf(numbers, row, key);
    const { theme, ends } = this.host.colors;
    const { bytes } = paletteOf("diverging", theme, ends);
    const color = (step: number): string => `rgb(${[...bytes.subarray(step * 4, step * 4 + 3)].join(" ")})`;
    const dims = numbers.vectors.queries.width;
    const space = this.host.room.width > 2.2 * kWords ? this.host.room.width - kWords - 40 : this.host.room.width;
    const width = Math.min(space, dims * kBarWidth);
    return html`
      <div class="num" part="numbers" .style=${`--plus: ${color(kSteps - 26)}; --minus: ${color(25)}; --bars: ${width}px`} @keydown=${(event: KeyboardEvent): void => this.#onKey(event, content, key)}>
        ${this.#choices(content, key)}
        <ol class="num-steps">${steps.slice(0, this.#isWhole ? steps.length : kFirstSteps).map((step) => this.#step(content, step, row, key, width))}</ol>
        ${this.#isWhole ? this.#twin(steps) : nothing}
        <p class="unseen" aria-live="polite">${this.#dim === undefined ? nothing : this.#dimension(steps, this.#dim)}</p>
      </div>
    `;
  }

  /** Fetches the numbers of a query that the cursor went to. */
  #follow(content: Content, query: number): void {
    if (query === this.#query) return;
    const show = (): void => {
      if (content !== this.#content) return;
      this.#query = query;
      this.#share(content, query);
      this.host.requestUpdate();
    };
    if (content.rows.has(query)) {
      this.#query = query;
      return this.#share(content, query);
    }
    content.numbers.row(query).then((row) => {
      content.rows.set(query, row);
      if (queryOf(content.maps, this.host, content.telling) === query) show();
    }, (error: unknown) => content === this.#content && this.host.fail(error));
  }

  /** Adds the layer's heads up once the reader stays at a query, since that takes a call for each head. */
  #share(content: Content, query: number): void {
    clearTimeout(this.#timer);
    if (!content.shares.has(query)) this.#timer = setTimeout(() => this.#addUp(content, query), kRest);
  }

  #addUp({ numbers, shares }: Content, query: number): void {
    if (numbers !== this.#content?.numbers) return;
    const known = (written: readonly Float32Array[]): void => {
      shares.set(query, sharesOf(written));
      this.host.requestUpdate();
    };
    numbers.written(query).then(known, (error: unknown) => {
      if (!isReleased(error)) this.host.fail(error);
    });
  }

  #choices({ maps: { tokens, keyTokens } }: Content, key: number): TemplateResult {
    const select = (label: string, names: readonly string[], chosen: number, choose: (index: number) => void): TemplateResult => html`
      <label>${label}
        <select .value=${String(chosen)} @change=${(event: Event): void => choose(Number((event.target as HTMLSelectElement).value))}>
          ${names.map((name, index) => html`<option value=${index} ?selected=${index === chosen}>${index} ${tokenText(name, 24)}</option>`)}
        </select>
      </label>`;
    return html`
      <div class="num-pair">
        ${select("Query", tokens, this.#query, (query) => this.host.change({ query: String(query) }))}
        <span aria-hidden="true">→</span>
        ${select("key", keyTokens, key, (to) => this.host.change({ query: String(this.#query), key: String(to) }))}
      </div>
    `;
  }

  #step(content: Content, step: NumbersStep, row: RowNumbers, key: number, width: number): TemplateResult {
    const { name, title, about, formula, strips, matrix, explain } = step;
    const isFirst = name === "query";
    const shown = this.#dim !== undefined && explain ? explain(this.#dim) : formula;
    return html`
      <li class="num-step" data-step=${name}>
        <div class="num-words">
          <b class="num-title">${title}</b>
          <p>${about}</p>
          ${matrix ? this.#opener(content, matrix) : nothing}
        </div>
        <div class="num-shown">
          ${strips.map((strip, index) => dimensionBars(strip, width, this.#dim, (dim) => this.#light(dim), isFirst && index === 0))}
          ${name === "weight" ? this.#keys(content, row, key) : nothing}
          ${name === "written" ? this.#written(content) : nothing}
          ${formula === "" && strips.length === 0 ? nothing : html`<output class="num-formula">${shown === "" && isFirst ? kHint : shown}</output>`}
          ${name === "weight" ? html`<p class="num-note">Dropout is off: it acts in training only, and a model that reads keeps every weight.</p>` : nothing}
        </div>
        ${matrix && content.open.has(matrix) ? html`<div class="num-open">${this.#opened(content, matrix, row, key)}</div>` : nothing}
      </li>
    `;
  }

  #light(dim: number | undefined): void {
    if (dim === this.#dim) return;
    this.#dim = dim;
    this.host.requestUpdate();
  }

  #dimension(steps: readonly NumbersStep[], dim: number): string {
    const each = steps.flatMap(({ title, explain }) => (explain ? [`${title}: ${explain(dim)}`] : []));
    return `Dimension ${dim}. ${each.join(". ")}`;
  }

  /** The row of the softmax, a line for each key. */
  #keys({ numbers: { keyTokens, temperature, normalizer } }: Content, row: RowNumbers, key: number): TemplateResult {
    const { each, sum } = exponentials(row, temperature);
    const isSoftmax = normalizer === "softmax";
    const listed = listedKeys(row, key);
    const stop = this.#stop !== undefined && listed.includes(this.#stop) ? this.#stop : key;
    const weights = row.weights.reduce((all, weight) => all + weight, 0);
    const most = row.weights.reduce((all, weight) => Math.max(all, weight), 0) || 1;
    const pin = (of: number): void => this.host.change({ query: String(this.#query), key: String(of) });
    const line = (of: number): TemplateResult => {
      const [score, weight] = [row.maskedScores[of] ?? NaN, row.weights[of] ?? NaN];
      return html`
        <tr class=${`${of === key ? "num-chosen" : ""} ${score === -Infinity ? "num-hidden" : ""}`} @pointerenter=${(): void => this.host.point({ row: this.#query, col: of })} @click=${(): void => pin(of)}>
          <th scope="row"><button class="num-key" data-key=${of} tabindex=${of === stop ? 0 : -1} aria-pressed=${of === key ? "true" : "false"}>${tokenLabel(keyTokens[of] ?? "")}</button></th>
          <td>${exact(score)}</td>
          ${isSoftmax ? html`<td>${exact(each[of] ?? NaN)}</td>` : nothing}
          <td><span class="num-weight" .style=${`--share: ${weight / most}`}>${exact(weight)}</span></td>
        </tr>`;
    };
    const rest = row.weights.length - listed.length;
    const left = weights - listed.reduce((all, of) => all + (row.weights[of] ?? 0), 0);
    return html`
      <div class="num-row scrolled" @pointerleave=${(): void => this.host.point(undefined)}>
        <table class="num-keys" @keydown=${(event: KeyboardEvent): void => this.#onRow(event, listed, stop)}>
          <thead><tr><th scope="col">key</th><th scope="col">score</th>${isSoftmax ? html`<th scope="col">e^(score −&nbsp;largest)</th>` : nothing}<th scope="col">weight</th></tr></thead>
          <tbody>${listed.map(line)}</tbody>
          <tfoot>
            ${rest > 0 ? html`<tr><th scope="row" colspan=${isSoftmax ? 3 : 2}>${rest} other keys</th><td>${exact(left)}</td></tr>` : nothing}
            <tr><th scope="row">Σ of the row</th><td></td>${isSoftmax ? html`<td>${exact(sum)}</td>` : nothing}<td>${exact(weights)}</td></tr>
          </tfoot>
        </table>
      </div>
    `;
  }

  /** The output of each head of the layer: its length, and its share in their sum. */
  #written({ shares: all, numbers: { layer, head } }: Content): TemplateResult {
    const found = all.get(this.#query);
    if (!found) return html`<p class="num-note" role="status">The layer’s heads are being added up …</p>`;
    const { shares, total } = found;
    const own = shares[head];
    const byShare = [...shares].sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
    const listed = shares.length <= kMostHeads
      ? shares
      : byShare.filter((of, index) => index < kMostHeads || of.head === head);
    const most = listed.reduce((largest, { share }) => Math.max(largest, Math.abs(share)), 0) || 1;
    const line = ({ head: of, length, share }: Share): TemplateResult => html`
      <tr class=${of === head ? "num-chosen" : ""}>
        <th scope="row"><button class="num-head" @click=${(): void => this.host.showHead(layer, of)} aria-current=${of === head ? "true" : nothing}>${layer}.${of}</button></th>
        <td>${exact(length)}</td>
        <td><span class=${`num-weight ${share < 0 ? "num-against" : ""}`} .style=${`--share: ${Math.abs(share) / most}`}>${percent(share)}</span></td>
      </tr>`;
    return html`
      <p class="num-formula num-share">‖head ${layer}.${head}‖ = ${exact(own?.length ?? NaN)}, ‖all heads of layer ${layer}‖ = ${exact(total)}: ${percent(own?.share ?? NaN)} of what the layer writes</p>
      <div class="num-row scrolled"><table class="num-keys">
        <caption class="unseen">What each head of layer ${layer} writes, without the projection’s bias</caption>
        <thead><tr><th scope="col">head</th><th scope="col">length</th><th scope="col">share</th></tr></thead>
        <tbody>${listed.map(line)}</tbody>
        <tfoot><tr><th scope="row">together</th><td>${exact(total)}</td><td>${percent(shares.reduce((sum, { share }) => sum + share, 0))}</td></tr></tfoot>
      </table></div>
      ${listed.length < shares.length ? html`<p class="num-note">The ${listed.length} of ${shares.length} heads with the largest shares.</p>` : nothing}
      <p class="num-note">A share is how far a head moves the sum of all heads in that sum’s own direction; the projection’s bias is left out.</p>
    `;
  }

  // Whole matrices.

  #opener({ open, numbers }: Content, name: MatrixName): TemplateResult {
    const isOpen = open.has(name);
    const toggle = (): void => {
      const content = this.#content;
      if (!content) return;
      if (isOpen) content.open.delete(name);
      else void this.#fill(content, name);
      this.host.requestUpdate();
    };
    const cols = isOfScores(name) ? numbers.keyTokens.length : numbers.vectors.queries.width;
    const rows = name === "keys" || name === "values" ? numbers.keyTokens.length : numbers.tokens.length;
    return html`<button class="num-opener" data-matrix=${name} aria-expanded=${isOpen ? "true" : "false"} @click=${toggle}><span aria-hidden="true">${isOpen ? "▾" : "▸"}</span> ${kTitles[name]} <small>${rows} × ${cols}</small></button>`;
  }

  #opened(content: Content, name: MatrixName, row: RowNumbers, key: number): TemplateResult {
    const matrix = content.open.get(name);
    const rows = content.numbers.tokens.length;
    if (!matrix) {
      const isLong = isOfScores(name) && rows > kMostRows;
      return html`<p class="num-note" role="status">${isLong ? `Whole matrices of scores are shown for up to ${kMostRows} tokens, and this text has ${rows}.` : `Being computed: ${content.rows.size} of ${rows} rows …`}</p>`;
    }
    const lit = name === "keys" || name === "values" ? key : row.query;
    const isLitCol = (col: number): boolean =>
      isOfScores(name) ? col === key : this.#dim === undefined || col === this.#dim;
    return this.#panels.render(matrix, lit, (of, col) => of === lit && isLitCol(col));
  }

  async #fill(content: Content, name: MatrixName): Promise<void> {
    const { numbers, maps } = content;
    content.open.set(name, undefined);
    const isScores = isOfScores(name);
    try {
      if (isScores && !(await this.#allRows(content))) return;
      const given = isScores ? undefined : name === "outputs" ? await numbers.outputs() : numbers.vectors[name];
      const values = isScores ? joined(content, name) : given?.values;
      if (content !== this.#content || !content.open.has(name) || !values) return;
      const isOfKeys = name === "keys" || name === "values";
      const rows = isOfKeys ? numbers.keyTokens : numbers.tokens;
      const dims = Array.from({ length: values.length / rows.length }, (_, dim) => String(dim));
      const cols = isScores ? numbers.keyTokens : dims;
      const colormap = name === "weights" ? "sequential" : "diverging";
      const isMasked = name === "weights" || name === "maskedScores";
      const plain = { name: kTitles[name], rows, cols, values, digits: 3, colormap } as const;
      const kinds = [isOfKeys ? "key" : "query", isScores ? "key" : "dimension"] as const;
      const mask = isMasked ? maps.maskOf(numbers.layer) : undefined;
      content.open.set(name, openMatrix(plain, kinds, mask, this.host.colors));
      this.host.requestUpdate();
    } catch (error) {
      if (content === this.#content) this.host.fail(error);
    }
  }

  /** The same matrix in the colours of now. */
  #recoloured({ matrix, kinds, look }: OpenMatrix): OpenMatrix {
    return openMatrix(matrix, kinds, look.mask, this.host.colors);
  }

  /** Fetches the rows that are not there yet. Returns false when it ended early. */
  async #allRows(content: Content): Promise<boolean> {
    const { numbers, rows } = content;
    const count = numbers.tokens.length;
    if (count > kMostRows) return false;
    for (let query = 0; query < count; query++) {
      if (rows.has(query)) continue;
      rows.set(query, await numbers.row(query));
      if (content !== this.#content) return false;
      if (query % 32 === 31) this.host.requestUpdate();
    }
    return true;
  }

  // Keys.

  #onRow(event: KeyboardEvent, listed: readonly number[], stop: number): void {
    const at = listed.indexOf(stop);
    const last = listed.length - 1;
    const moves: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last };
    const to = moves[event.key];
    if (to === undefined || event.altKey || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    this.#stop = listed[Math.min(Math.max(to, 0), last)];
    this.host.requestUpdate();
    void this.host.updateComplete.then(() => this.focus());
  }

  #onKey(event: KeyboardEvent, { numbers: { layer, head } }: Content, key: number): void {
    // A letter in a list of choices finds a choice.
    if (event.defaultPrevented || event.target instanceof HTMLSelectElement) return;
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const actions: Readonly<Record<string, () => boolean>> = {
      Escape: () => free(this.host),
      p: () => {
        this.host.change({ query: String(this.#query), key: String(this.#stop ?? key) });
        return true;
      },
      s: () => {
        this.host.silence(layer, head);
        return true;
      },
    };
    if (actions[event.key]?.()) event.preventDefault();
  }

  /** The numbers of all dimensions, for readers who hear them. */
  #twin(steps: readonly NumbersStep[]): TemplateResult {
    const strips = steps.flatMap((step) => step.strips);
    const [first] = strips;
    if (!first) return html``;
    return html`
      <div class="unseen"><table class="num-twin">
        <caption>Numbers by dimension</caption>
        <thead><tr><th scope="col">dimension</th>${strips.map(({ name }) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${Array.from(first.values, (_, dim) => html`<tr><th scope="row">${dim}</th>${strips.map(({ values }) => html`<td>${exact(values[dim] ?? NaN)}</td>`)}</tr>`)}</tbody>
      </table></div>
    `;
  }
}

const newContent = (maps: MapSource, numbers: HeadNumbers, telling: number): Content =>
  ({ maps, numbers, telling, rows: new Map(), shares: new Map(), open: new Map() });

const tellingRow = async (maps: MapSource, layer: number, head: number): Promise<number> =>
  strongestRow(await overviewOf(maps, layer, head)) ?? maps.tokens.length - 1;

const kHint = html`<span class="num-hint">Point at a bar, or use the arrow keys, to follow one dimension.</span>`;

const kTitles: Readonly<Record<MatrixName, string>> = {
  queries: "all queries Q",
  keys: "all keys K",
  values: "all values V",
  scores: "all scores",
  cappedScores: "all capped scores",
  biasedScores: "all biased scores",
  maskedScores: "all masked scores",
  weights: "all weights",
  outputs: "all outputs",
};

type ScoresName = Exclude<MatrixName, "queries" | "keys" | "values" | "outputs">;

const isOfScores = (name: MatrixName): name is ScoresName => name === "weights" || name.toLowerCase().endsWith("scores");

/** The rows of one stage as one matrix. */
function joined({ numbers: { tokens, keyTokens }, rows }: Content, name: ScoresName): Float32Array {
  const values = new Float32Array(tokens.length * keyTokens.length);
  for (const [query, row] of rows) values.set(row[name], query * keyTokens.length);
  return values;
}

const percent = (share: number): string => `${(100 * share).toFixed(1).replace("-", "−")} %`;

/** The keys that are listed: all of a short row, else those with the largest weights, in the order of the text. */
function listedKeys({ weights }: RowNumbers, key: number): number[] {
  const all = Array.from(weights, (_, of) => of);
  if (all.length <= kMostKeys) return all;
  const largest = [...all].sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0)).slice(0, kMostKeys);
  return [...new Set([...largest, key])].sort((a, b) => a - b);
}

export const numbersView: ViewCode = { styles: kNumbersStyles, create: (host) => new NumbersView(host) };
