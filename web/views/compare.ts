// SPDX-License-Identifier: Apache-2.0
/** The open head beside another text, head or model, and their difference over the tokens that both have. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { draw, type Look, lookOf } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import type { CellMask } from "../maps/mask.js";
import { type Scale, scaleInWords, scaleOf } from "../maps/scale.js";
import { isReleased, type MapSource, nextTurn, type Picture } from "../maps/source.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import { toggled } from "../state/lists.js";
import { placeOf } from "../state/pins.js";
import { type Aligned, type Axis, changeOf, type Kind, kindOf, kindsOf, openOther, otherHead, proposalFor } from "./compare-other.js";
import { compareStyles } from "./compare-styles.js";
import type { Cell, Host, View, ViewCode } from "./view.js";

const kTop = 8;
const kNames: Readonly<Record<Kind, string>> = {
  text: "Another text", head: "Another head", model: "Another model", unchanged: "Without changes",
};
interface Ranked { readonly layer: number; readonly head: number; readonly mean: number }

class CompareView implements View {
  #aligned: Aligned | undefined;
  #maps: MapSource | undefined;
  #ranked: readonly Ranked[] = [];
  #done = 1;
  #looks: { key: string; weights: Look; change: Look } | undefined;

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".cmp-plot")?.focus();
  }

  heads(): readonly (readonly [number, number])[] {
    return [[this.host.state.layer, this.host.state.head]];
  }

  clear(): void {
    this.#aligned?.release();
    this.#aligned = this.#maps = this.#looks = undefined;
    this.#ranked = [];
  }

  async load(maps: MapSource, signal: AbortSignal): Promise<void> {
    if (!maps.run) throw new Error("compare: these maps have no model");
    const aligned = await openOther(maps, maps.run, this.host.state, signal);
    if (signal.aborted) {
      aligned.release();
      signal.throwIfAborted();
    }
    this.clear();
    this.#aligned = aligned;
    this.#maps = maps;
    this.host.drawn(this);
    void this.#rank(aligned).catch((error: unknown) => {
      if (this.#aligned === aligned && !isReleased(error)) this.host.fail(error);
    });
  }

  /** Ranks the heads by their mean absolute difference over the aligned cells that are not masked. */
  async #rank(aligned: Aligned): Promise<void> {
    const { difference, maps, cols } = aligned;
    if (!difference) return;
    const heads = maps.heads.flatMap((count, layer) => Array.from({ length: count }, (_, head) => ({ layer, head })));
    const ranked: Ranked[] = [];
    for (const [index, { layer, head }] of heads.entries()) {
      const change = await changeOf(difference, layer, head, aligned);
      if (this.#aligned !== aligned) return;
      const mask = maskOf(aligned, layer);
      let [sum, count] = [0, 0];
      change.forEach((value, cell) => {
        const [row, col] = [Math.floor(cell / cols.pairs.length), cell % cols.pairs.length];
        if (mask.hides(row, row + 1, col, col + 1)) return;
        sum += Math.abs(value);
        count++;
      });
      ranked.push({ layer, head, mean: count > 0 ? sum / count : 0 });
      this.#done = (index + 1) / heads.length;
      if (index % 16 !== 15) continue;
      this.host.requestUpdate();
      await nextTurn();
    }
    this.#ranked = ranked.sort((a, b) => b.mean - a.mean).slice(0, kTop);
    this.host.requestUpdate();
  }

  render(): TemplateResult {
    const aligned = this.#aligned;
    if (!aligned || !this.#maps?.run) return html``;
    const { weights, change } = this.#looksOf(aligned);
    const at = this.#place(aligned);
    return html`
      <div class="cmp" part="compare">
        ${this.#choice(this.#maps)}
        ${strips("", aligned.rows)} ${aligned.cols === aligned.rows ? nothing : strips(", source", aligned.cols)}
        <div class="cmp-maps">
          ${this.#plot("A", aligned, aligned.a, weights, at)} ${this.#plot("B", aligned, aligned.b, weights, at)}
          ${this.#plot("B − A", aligned, aligned.change, change, at)}
        </div>
        <output class="cmp-readout">${this.#readout(aligned, at)}</output>
        <p class="cmp-note">A and B: ${scaleInWords(weights.scale)}. B − A: ${scaleInWords(change.scale)}, orange is less, blue is more.</p>
        ${this.#divergence(aligned)} ${this.#heads(aligned)} ${this.#table(aligned, at.row)}
      </div>
    `;
  }

  #choice(maps: MapSource): TemplateResult {
    const { run } = maps;
    if (!run) return html``;
    const { state } = this.host;
    const now = kindOf(run, state);
    const none = { compareText: "", compareHead: "", compareModel: "" };
    const first = {
      text: { ...none, compareText: proposalFor(run) },
      head: { ...none, compareHead: otherHead(maps, state.layer, state.head) },
      model: { ...none, compareModel: run.reading.model },
      unchanged: none,
    };
    const radio = (kind: Kind): TemplateResult => html`
      <label><input type="radio" name="cmp-kind" .checked=${kind === now} @change=${(): void => this.host.change(first[kind])} />${kNames[kind]}</label>
    `;
    const field = { text: "compareText", head: "compareHead", model: "compareModel", unchanged: undefined }[now] as
      "compareText" | "compareHead" | "compareModel" | undefined;
    const change = ({ target }: Event): void => {
      if (field && target instanceof HTMLInputElement) this.host.change({ [field]: target.value });
    };
    const value = field && (state[field] || first[now][field]);
    return html`
      <div class="segments" role="radiogroup" aria-label="Compare with">${kindsOf(run).map(radio)}</div>
      ${field ? html`<input class="cmp-field" type="text" aria-label=${kNames[now]} .value=${value ?? ""} @input=${now === "text" ? change : nothing} @change=${change} />` : nothing}
    `;
  }

  #looksOf(aligned: Aligned): { weights: Look; change: Look } {
    const { a, b, change, rows, cols, layer } = aligned;
    const { colors, scaleChoice } = this.host;
    const key = JSON.stringify([colors, scaleChoice]);
    if (this.#looks?.key === key) return this.#looks;
    const [height, count] = [rows.pairs.length, cols.pairs.length];
    const most = (row: number): number =>
      Math.max(...[a, b].flatMap((of) => [...of.subarray(row * count, (row + 1) * count)]));
    const facts = {
      largest: Float32Array.from({ length: height }, (_, row) => most(row)), signed: false,
      keys: new Float32Array(height).fill(count),
    };
    const end = change.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
    const signed: Scale = { kind: "fixed", colormap: "diverging", min: -end, max: end };
    const mask = maskOf(aligned, layer);
    this.#looks = {
      key, weights: lookOf(scaleOf(scaleChoice, facts, count, 1), mask, colors), change: lookOf(signed, mask, colors),
    };
    return this.#looks;
  }

  /** The cell of aligned tokens that is looked at, or else the one that differs most. */
  #place(aligned: Aligned): Cell {
    const { maps, rows, cols, change } = aligned;
    const { row, col } = placeOf(maps, this.host.cursor, this.host.state);
    const pairOf = ({ pairs }: Axis, token: number | undefined): number => pairs.findIndex(([a]) => a === token);
    const size = cols.pairs.length;
    const most = (begin: number, end: number): number => {
      let best = begin;
      for (let cell = begin; cell < end; cell++)
        if (Math.abs(change[cell] ?? 0) > Math.abs(change[best] ?? 0)) best = cell;
      return best;
    };
    const best = most(0, change.length);
    const own = pairOf(rows, row);
    const chosen = own >= 0 ? own : Math.floor(best / size);
    const key = pairOf(cols, col);
    return { row: chosen, col: key >= 0 ? key : most(chosen * size, (chosen + 1) * size) % size };
  }

  #plot(name: string, aligned: Aligned, values: Float32Array, look: Look, at: Cell): TemplateResult {
    const [height, width] = [aligned.rows.pairs.length, aligned.cols.pairs.length];
    const picture = pictureOf(values, height, width);
    const cell = ({ clientX, clientY, currentTarget }: MouseEvent): Cell => {
      const box = (currentTarget as Element).getBoundingClientRect();
      const place = (share: number, of: number): number => Math.min(Math.max(Math.floor(share * of), 0), of - 1);
      const [right, down] = [(clientX - box.left) / box.width, (clientY - box.top) / box.height];
      return { row: place(down, height), col: place(right, width) };
    };
    return html`
      <figure class="cmp-figure">
        <figcaption>${name}</figcaption>
        <div class="cmp-plot" role="application" tabindex=${name === "A" ? 0 : -1} .style=${`--row: ${at.row}; --col: ${at.col}; --rows: ${height}; --cols: ${width}`}
          aria-label=${`${name}: ${height === width ? height : `${height} × ${width}`} aligned tokens. Arrow keys move, Enter pins, Escape frees.`}
          @pointermove=${(event: MouseEvent): void => this.#point(aligned, cell(event))}
          @pointerleave=${(): void => this.host.point(undefined)}
          @click=${(event: MouseEvent): void => this.#pin(aligned, cell(event), event.shiftKey)}
          @keydown=${(event: KeyboardEvent): void => this.#onKey(event, aligned, at)}>
          <canvas ${draw(picture, look)}></canvas><i class="cmp-cell"></i>
        </div>
      </figure>
    `;
  }

  #point({ rows, cols }: Aligned, { row, col }: Cell): void {
    this.host.point({ row: rows.pairs[row]?.[0], col: cols.pairs[col]?.[0] });
  }

  #pin({ rows, cols }: Aligned, { row, col }: Cell, isAdded: boolean): void {
    const query = String(rows.pairs[row]?.[0] ?? "");
    this.host.change({ query: isAdded ? toggled(this.host.state.query, query) : query, key: String(cols.pairs[col]?.[0] ?? "") });
  }

  #onKey(event: KeyboardEvent, aligned: Aligned, { row, col }: Cell): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const [bottom, right] = [aligned.rows.pairs.length - 1, aligned.cols.pairs.length - 1];
    const moves: Record<string, Cell> = {
      ArrowUp: { row: Math.max(row - 1, 0), col }, ArrowDown: { row: Math.min(row + 1, bottom), col },
      ArrowLeft: { row, col: Math.max(col - 1, 0) }, ArrowRight: { row, col: Math.min(col + 1, right) },
    };
    const move = moves[event.key];
    const { layer, head, ablate } = this.host.state;
    if (move) this.#point(aligned, move);
    else if (event.key === "Enter" || event.key === "p") this.#pin(aligned, { row, col }, event.shiftKey);
    else if (event.key === "Escape") this.host.change({ query: "", key: "" });
    else if (event.key === "s") this.host.change({ ablate: toggled(ablate, `${layer}.${head}`) });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #readout({ rows, cols, a, b, change }: Aligned, { row, col }: Cell): string {
    const cell = row * cols.pairs.length + col;
    const [inA, inB, less] = [a, b, change].map((of) => formatValue(of[cell] ?? NaN));
    return `${nameIn(rows, row)} → ${nameIn(cols, col)}: A ${inA}, B ${inB}, B − A ${less}`;
  }

  #divergence(aligned: Aligned): TemplateResult | typeof nothing {
    const { divergences, rows: { pairs, a: tokensA } } = aligned;
    if (!divergences) return nothing;
    const most = Math.max(...divergences.subarray(0, pairs.length)) || 1;
    const bar = ([token]: readonly [number, number], pair: number): TemplateResult => {
      const value = divergences[pair] ?? 0;
      return html`<li><button @click=${(): void => this.host.change({ query: String(token) })}>
        <span class="cmp-bar" .style=${`--share: ${value / most}`}></span>${tokenLabel(tokensA[token] ?? "")}<small>${formatValue(value, 3)}</small>
      </button></li>`;
    };
    return html`<section aria-label="Change of the next-token prediction">
      <p class="cmp-note">How far the next-token prediction moves, in nats</p><ol class="cmp-kl">${pairs.map(bar)}</ol></section>`;
  }

  #heads({ difference }: Aligned): TemplateResult | typeof nothing {
    if (!difference) return nothing;
    const one = ({ layer, head, mean }: Ranked): TemplateResult =>
      html`<li><button @click=${(): void => this.host.showHead(layer, head)}>${layer}.${head} <small>${formatValue(mean)}</small></button></li>`;
    return html`<section aria-label="Heads that differ most"><p class="cmp-note">Heads that differ most, on average</p>
      ${this.#ranked.length > 0 ? html`<ol class="cmp-heads">${this.#ranked.map(one)}</ol>` : html`<progress aria-label="Comparing heads" .value=${this.#done}></progress>`}</section>`;
  }

  #table({ rows, cols, a, b, change }: Aligned, row: number): TemplateResult {
    const line = (_: unknown, col: number): TemplateResult => {
      const cell = row * cols.pairs.length + col;
      return html`<tr><th scope="row">${nameIn(cols, col)}</th>${[a, b, change].map((of) => html`<td>${formatValue(of[cell] ?? NaN)}</td>`)}</tr>`;
    };
    return html`<div class="unseen"><table class="cmp-table"><caption>${nameIn(rows, row)} looks at</caption>
      <thead><tr><th scope="col">Key</th><th scope="col">A</th><th scope="col">B</th><th scope="col">Difference</th></tr></thead>
      <tbody>${cols.pairs.map(line)}</tbody></table></div>`;
  }
}

/** The mask of a layer among aligned tokens. */
function maskOf({ maps, rows, cols }: Aligned, layer: number): CellMask {
  const own = maps.maskOf(layer);
  const at = ({ pairs }: Axis, pair: number): number => pairs[pair]?.[0] ?? 0;
  return {
    hides: (top, _, begin) => own.hides(at(rows, top), at(rows, top) + 1, at(cols, begin), at(cols, begin) + 1),
  };
}

/** The token of a pair, as A has it. */
const nameIn = ({ a, pairs }: Axis, pair: number): string => tokenName(a[pairs[pair]?.[0] ?? 0] ?? "");

const pictures = new WeakMap<Float32Array, Picture>();

/** The same object for the same numbers, so that they are painted once. */
function pictureOf(values: Float32Array, height: number, width: number): Picture {
  const part = { rows: [0, height], cols: [0, width] } as const;
  const known = pictures.get(values) ?? { part, size: [height, width], values };
  pictures.set(values, known);
  return known;
}

/** The tokens of both, of which `what` says more than that. */
function strips(what: string, { a, b, pairs }: Axis): TemplateResult {
  const partners = (side: 0 | 1): Set<number> => new Set(pairs.map((pair) => pair[side]));
  if (a.length === b.length && a.every((token, index) => token === b[index]))
    return strip(`A and B${what}`, a, partners(0));
  return html`${strip(`A${what}`, a, partners(0))} ${strip(`B${what}`, b, partners(1))}`;
}

function strip(name: string, tokens: readonly string[], partners: ReadonlySet<number>): TemplateResult {
  const token = (text: string, index: number): TemplateResult =>
    partners.has(index) ? html`${tokenLabel(text)}` : html`<del>${tokenLabel(text)}<span class="unseen"> has no partner</span></del>`;
  return html`<p class="cmp-strip"><b>${name}</b> ${tokens.map(token)}</p>`;
}

export const compareView: ViewCode = { styles: compareStyles, create: (host) => new CompareView(host) };
