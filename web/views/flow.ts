// SPDX-License-Identifier: Apache-2.0
/** Each token of the input contributes to the chosen token through all layers, by rollout, flow or norms. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { formatValue } from "../maps/format.js";
import type { MapSource } from "../maps/source.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import { pinnedRows } from "../state/pins.js";
import {
  type Choice, type Fusion, kFusions, kMethods, kMostOfFlow, kMostTokens, type Line, linesOf,
  type Method, mix, type Mixed, sharesOf,
} from "./flow-data.js";
import { type Box, drawLines, nearestNode } from "./flow-lines.js";
import type { RunMaps } from "./followed.js";
import { free } from "./place.js";
import { Roving } from "./roving.js";
import { kScrolledStyles } from "./scrolled.js";
import { kTokenRowStyles, tokenRow } from "./token-row.js";
import type { Host, View, ViewCode } from "./view.js";

/** Lines with a smaller share are not drawn. */
const kLeast = 0.01;
/** The most tokens of the table that is read aloud. */
const kRead = 64;

const kNames: Readonly<Record<Method, string>> = { rollout: "rollout", flow: "flow", norms: "rollout of norms" };

const kMeanings: Readonly<Record<Method, string>> = {
  rollout: "Each layer keeps half of a token and brings half by its heads’ weights, and the layers are multiplied (Abnar & Zuidema 2020).",
  flow: "The layers’ weights are capacities, and the number is the largest flow from a token to the chosen one (Abnar & Zuidema 2020). The lines below are those of rollout.",
  norms: "As rollout, with the norms of what each token adds to another in place of weights (Kobayashi et al. 2020), so that all heads are one map.",
};

/** The reason why these maps have no rollout; undefined when they do. */
function whyNothing({ run, tokens }: RunMaps): string | undefined {
  if (run.shown === "cross")
    return "Cross-attention leads from one text to another, so its layers do not follow on one another: rollout is of the encoder or the decoder.";
  if (tokens.length > kMostTokens)
    return `This text has ${tokens.length} tokens. Rollout multiplies whole maps of all layers, so it is computed for at most ${kMostTokens} tokens.`;
  return undefined;
}

/** The numbers that are drawn for a chosen token and a depth. */
interface Derived {
  readonly key: string;
  readonly mixed: Mixed;
  readonly shares: readonly Float32Array[];
  readonly lines: readonly Line[];
}

/** A token of a layer. */
interface Node {
  readonly layer: number;
  readonly token: number;
}

class FlowView implements View {
  #maps: RunMaps | undefined;
  #mixed: Mixed | undefined;
  #choice: Choice = { method: "rollout", fusion: "mean", discardRatio: 0, startLayer: 0 };
  /** The number of layers that are counted; undefined for all. */
  #depth: number | undefined;
  #work: AbortController | undefined;
  #done: number | undefined;
  #node: Node | undefined;
  #derived: Derived | undefined;
  readonly #stop = new Roving(() => this.host.requestUpdate());

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".flow .tokens-one[tabindex='0']")?.focus();
  }

  clear(): void {
    this.#work?.abort();
    this.#work = this.#maps = this.#mixed = this.#derived = this.#node = this.#done = undefined;
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    const of = maps as RunMaps;
    if (whyNothing(of) === undefined && (of !== this.#maps || !this.#mixed)) {
      const choice = this.#fitting(of);
      const mixed = await mix(of, choice, signal, () => undefined);
      this.#work?.abort();
      this.#depth = this.#node = this.#done = undefined;
      [this.#choice, this.#mixed] = [choice, mixed];
    }
    this.#maps = of;
    this.host.drawn(this);
  }

  /** The choice of the reader, as far as these maps have it. */
  #fitting({ heads, tokens }: RunMaps): Choice {
    const { method, startLayer } = this.#choice;
    return {
      ...this.#choice,
      method: method === "flow" && tokens.length > kMostOfFlow ? "rollout" : method,
      startLayer: Math.min(startLayer, heads.length - 1),
    };
  }

  async #choose(change: Partial<Choice>): Promise<void> {
    const maps = this.#maps;
    if (!maps) return;
    this.#choice = { ...this.#choice, ...change };
    this.#work?.abort();
    const work = (this.#work = new AbortController());
    try {
      const mixed = await mix(maps, this.#choice, work.signal, (done) => {
        this.#done = done;
        this.host.requestUpdate();
      });
      this.#depth = this.#node = this.#done = undefined;
      this.#mixed = mixed;
      this.host.drawn(this);
    } catch (error) {
      if (!work.signal.aborted) this.host.fail(error);
    }
  }

  /** The chosen token: the last pinned one, or else the last of the text, or a picture's class token. */
  #token({ run, tokens }: RunMaps): number {
    const usual = run.info.image ? 0 : tokens.length - 1;
    return pinnedRows({ tokens, keyTokens: tokens }, this.host.state).at(-1) ?? usual;
  }

  #numbers(mixed: Mixed, token: number, depth: number): Derived {
    const key = `${token} ${depth}`;
    if (this.#derived?.mixed !== mixed || this.#derived.key !== key) {
      const shares = sharesOf(mixed, token, depth);
      this.#derived = { key, mixed, shares, lines: linesOf(mixed, shares, kLeast) };
    }
    return this.#derived;
  }

  render(): TemplateResult {
    const maps = this.#maps;
    if (!maps) return html``;
    const reason = whyNothing(maps);
    if (reason !== undefined) return html`<p class="flow-none" part="flow">${reason}</p>`;
    const mixed = this.#mixed;
    if (!mixed) return html``;
    const { tokens } = maps;
    const token = this.#token(maps);
    const isFlow = mixed.flow !== undefined;
    const depth = isFlow ? mixed.layers.length : Math.min(this.#depth ?? Infinity, mixed.layers.length);
    const { shares, lines } = this.#numbers(mixed, token, depth);
    const count = tokens.length;
    const reached = mixed.flow?.subarray(token * count, (token + 1) * count);
    const values = reached ?? shares[0] ?? new Float32Array();
    const best = values.reduce((most, value, index) => (value > (values[most] ?? NaN) ? index : most), 0);
    const name = tokenName(tokens[token] ?? "");
    const { method } = mixed.choice;
    return html`
      <section class="flow" part="flow" @keydown=${this.#onKey}>
        ${this.#controls(maps)}
        <p class="flow-title" aria-live="polite">By ${kNames[method]}, ${name} gets most from ${best === token ? "itself" : tokenName(tokens[best] ?? "")}: ${formatValue(values[best] ?? NaN, 3)}</p>
        <p class="flow-note">${kMeanings[method]} It is an estimate of influence and not an effect: attention can be changed a lot without changing what a
          model predicts (Jain & Wallace 2019). The view Effect measures effects.${maps.run.info.encoder && maps.run.shown === "decoder" ? " What cross-attention brings from the source is left out." : ""}</p>
        ${tokenRow({
          label: `What ${name} is made of`, tokens, values, colors: this.host.colors, chosen: [token], roving: this.#stop,
          meaning: isFlow ? "flow" : "share", pick: (index) => this.host.change({ query: String(index) }),
          point: (col) => this.#point(col === undefined ? undefined : { layer: 0, token: col }),
        })}
        ${this.#scrubber(mixed, depth)}
        ${this.#columns(maps, shares, lines, token)}
        ${table(tokens, shares, this.#choice.startLayer, name)}
      </section>
    `;
  }

  #controls({ heads, tokens, run }: RunMaps): TemplateResult {
    const { method, fusion, discardRatio, startLayer } = this.#choice;
    const hasFlow = tokens.length <= kMostOfFlow;
    const one = (of: Method): TemplateResult => html`
      <label><input type="radio" name="flow-method" .checked=${of === method} ?disabled=${of === "flow" && !hasFlow}
        @change=${(): void => void this.#choose({ method: of })}>${kNames[of]}</label>
    `;
    const select = (event: Event): string => (event.target as HTMLSelectElement).value;
    const layers = heads.map((_, layer) => html`<option value=${layer} .selected=${layer === startLayer}>${layer}</option>`);
    return html`
      <div class="flow-controls">
        <fieldset><legend class="unseen">Method</legend>${kMethods.filter((of) => of !== "norms" || !run.info.encoder).map(one)}</fieldset>
        ${method === "norms" ? nothing : html`<label>heads
          <select @change=${(event: Event): void => void this.#choose({ fusion: select(event) as Fusion })}>
            ${kFusions.map((of) => html`<option value=${of} .selected=${of === fusion}>${of}</option>`)}
          </select></label>`}
        <label>leave out the smallest
          <select @change=${(event: Event): void => void this.#choose({ discardRatio: Number(select(event)) })}>
            ${[0, 0.5, 0.8, 0.9, 0.95].map((of) => html`<option value=${of} .selected=${of === discardRatio}>${Math.round(100 * of)} %</option>`)}
          </select></label>
        <label>from layer <select @change=${(event: Event): void => void this.#choose({ startLayer: Number(select(event)) })}>${layers}</select></label>
        ${this.#done === undefined ? nothing : html`<progress aria-label="Layers" .value=${this.#done}></progress>`}
      </div>
      ${hasFlow ? nothing : html`<p class="flow-note">Flow is computed for at most ${kMostOfFlow} tokens, and this text has ${tokens.length}: rollout has no such limit.</p>`}
    `;
  }

  #scrubber({ layers, flow, choice: { startLayer } }: Mixed, depth: number): TemplateResult | typeof nothing {
    if (flow || layers.length < 2) return nothing;
    const onInput = (event: Event): void => {
      this.#depth = Number((event.target as HTMLInputElement).value);
      this.host.requestUpdate();
    };
    return html`<label class="flow-depth">after layer ${startLayer + depth - 1}
      <input type="range" min="1" max=${layers.length} step="1" .value=${String(depth)} @input=${onInput}></label>`;
  }

  #columns(
    { tokens }: RunMaps, shares: readonly Float32Array[], lines: readonly Line[], token: number,
  ): TemplateResult {
    const pitch = tokens.length <= 48 ? 24 : tokens.length <= 128 ? 12 : 5;
    const names = Math.min(144, this.host.room.width * 0.35);
    const width = Math.max(120, this.host.room.width - names - 8);
    const box: Box = { width, pitch, count: tokens.length, steps: shares.length };
    const node = this.#node && this.#node.layer < shares.length ? this.#node : undefined;
    const place = (event: PointerEvent): void =>
      this.#point(nearestNode(box, event.offsetX, event.offsetY));
    const label = "Columns of tokens, from the input on the left to the chosen token on the right. Arrow keys move, Enter pins.";
    const { theme } = this.host.colors;
    return html`
      <p class="flow-readout" role="status">${node ? this.#read(tokens, shares, node, token) : `Lines carry at least ${100 * kLeast} %: point at a token of a layer to read its share.`}</p>
      <div class="flow-columns scrolled" .style=${`--names: ${names}px; --pitch: ${pitch}px; --height: ${pitch * tokens.length}px`}>
        <div class="flow-names" aria-hidden="true">${pitch < 24 ? nothing : tokens.map((of, index) =>
          html`<span class=${index === token ? "chosen" : ""}>${tokenLabel(of)}</span>`)}</div>
        <div class="flow-plot" role="group" tabindex="0" aria-label=${label} @keydown=${(event: KeyboardEvent): void => this.#move(event, shares.length, tokens.length, token)}
          @pointermove=${place} @pointerdown=${place} @pointerleave=${(): void => this.#point(undefined)}
          @click=${(): void => { if (this.#node) this.host.change({ query: String(this.#node.token) }); }}
        ><canvas class="fine" ${drawLines(box, shares, lines, node, theme)}></canvas></div>
      </div>
      <div class="flow-steps" aria-hidden="true" .style=${`--names: ${names}px`}>${shares.map((_, step) => html`<span>${step === 0 ? "in" : `L${this.#choice.startLayer + step - 1}`}</span>`)}</div>
    `;
  }

  #read(
    tokens: readonly string[], shares: readonly Float32Array[], { layer, token: at }: Node, token: number,
  ): string {
    const place = layer === 0 ? "in the input" : `after layer ${this.#choice.startLayer + layer - 1}`;
    return `${tokenName(tokens[at] ?? "")} ${place}: ${formatValue(shares[layer]?.[at] ?? NaN, 4)} of ${tokenName(tokens[token] ?? "")}`;
  }

  #point(node: Node | undefined): void {
    this.#node = node;
    this.host.point(node && { row: undefined, col: node.token });
    this.host.requestUpdate();
  }

  #move(event: KeyboardEvent, steps: number, count: number, chosen: number): void {
    const { layer, token } = this.#node ?? { layer: steps - 1, token: chosen };
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
    };
    const move = moves[event.key];
    const inside = (value: number, most: number): number => Math.max(0, Math.min(value, most - 1));
    if (move) this.#point({ layer: inside(layer + move[0], steps), token: inside(token + move[1], count) });
    else if (event.key === "Enter" || event.key === "p") this.host.change({ query: String(token) });
    else return;
    event.preventDefault();
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && free(this.host)) event.preventDefault();
  };
}

/** The same numbers for readers who hear them, of the tokens with the largest shares. */
function table(
  tokens: readonly string[], shares: readonly Float32Array[], first: number, name: string,
): TemplateResult {
  const largest = (token: number): number => Math.max(...shares.map((of) => of[token] ?? 0));
  const order = [...tokens.keys()].sort((a, b) => largest(b) - largest(a)).slice(0, kRead).sort((a, b) => a - b);
  const row = (token: number): TemplateResult =>
    html`<tr><th scope="row">${tokenName(tokens[token] ?? "")}</th>${shares.map((of) => html`<td>${formatValue(of[token] ?? NaN, 3)}</td>`)}</tr>`;
  return html`
    <div class="unseen"><table class="flow-table">
      <caption>Shares of ${name} by token and layer${order.length < tokens.length ? `, the ${kRead} largest of ${tokens.length} tokens` : ""}</caption>
      <thead><tr><th scope="col">token</th>${shares.map((_, step) => html`<th scope="col">${step === 0 ? "input" : `after layer ${first + step - 1}`}</th>`)}</tr></thead>
      <tbody>${order.map(row)}</tbody>
    </table></div>
  `;
}

const own = css`
  ${kScrolledStyles}
  .flow-none,
  .flow-note {
    margin: 0 0 8px;
    color: var(--faint);
    font-size: 13px;
  }
  .flow-controls {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 16px;
    margin-bottom: 8px;
  }
  .flow-controls fieldset {
    display: flex;
    flex-wrap: wrap;
    gap: 4px 12px;
    margin: 0;
    padding: 0;
    border: 0;
  }
  .flow-controls label,
  .flow-depth {
    display: inline-flex;
    align-items: center;
    gap: 4px;
    min-height: 24px;
  }
  .flow-depth {
    margin-top: 8px;
  }
  .flow-title {
    margin: 0 0 4px;
    font: 600 16px/24px system-ui, sans-serif;
  }
  .flow-readout {
    min-height: 24px;
    margin: 8px 0 4px;
    font-variant-numeric: tabular-nums;
  }
  .flow-columns {
    display: grid;
    grid-template-columns: var(--names) minmax(0, 1fr);
    gap: 8px;
    max-height: 640px;
    overflow: auto;
    direction: ltr;
  }
  .flow-names {
    height: var(--height);
    font-size: 13px;
    line-height: var(--pitch);
    text-align: end;
  }
  .flow-names span {
    display: block;
    overflow: hidden;
    height: var(--pitch);
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .flow-names .chosen {
    color: var(--accent);
    font-weight: 600;
  }
  .flow-plot {
    height: var(--height);
    color: var(--accent);
    cursor: crosshair;
  }
  .flow-plot:focus-visible {
    outline-offset: -2px;
  }
  .flow-steps {
    display: flex;
    justify-content: space-between;
    padding-inline-start: calc(var(--names) + 8px);
    color: var(--faint);
    font: 12px/20px var(--mono);
    direction: ltr;
  }
  @media (pointer: coarse) {
    .flow-controls label,
    .flow-depth {
      min-height: 44px;
    }
  }
`;

export const flowView: ViewCode = { styles: css`${kTokenRowStyles}${own}`, create: (host) => new FlowView(host) };
