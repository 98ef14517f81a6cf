// SPDX-License-Identifier: Apache-2.0
/** Heads that read what earlier heads wrote, as arcs between dots: on this text, or from the model's weights alone. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { draw, Looks } from "../maps/canvas.js";
import type { MapSource, Overview } from "../maps/source.js";
import { tokenName } from "../maps/tokens.js";
import { type Head, headName, toggled } from "../state/lists.js";
import {
  type Arc, arcKey, computeScores, inWords, type Kind, kKinds, knownScores, kThrough, type Shared, sharedOf, textArcs,
} from "./composition-data.js";
import { compositionPlot } from "./composition-plot.js";
import { compositionStyles } from "./composition-styles.js";
import type { RunMaps } from "./followed.js";
import { free } from "./place.js";
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
/** The blocks of a small map on a side. */
const kSmall = 160;

const kTitles: Readonly<Record<Shown, string>> = {
  induction: "previous → induction", share: "all paths", query: "queries", key: "keys", value: "values",
};
const isRank = (shown: Shown): shown is (typeof kRanks)[number] => shown === "induction" || shown === "share";

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
  /** The path under the pointer or the keyboard. */
  #pointed: Arc | undefined;
  readonly #looks = new Looks();
  readonly #arcStop = new Roving(() => this.host.requestUpdate());
  readonly #headStop = new Roving(() => this.host.requestUpdate());
  readonly #listStop = new Roving(() => this.host.requestUpdate());

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".composition-list button[tabindex='0']")?.focus();
  }

  clear(): void {
    this.#work?.abort();
    this.#work = this.#maps = this.#open = this.#pointed = undefined;
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
    [this.#maps, this.#paths, this.#open, this.#work, this.#pointed] = [of, paths, open, undefined, undefined];
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
      <section class="composition" part="composition" @keydown=${this.#onKey}>
        ${this.#controls(maps)}
        <div class="composition-scroll scrolled">${this.#plot(maps, arcs)}</div>
        <p class="composition-readout" aria-hidden="true">${this.#pointed ? inWords(this.#pointed) : "Arrow keys move between heads, and between arcs. Enter opens, p pins, s silences."}</p>
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
    return compositionPlot({
      heads, arcs, names: this.host.names, width: this.host.room.width, open: this.#open?.arc,
      headStop: this.#headStop, arcStop: this.#arcStop,
      show: (arc) => void this.#show(arc),
      point: (arc) => {
        this.#pointed = arc;
        this.host.requestUpdate();
      },
      openHead: ({ layer, head }) => this.host.openHead(layer, head, "map"),
      onHeadKey: this.#onHeadKey,
      onArcKey: this.#onArcKey,
    });
  }

  /** Acts on keys at a head: `p` marks it, and `s` silences it. */
  readonly #onHeadKey = (event: KeyboardEvent, head: Head): void => {
    const { heads, ablate } = this.host.state;
    this.#act(event, {
      p: () => this.host.change({ heads: toggled(heads, headName(head)) }),
      s: () => this.host.change({ ablate: toggled(ablate, headName(head)) }),
    });
  };

  /** Acts on keys at a path: `p` pins the tokens that its later head links, and `s` silences its earlier head. */
  readonly #onArcKey = (event: KeyboardEvent, arc: Arc): void => {
    const { ablate } = this.host.state;
    this.#act(event, {
      p: () => void this.#pin(arc),
      s: () => this.host.change({ ablate: toggled(ablate, headName(arc.earlier)) }),
    });
  };

  #act(event: KeyboardEvent, actions: Readonly<Record<string, () => void>>): void {
    if (event.defaultPrevented || event.altKey || event.metaKey || event.ctrlKey) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  async #pin(arc: Arc): Promise<void> {
    await this.#show(arc);
    if (this.#open?.key !== arcKey(arc)) return;
    const { row, col } = this.#open.shared;
    this.host.change({ query: String(row), key: String(col) });
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (!event.defaultPrevented && event.key === "Escape" && free(this.host)) event.preventDefault();
  };

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
        @keydown=${(event: KeyboardEvent): void => this.#onArcKey(event, arc)}
        aria-pressed=${arcKey(arc) === this.#open?.key ? "true" : "false"} @click=${(): void => void this.#show(arc)}>${inWords(arc)}</button></li>`)}
    </ol>`;
  }
}

export const compositionView: ViewCode = { styles: compositionStyles, create: (host) => new CompositionView(host) };
