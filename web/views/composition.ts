// SPDX-License-Identifier: Apache-2.0
/** Heads that read what earlier heads wrote, as arcs between dots: on this text, or from the model's weights alone. */
import { css, html, nothing, svg } from "lit";
import type { SVGTemplateResult, TemplateResult } from "lit";
import { draw, Looks } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import type { MapSource, Overview } from "../maps/source.js";
import { tokenName } from "../maps/tokens.js";
import { headName } from "../state/lists.js";
import { type Arc, computeScores, type Kind, kKinds, knownScores, type Shared, sharedOf, textArcs } from "./composition-data.js";
import type { RunMaps } from "./followed.js";
import { Roving } from "./roving.js";
import type { Host, View, ViewCode } from "./view.js";

const kRanks = ["induction", "share"] as const;
type Shown = (typeof kRanks)[number] | Kind;

/** A pair is called previous-token and induction head from these on, which are the thresholds of heads’ names. */
const kLeastPrevious = 0.6;
const kLeastInduction = 0.4;

const kMost = 50;
const kFew = 10;
/** The most tokens of a text whose paths are searched. */
const kMostTokens = 512;
/** The distance of layers, and the blocks of a small map, in pixels. */
const kStep = 64;
const kSmall = 160;

const kTitles: Readonly<Record<Shown, string>> = {
  induction: "previous → induction", share: "all paths", query: "queries", key: "keys", value: "values",
};
const kThrough: Readonly<Record<Kind, string>> = { query: "queries", key: "keys", value: "values" };

const isRank = (shown: Shown): shown is (typeof kRanks)[number] => shown === "induction" || shown === "share";
const arcKey = ({ earlier, later, kind }: Arc): string => `${headName(earlier)} ${headName(later)} ${kind}`;

/** A path as it is read in the list. */
function inWords({ earlier, later, kind, value, path }: Arc): string {
  const number = (name: string, of: number | null | undefined): string => (of === undefined ? "" : `, ${name} ${of === null ? "none" : formatValue(of, 2)}`);
  const numbers = path
    ? `${number("share", path.share)}${number("weights", path.weights)}${number("previous", path.previous)}${number("induction", path.induction)}`
    : number("score", value);
  return `${headName(earlier)} → ${headName(later)} through ${kThrough[kind]}: ${numbers.slice(2)}`;
}

/** The reason why nothing is shown of this run; undefined where something is. */
function whyNothing({ run, tokens }: RunMaps): string | undefined {
  if (run.info.encoder) return "The heads of an encoder–decoder read from two streams, and their composition is not computed.";
  if (tokens.length > kMostTokens) return `Paths are searched in texts of at most ${kMostTokens} tokens, and this one has ${tokens.length}.`;
  return undefined;
}

/** The path whose heads are shown. */
interface Opened {
  readonly key: string;
  readonly arc: Arc;
  readonly shared: Shared;
  readonly overviews: readonly (Overview | undefined)[];
}

class CompositionView implements View {
  #maps: RunMaps | undefined;
  #shown: Shown = "induction";
  #paths: Readonly<Record<string, readonly Arc[]>> = {};
  #count = kFew;
  #work: AbortController | undefined;
  #open: Opened | undefined;
  readonly #looks = new Looks();
  readonly #headStop = new Roving(() => this.host.requestUpdate());
  readonly #listStop = new Roving(() => this.host.requestUpdate());

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".composition-list button[tabindex='0']")?.focus();
  }

  clear(): void {
    this.#work?.abort();
    this.#work = this.#maps = this.#open = undefined;
    this.#paths = {};
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps) return;
    const of = maps as RunMaps;
    if (of === this.#maps) return this.host.drawn(this);
    const paths: Record<string, readonly Arc[]> = {};
    if (whyNothing(of) === undefined)
      for (const rank of kRanks) paths[rank] = await textArcs(of, rank, kMost, signal);
    // A text in which no token comes again has no induction.
    const first = paths.induction?.[0] ?? paths.share?.[0];
    const open = first && (await this.#fetch(of, first));
    signal.throwIfAborted();
    this.#work?.abort();
    [this.#maps, this.#paths, this.#open, this.#work] = [of, paths, open, undefined];
    this.host.drawn(this);
    if (paths.induction?.length === 0 && this.#shown === "induction") this.#shown = "share";
    if (whyNothing(of) === undefined && !isRank(this.#shown)) void this.#compute();
  }

  async #fetch(maps: RunMaps, arc: Arc): Promise<Opened> {
    const small = async ({ layer, head }: Arc["earlier"]): Promise<Overview | undefined> =>
      maps.known(layer, head) ?? (await maps.overviews(layer, [head, head + 1], [kSmall, kSmall]))[0];
    const [shared, ...overviews] = await Promise.all([sharedOf(maps, arc), small(arc.earlier), small(arc.later)]);
    return { key: arcKey(arc), arc, shared, overviews };
  }

  async #show(arc: Arc): Promise<void> {
    const maps = this.#maps;
    if (!maps) return;
    try {
      const open = await this.#fetch(maps, arc);
      if (maps === this.#maps) this.#open = open;
      this.host.drawn(this);
    } catch (error) {
      if (maps === this.#maps) this.host.fail(error);
    }
  }

  /** Computes the scores from weights, until they are there or are stopped. */
  async #compute(): Promise<void> {
    const maps = this.#maps;
    if (!maps || this.#work) return;
    const work = (this.#work = new AbortController());
    try {
      await computeScores(maps.run.engine, maps.run.model, work.signal, () => this.host.requestUpdate());
    } catch (error) {
      if (!work.signal.aborted) this.host.fail(error);
    }
    if (this.#work === work) this.#work = undefined;
    this.host.requestUpdate();
  }

  #arcs({ run }: RunMaps): readonly Arc[] {
    const all = isRank(this.#shown)
      ? (this.#paths[this.#shown] ?? [])
      : (knownScores(run.model)?.arcs ?? []).filter(({ kind }) => kind === this.#shown)
        .sort((a, b) => b.value - a.value);
    return all.slice(0, this.#count);
  }

  render(): TemplateResult {
    const maps = this.#maps;
    if (!maps) return html``;
    const reason = whyNothing(maps);
    if (reason !== undefined) return html`<p class="composition-note" part="composition">${reason}</p>`;
    const arcs = this.#arcs(maps);
    return html`
      <section class="composition" part="composition">
        ${this.#controls(maps)}
        <div class="composition-scroll">${this.#plot(maps, arcs)}</div>
        <p class="composition-note">${
          isRank(this.#shown)
            ? "On this text. Share: the earlier head’s part in what makes the later head look where it looks. Weights: the composition score of the two."
            : "From weights alone: the Frobenius norm of the product of both circuits, divided by the product of their norms (Elhage et al. 2021). No random expectation is subtracted."
        }</p>
        ${this.#pair(maps)}
        ${this.#list(arcs)}
      </section>
    `;
  }

  #controls({ run }: RunMaps): TemplateResult {
    const choose = (shown: Shown): void => {
      this.#shown = shown;
      if (!isRank(shown)) void this.#compute();
      this.host.requestUpdate();
    };
    const one = (shown: Shown): TemplateResult => html`<label><input type="radio" name="composition" .checked=${shown === this.#shown}
      @change=${(): void => choose(shown)}>${kTitles[shown]}</label>`;
    const scores = knownScores(run.model);
    const resume = (): void => {
      if (this.#work) this.#work.abort();
      else void this.#compute();
      this.host.requestUpdate();
    };
    const isPart = !isRank(this.#shown) && (scores === undefined || scores.done < scores.count);
    const onInput = (event: Event): void => {
      this.#count = Number((event.target as HTMLInputElement).value);
      this.host.requestUpdate();
    };
    return html`
      <div class="composition-controls">
        <fieldset><legend>On this text</legend>${kRanks.map(one)}</fieldset>
        <fieldset><legend>From weights</legend>${kKinds.map(one)}</fieldset>
        <label>${this.#count} arcs <input type="range" min="1" max=${kMost} .value=${String(this.#count)} @input=${onInput}></label>
        ${isPart ? html`<progress aria-label="Pairs of layers" .value=${(scores?.done ?? 0) / (scores?.count ?? 1)}></progress>
          <button class="composition-stop" @click=${resume}>${this.#work && !this.#work.signal.aborted ? "Stop" : "Go on"}</button>` : nothing}
      </div>
    `;
  }

  #plot({ heads }: RunMaps, arcs: readonly Arc[]): TemplateResult {
    const widest = Math.max(...heads);
    const step = Math.max(48, Math.min(96, Math.floor((this.host.room.width - 32) / widest)));
    const [width, height] = [widest * step, heads.length * kStep];
    const place = ({ layer, head }: Arc["earlier"]): readonly [number, number] =>
      [(head + 0.5) * step, height - (layer + 0.5) * kStep];
    const most = arcs.reduce((largest, { value }) => Math.max(largest, value), 0);
    const one = (arc: Arc): SVGTemplateResult => {
      const [[fromX, fromY], [toX, toY]] = [place(arc.earlier), place(arc.later)];
      const isOpen = arcKey(arc) === this.#open?.key;
      const share = most > 0 ? Math.max(arc.value / most, 0) : 0;
      const path = `M${fromX} ${fromY}C${fromX} ${(fromY + toY) / 2} ${toX} ${(fromY + toY) / 2} ${toX} ${toY}`;
      return svg`<g @click=${(): void => void this.#show(arc)} class=${isOpen ? "composition-arc open" : "composition-arc"}>
        <path d=${path} class="composition-hit"></path>
        <path d=${path} stroke-width=${1 + 4 * share} stroke-opacity=${0.3 + 0.7 * share}></path></g>`;
    };
    const places = heads.flatMap((count, layer) => Array.from({ length: count }, (_, head) => ({ layer, head })));
    const stop = this.#headStop.at(places.length);
    const dot = (head: Arc["earlier"], index: number): TemplateResult => {
      const [x, y] = place(head);
      const name = this.host.names?.[head.layer]?.[head.head]?.name;
      const { earlier, later } = this.#open?.arc ?? {};
      const isOpen = [earlier, later].some((of) => of && headName(of) === headName(head));
      return html`<button class=${isOpen ? "composition-dot open" : "composition-dot"} .style=${`left: ${x}px; top: ${y}px`}
        data-stop=${index} tabindex=${index === stop ? 0 : -1} title=${name ?? ""}
        @click=${(): void => this.host.openHead(head.layer, head.head, "map")}
      >${headName(head)}${name === undefined ? nothing : html`<span class="unseen">, ${name}</span>`}</button>`;
    };
    return html`
      <div class="composition-plot" role="group" aria-label="Heads, layer 0 at the bottom" .style=${`width: ${width}px; height: ${height}px`}
        @keydown=${this.#headStop.onKey} @focusin=${this.#headStop.onFocus}>
        <svg width=${width} height=${height} aria-hidden="true">${arcs.map(one)}</svg>
        ${places.map(dot)}
      </div>
    `;
  }

  /** The two heads of the open path beside each other, with the tokens that both have a part in. */
  #pair(maps: RunMaps): TemplateResult | typeof nothing {
    if (!this.#open) return nothing;
    const { arc, shared: { row, col, via, from }, overviews } = this.#open;
    const name = (token: number): string => tokenName(maps.tokens[token] ?? "");
    const [rows, cols] = [maps.tokens.length, maps.keyTokens.length];
    const small = (head: Arc["earlier"], overview: Overview | undefined, looks: number, at: number): TemplateResult => {
      const look = overview && this.#looks.of(maps, head.layer, overview, this.host.scaleChoice, this.host.colors);
      const mark = `left: ${(100 * at) / cols}%; top: ${(100 * looks) / rows}%; width: ${100 / cols}%; height: ${100 / rows}%`;
      return html`<figure>
        <button class="composition-map" @click=${(): void => this.host.openHead(head.layer, head.head, "map")}
          aria-label=${`Open head ${headName(head)}: ${name(looks)} looks at ${name(at)}`}>
          <canvas ${draw(overview?.picture, look)}></canvas><i .style=${mark}></i></button>
        <figcaption>${headName(head)}: ${name(looks)} looks at ${name(at)}</figcaption>
      </figure>`;
    };
    const [earlier, later] = [headName(arc.earlier), headName(arc.later)];
    const { previous = 0, induction = 0 } = arc.path ?? {};
    const words = previous >= kLeastPrevious && induction >= kLeastInduction
      ? `Head ${earlier} writes at each token what stood before it; head ${later} looks for the token after an earlier copy.`
      : `Head ${later} reads with its ${kThrough[arc.kind]} what head ${earlier} wrote.`;
    return html`
      <p class="composition-title" aria-live="polite">${inWords(arc)}</p>
      <p>${words} Here ${name(row)} looks at ${name(col)}, and at ${name(via)} head ${earlier} had written what it saw at ${name(from)}.</p>
      <div class="composition-pair">${small(arc.earlier, overviews[0], via, from)}${small(arc.later, overviews[1], row, col)}</div>
    `;
  }

  #list(arcs: readonly Arc[]): TemplateResult {
    const stop = this.#listStop.at(arcs.length);
    if (arcs.length === 0) return html`<p class="composition-note">${this.#work ? "Nothing is computed yet." : "There is no such path."}</p>`;
    return html`<ol class="composition-list" aria-label="Paths, the strongest first" @keydown=${this.#listStop.onKey} @focusin=${this.#listStop.onFocus}>
      ${arcs.map((arc, index) => html`<li><button data-stop=${index} tabindex=${index === stop ? 0 : -1}
        aria-pressed=${arcKey(arc) === this.#open?.key ? "true" : "false"} @click=${(): void => void this.#show(arc)}>${inWords(arc)}</button></li>`)}
    </ol>`;
  }
}

const styles = css`
  .composition .composition-title {
    margin: 16px 0 0;
    font: 600 14px/24px system-ui, sans-serif;
  }
  .composition p {
    margin: 0 0 8px;
  }
  .composition .composition-note {
    color: var(--faint);
    font-size: 13px;
  }
  .composition-controls {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 24px;
    margin-bottom: 8px;
  }
  .composition-controls fieldset {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 4px 12px;
    margin: 0;
    padding: 0;
    border: 0;
  }
  .composition-controls legend {
    float: left;
    margin-inline-end: 4px;
    color: var(--faint);
  }
  .composition-controls label {
    display: inline-flex;
    align-items: center;
    gap: 4px;
    min-height: 24px;
  }
  .composition-stop {
    min-width: 44px;
    min-height: 24px;
    color: var(--accent);
  }
  .composition-scroll {
    overflow: auto;
    direction: ltr;
  }
  .composition-plot {
    position: relative;
  }
  .composition-plot svg {
    display: block;
  }
  .composition-arc {
    color: var(--faint);
    cursor: pointer;
  }
  .composition-arc path {
    fill: none;
    stroke: currentColor;
  }
  .composition-arc .composition-hit {
    stroke-width: 16;
    stroke-opacity: 0;
  }
  .composition-arc.open,
  .composition-arc:hover {
    color: var(--accent);
  }
  .composition-dot {
    position: absolute;
    min-width: 36px;
    height: 24px;
    transform: translate(-50%, -50%);
    border: 1px solid var(--line);
    border-radius: 12px;
    background: var(--paper);
    font: 12px/22px var(--mono);
  }
  .composition-dot.open {
    border: 2px solid var(--accent);
    font-weight: 700;
  }
  .composition-pair {
    display: flex;
    flex-wrap: wrap;
    gap: 16px;
    margin-bottom: 8px;
  }
  .composition-pair figure {
    width: 192px;
    margin: 0;
    font-size: 13px;
  }
  .composition-map {
    position: relative;
    display: block;
    width: 192px;
    height: 192px;
    background: var(--hatch);
    border: 1px solid var(--line);
    border-radius: 0;
    direction: ltr;
  }
  .composition-map i {
    position: absolute;
    min-width: 6px;
    min-height: 6px;
    outline: 2px solid var(--accent);
  }
  .composition-list {
    margin: 0;
    padding: 0;
    list-style: none;
  }
  .composition-list button {
    min-height: 24px;
    font: 13px/24px var(--mono);
    text-align: start;
  }
  .composition-list button[aria-pressed="true"] {
    color: var(--accent);
    text-decoration: underline;
  }
  @media (pointer: coarse) {
    .composition-list button,
    .composition-stop,
    .composition-controls label,
    .composition-dot {
      min-width: 44px;
      min-height: 44px;
    }
  }
`;

export const compositionView: ViewCode = { styles, create: (host) => new CompositionView(host) };
