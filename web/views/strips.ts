// SPDX-License-Identifier: Apache-2.0
/** A head as two strips of its text, which head links two tokens, and a search for a token in the maps of all heads. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { formatValue } from "../maps/format.js";
import type { MapSource } from "../maps/source.js";
import { tokenName } from "../maps/tokens.js";
import { isEqual } from "../state/lists.js";
import { pinnedCols, pinnedRows, placeOf } from "../state/pins.js";
import { afterPaint } from "./after-paint.js";
import { onPlaceKey } from "./place.js";
import { Roving } from "./roving.js";
import { kScrolledStyles } from "./scrolled.js";
import { type Cells, cellsOf, keyMeans, kMostTokens, largestOf, pairMeans, queryMeans } from "./strips-data.js";
import { searchStyles, TokenSearch } from "./strips-search.js";
import { kTokenRowStyles, mostOf, tintOf, tokenRow } from "./token-row.js";
import type { Host, View, ViewCode } from "./view.js";

/** Pairs of more tokens than this on a side are those that were chosen last. */
const kMostPinned = 16;

interface Pair {
  readonly queries: readonly number[];
  readonly keys: readonly number[];
}

interface PairMeans extends Pair {
  /** The mean weight of the pair in each head, as [layer][head]. */
  readonly means: readonly (readonly number[])[];
}

interface Content {
  /** The maps and the parts of the state that it was fetched for. */
  readonly of: readonly unknown[];
  readonly maps: MapSource;
  readonly cells: Cells;
  /** The strips of the whole head. */
  readonly whole: { readonly keys: readonly number[]; readonly queries: readonly number[] };
  readonly pair: PairMeans;
}

class StripsView implements View {
  #content: Content | undefined;
  /** True once all is drawn, and not only the tokens that are looked at. */
  #isWhole = false;
  readonly #search: TokenSearch;
  readonly #queryStop = new Roving(() => this.host.requestUpdate());
  readonly #keyStop = new Roving(() => this.host.requestUpdate());
  readonly #headStop = new Roving(() => this.host.requestUpdate());

  constructor(private readonly host: Host) {
    this.#search = new TokenSearch(host, (layer, head, key) => this.#open(layer, head, key));
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".strips .tokens-one[tabindex='0']")?.focus();
  }

  heads(): readonly (readonly [number, number])[] {
    return [[this.host.state.layer, this.host.state.head]];
  }

  clear(): void {
    this.#search.clear();
    this.#content = undefined;
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    this.#isWhole = this.host.renderRoot.querySelector(".strips") !== null;
    await this.prepare(maps);
    signal.throwIfAborted();
    this.host.drawn(this);
    if (!this.#isWhole) {
      await afterPaint();
      signal.throwIfAborted();
      this.#isWhole = true;
      this.host.requestUpdate();
    }
    this.#search.of(maps);
  }

  async prepare(maps: MapSource): Promise<void> {
    const { layer, head, query, key } = this.host.state;
    const of = [maps, layer, head, query, key];
    if (this.#content && isEqual(this.#content.of, of)) return;
    const cells = await cellsOf(maps, layer, head);
    const pair = this.#pairOf(maps, cells);
    const means = await pairMeans(maps, pair.queries, pair.keys);
    if (maps !== this.#content?.maps) this.clear();
    const whole = { keys: keyMeans(cells), queries: largestOf(cells) };
    this.#content = { of, maps, cells, whole, pair: { ...pair, means } };
  }

  /** The pinned queries and keys, or else those of the head's strongest link. */
  #pairOf(maps: MapSource, cells: Cells): Pair {
    const { rows, cols, values } = cells;
    const queries = pinnedRows(maps, this.host.state).filter((row) => row < rows).slice(-kMostPinned);
    const keys = pinnedCols(maps, this.host.state).filter((col) => col < cols).slice(-kMostPinned);
    if (queries.length > 0 && keys.length > 0) return { queries, keys };
    const strongest = (places: readonly number[], at: (place: number) => number): number =>
      places.reduce((best, place) => (at(place) > at(best) || Number.isNaN(at(best)) ? place : best), places[0] ?? 0);
    const all = (count: number): number[] => Array.from({ length: count }, (_, place) => place);
    if (queries.length > 0) {
      const means = keyMeans(cells, queries);
      return { queries, keys: [strongest(all(cols), (col) => means[col] ?? NaN)] };
    }
    if (keys.length > 0) {
      const means = queryMeans(cells, keys);
      return { queries: [strongest(all(rows), (row) => means[row] ?? NaN)], keys };
    }
    // The first row of a causal map has no choice, so it is no telling one.
    const hasChoice = (row: number): boolean =>
      values.subarray(row * cols, (row + 1) * cols).filter((value) => !Number.isNaN(value)).length > 1;
    const largest = largestOf(cells);
    const row = strongest(all(rows), (place) => (hasChoice(place) ? (largest[place] ?? NaN) : NaN));
    return { queries: [row], keys: [strongest(all(cols), (col) => values[row * cols + col] ?? NaN)] };
  }

  render(): TemplateResult {
    const content = this.#content;
    if (!content) return html``;
    const { maps, cells, pair } = content;
    const { cursor, state } = this.host;
    const queries = pinnedRows(maps, state).filter((row) => row < cells.rows);
    const keys = pinnedCols(maps, state).filter((col) => col < cells.cols);
    const at = placeOf(maps, cursor, state);
    // A pin comes before what is under the pointer.
    const rows = queries.length > 0 ? queries : at.row !== undefined && at.row < cells.rows ? [at.row] : [];
    const cols = keys.length > 0 ? keys : at.col !== undefined && at.col < cells.cols ? [at.col] : [];
    return html`
      <section class="strips" part="strips" @keydown=${this.#onKey}>
        ${this.#limit(maps)} ${this.#lookedAt(content, rows, keys)}
        ${this.#isWhole ? html`${this.#looking(content, cols, queries)} ${this.#pairTable(maps, pair)} ${this.#search.render(maps)}` : nothing}
      </section>
    `;
  }

  /** The row of keys. They are tinted by the mean of `rows`, or by that of all rows where there are none. */
  #lookedAt({ maps, cells, whole }: Content, rows: readonly number[], chosen: readonly number[]): TemplateResult {
    const isOfAll = rows.length === 0;
    return html`
      <p class="strips-title">Looked at</p>
      <p class="strips-note">${
        isOfAll
          ? "Each token’s column: the mean weight over the queries that may see it."
          : `How much ${namesOf(rows, maps.tokens)} ${rows.length > 1 ? "look on average" : "looks"} at each token.`
      }</p>
      ${tokenRow({
        label: "Tokens that are looked at", tokens: maps.keyTokens.slice(0, cells.cols), colors: this.host.colors,
        values: isOfAll ? whole.keys : keyMeans(cells, rows), chosen, roving: this.#keyStop,
        meaning: isOfAll ? "mean weight" : "weight", pick: this.#pickKey,
        point: (col) => this.host.point(col === undefined ? undefined : { row: undefined, col }),
      })}
    `;
  }

  /** The row of queries. They are tinted by the mean of `cols`, or by their largest weights where there are none. */
  #looking({ maps, cells, whole }: Content, cols: readonly number[], chosen: readonly number[]): TemplateResult {
    const isOfAll = cols.length === 0;
    return html`
      <p class="strips-title">Looking</p>
      <p class="strips-note">${
        isOfAll
          ? "Each token’s largest weight: near 1 it looks at one token, and the smaller it is, the more it spreads."
          : `How much each token looks at ${namesOf(cols, maps.keyTokens)}${cols.length > 1 ? " on average" : ""}.`
      }</p>
      ${tokenRow({
        label: "Tokens that look", tokens: maps.tokens.slice(0, cells.rows), colors: this.host.colors,
        values: isOfAll ? whole.queries : queryMeans(cells, cols), chosen, roving: this.#queryStop,
        meaning: isOfAll ? "largest weight" : "weight", pick: this.#pickQuery,
        point: (row) => this.host.point(row === undefined ? undefined : { row, col: undefined }),
      })}
    `;
  }

  #limit({ tokens, keyTokens }: MapSource): TemplateResult | typeof nothing {
    const count = Math.max(tokens.length, keyTokens.length);
    if (count <= kMostTokens) return nothing;
    return html`<p class="strips-note">The first ${kMostTokens} of ${count} tokens: all numbers here are of these.</p>`;
  }

  #pairTable({ tokens, keyTokens }: MapSource, { queries, keys, means }: PairMeans): TemplateResult {
    const most = mostOf(means.flat());
    const isSigned = means.flat().some((value) => value < 0);
    const widest = Math.max(...means.map((row) => row.length));
    const { layer: openLayer, head: openHead } = this.host.state;
    const places = means.flatMap((row, layer) => row.map((_, head) => `${layer}.${head}`));
    const stop = this.#headStop.at(places.length);
    const cell = (value: number, layer: number, head: number): TemplateResult => {
      const index = places.indexOf(`${layer}.${head}`);
      const number = Number.isNaN(value) ? "–" : formatValue(value, 2);
      const isOpen = layer === openLayer && head === openHead;
      return html`<td><button
        data-stop=${index} tabindex=${index === stop ? 0 : -1} aria-current=${isOpen ? "true" : "false"}
        aria-label=${`Head ${layer}.${head}: ${number}`} .style=${tintOf(value, most, this.host.colors, isSigned)}
        @click=${(): void => this.host.showHead(layer, head)}
      >${number}</button></td>`;
    };
    return html`
      <p class="strips-title">Which heads link ${namesOf(queries, tokens)} to ${namesOf(keys, keyTokens)}</p>
      <p class="strips-note">${queries.length * keys.length > 1 ? "Mean weight over these pairs" : "The weight"} in every head; one opens when it is chosen.</p>
      <div class="strips-scroll scrolled" @keydown=${this.#headStop.onKey} @focusin=${this.#headStop.onFocus}>
        <table class="strips-heads">
          <thead><tr><th scope="col">layer</th>${Array.from({ length: widest }, (_, head) => html`<th scope="col">H${head}</th>`)}</tr></thead>
          <tbody>${means.map((row, layer) => html`<tr><th scope="row">L${layer}</th>${row.map((value, head) => cell(value, layer, head))}</tr>`)}</tbody>
        </table>
      </div>
    `;
  }

  // These methods answer the reader.

  #open(layer: number, head: number, key: number): void {
    this.host.change({ key: String(key) });
    this.host.showHead(layer, head);
  }

  readonly #pickQuery = (row: number, event: MouseEvent): void => {
    const before = this.#content ? pinnedRows(this.#content.maps, this.host.state) : [];
    this.host.change({ query: picked(before, row, event.shiftKey).join(" ") });
  };

  readonly #pickKey = (col: number, event: MouseEvent): void => {
    const before = this.#content ? pinnedCols(this.#content.maps, this.host.state) : [];
    this.host.change({ key: picked(before, col, event.shiftKey).join(" ") });
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    const { queries = [], keys = [] } = this.#content?.pair ?? {};
    onPlaceKey(event, this.host, { row: queries.at(-1) ?? 0, col: keys.at(-1) });
  };
}

const namesOf = (places: readonly number[], tokens: readonly string[]): string =>
  places.map((place) => tokenName(tokens[place] ?? "")).join(", ");

/** The chosen places after a click on one: it alone or none, and with Shift, with or without it. */
function picked(before: readonly number[], place: number, isMore: boolean): readonly number[] {
  const has = before.includes(place);
  if (!isMore) return has && before.length === 1 ? [] : [place];
  return has ? before.filter((other) => other !== place) : [...before, place];
}

const own = css`
  ${kScrolledStyles}
  .strips .strips-title {
    margin: 16px 0 0;
    font: 600 14px/24px system-ui, sans-serif;
  }
  .strips .strips-title:first-child {
    margin-top: 0;
  }
  .strips-note {
    margin: 0 0 4px;
    color: var(--faint);
    font-size: 13px;
  }
  .strips-scroll {
    overflow: auto;
    direction: ltr;
  }
  .strips-heads {
    border-collapse: collapse;
    font: 12px/16px var(--mono);
  }
  .strips-heads th {
    padding: 2px 6px;
    color: var(--faint);
    font-weight: 400;
  }
  .strips-heads td {
    padding: 1px;
  }
  .strips-heads button {
    min-width: 44px;
    min-height: 28px;
    border: 2px solid transparent;
    background: var(--tint, transparent);
    color: var(--ink-on-tint, var(--ink));
  }
  .strips-heads button[aria-current="true"] {
    border-color: var(--accent);
    text-decoration: underline;
  }
  @media (pointer: coarse) {
    .strips-heads button {
      min-height: 44px;
    }
  }
`;

export const stripsView: ViewCode = {
  styles: css`${kTokenRowStyles}${own}${searchStyles}`,
  create: (host) => new StripsView(host),
};
