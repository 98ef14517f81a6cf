// SPDX-License-Identifier: Apache-2.0
/** The finder: all heads of the model in numbers, over the reader's texts, as a table and as a plot. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { MetricInfo } from "headlens";
import { guard } from "lit/directives/guard.js";
import { type AnyMetric, kMostTexts, linesOf, rankHeads, type Ranked, usualMetrics } from "../heads/ranking.js";
import type { Run } from "../maps/run.js";
import { isReleased, type MapSource } from "../maps/source.js";
import { headName, headsOf, toggled } from "../state/lists.js";
import { controlStyles, finderPicker, finderStatus, finderTexts } from "./finder-controls.js";
import { type Other, othersOf, othersStyles, readOthers } from "./finder-others.js";
import { type Box, finderPlot, plotStyles } from "./finder-scatter.js";
import {
  finderTable, headWord, kPageRows, isTelling, nameIn, pageCount, sorted, type Sorting, tableStyles, valueOf, valueText,
} from "./finder-table.js";
import type { Host, View, ViewCode } from "./view.js";

/** A text that is being written is measured once it has rested for so many milliseconds. */
const kQuiet = 500;
/** The rows that PageUp and PageDown go by. */
const kPageKey = 10;
const kHeadButtons = ".finder-table button[data-head]";
/** The largest file of texts that is read, in bytes. */
const kMostBytes = 1 << 20;

/** The input of a model, as the state has it. */
const kRead = ["model", "text", "textPair", "source", "image"] as const;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const wordsOf = (list: string): ReadonlySet<string> => new Set(list.split(/[\s,]+/).filter((word) => word !== ""));

class FinderView implements View {
  #run: Run | undefined;
  /** The reading that was measured last, with the texts and the metrics, and whether something is missing of it. */
  #tried = "";
  #isIncomplete = false;
  #infos: readonly MetricInfo[] = [];
  #metrics: readonly AnyMetric[] = [];
  /** True once the reader has chosen metrics. */
  #isChosen = false;
  #texts = "";
  #heads: readonly Ranked[] = [];
  /** The number of texts that those numbers are of. */
  #textCount = 0;
  #progress: { done: number; what: string } | undefined;
  #message = "";
  #sorting: Sorting | undefined;
  #page = 0;
  #axes: { x?: AnyMetric; y?: AnyMetric } = {};
  #stop = "";
  #hovered: string | undefined;
  #brush: Box | undefined;
  #onlyMarked = false;
  #others: readonly Other[] = [];
  #abort = new AbortController();
  #othersAbort = new AbortController();
  #typing: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".finder-table button[tabindex='0']")?.focus();
  }

  clear(): void {
    this.#abort.abort();
    this.#othersAbort.abort();
    clearTimeout(this.#typing);
    [this.#run, this.#tried] = [undefined, ""];
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    const run = maps?.run;
    if (!run) return;
    const isOther = run.model !== this.#run?.model || run.shown !== this.#run.shown;
    this.#run = run;
    if (this.#infos.length === 0) this.#infos = await run.engine.metrics();
    signal.throwIfAborted();
    if (isOther) {
      this.#heads = [];
      if (!this.#isChosen) this.#metrics = usualMetrics(run);
    }
    // Another text ends the measurement at once, and another head does not.
    signal.addEventListener("abort", () => this.#isStill(run) || this.#leave(), { once: true });
    if (this.#tried !== this.#wanted(run)) await this.#measure(run);
    signal.throwIfAborted();
    this.host.drawn(this);
    void this.#showOthers(run);
  }

  /** True while the element shows what this run has read. */
  #isStill({ reading, shown, info }: Run): boolean {
    const { state } = this.host;
    const isRead = kRead.every((name) => state[name] === reading[name]);
    return isRead && (!info.encoder || state.attention === shown);
  }

  #leave(): void {
    this.#abort.abort();
    this.#tried = "";
  }

  #wanted({ reading, shown }: Run): string {
    return JSON.stringify([reading, shown, this.#lines(), this.#metrics]);
  }

  #lines(): string[] {
    return this.#run?.info.image ? [] : linesOf(this.#texts).slice(0, kMostTexts);
  }

  /** Measures all heads. It resolves when there is something to see. */
  async #measure(run: Run): Promise<void> {
    this.#abort.abort();
    const abort = (this.#abort = new AbortController());
    this.#tried = this.#wanted(run);
    [this.#message, this.#isIncomplete] = ["", false];
    const lines = this.#lines();
    try {
      const { rest } = await rankHeads(run, lines, this.#metrics, this.#infos, {
        signal: abort.signal,
        onProgress: (done, what) => {
          const percent = (share: number): number => Math.floor(share * 100);
          const { done: before, what: doing } = this.#progress ?? { done: NaN, what: "" };
          if (abort.signal.aborted || (doing === what && percent(before) === percent(done))) return;
          this.#progress = { done, what };
          this.host.requestUpdate();
        },
        onHeads: (heads) => {
          [this.#heads, this.#textCount] = [heads, lines.length + 1];
          this.host.drawn(this);
        },
      });
      rest.then(() => this.#finish(abort), (error: unknown) => this.#fail(error, abort));
    } catch (error) {
      this.#fail(error, abort);
    }
  }

  #finish(abort: AbortController): void {
    if (abort !== this.#abort) return;
    this.#progress = undefined;
    this.host.requestUpdate();
  }

  /** Says what cannot be measured; what was measured before stays. */
  #fail(error: unknown, abort: AbortController): void {
    if (abort !== this.#abort) return;
    [this.#progress, this.#isIncomplete] = [undefined, true];
    if (!abort.signal.aborted && !isReleased(error)) this.#message = messageOf(error);
    this.host.requestUpdate();
  }

  readonly #halt = (): void => {
    this.#abort.abort();
    [this.#progress, this.#isIncomplete] = [undefined, true];
    this.#message = "Stopped.";
    this.host.requestUpdate();
  };

  /** Measures anew, because texts or metrics are others. */
  readonly #again = (): void => {
    const run = this.#run;
    if (!run) return;
    void this.#measure(run);
    void this.#showOthers(run);
  };

  async #showOthers(run: Run): Promise<void> {
    this.#othersAbort.abort();
    const { signal } = (this.#othersAbort = new AbortController());
    const { layer, head } = this.host.state;
    const lines = this.#lines();
    if (lines.length === 0) this.#others = [];
    try {
      await readOthers(run, lines, [layer, head], signal, (others) => {
        if (signal.aborted) return;
        this.#others = others;
        this.host.requestUpdate();
      });
    } catch (error) {
      if (signal.aborted || isReleased(error)) return;
      this.#others = [];
      this.#message = messageOf(error);
      this.host.requestUpdate();
    }
  }

  // These methods draw.

  /** The metrics in which heads differ, or all where there are none. */
  get #telling(): readonly AnyMetric[] {
    const telling = this.#metrics.filter((metric) => isTelling(this.#heads, metric));
    return telling.length > 0 ? telling : this.#metrics;
  }

  get #sort(): Sorting {
    const { by } = this.#sorting ?? {};
    const isThere = by === "head" || by === "name" || (by !== undefined && this.#metrics.includes(by));
    if (this.#sorting && isThere) return this.#sorting;
    const [first] = this.#telling;
    return { by: first ?? "head", isDescending: first !== undefined };
  }

  render(): TemplateResult {
    const run = this.#run;
    if (!run) return html``;
    const { state, names } = this.host;
    const marked = wordsOf(state.heads);
    const silenced = new Set(run.changes.ablate.filter(({ attention }) => attention === run.shown).map(headName));
    const open = `${state.layer}.${state.head}`;
    const lines = this.#lines();
    const { by, isDescending } = this.#sort;
    const shown = [this.#heads, by, isDescending, this.#page, this.#onlyMarked, this.#metrics, names];
    const picked = [state.heads, run, open, this.#stop, this.#hovered];
    const table = guard([...shown, ...picked], () => this.#table(marked, silenced, open));
    const metrics = [this.#infos, this.#metrics];
    const picker = guard(metrics, () => finderPicker(this.#infos, this.#metrics, this.#pick));
    return html`
      <div class="finder" part="finder" @keydown=${this.#onKey} @dragover=${allowDrop} @drop=${this.#onDrop}>
        <div class="finder-choices">${finderTexts(this.#texts, lines.length, run, this.#write)}${picker}</div>
        ${this.#status()}
        <div class="finder-both">
          <div class="finder-side">${this.#plot(marked, open)}</div>
          <div class="finder-main">${this.#marks(marked)}${table}</div>
        </div>
        ${lines.length > 0 ? othersOf(this.host, this.#others, lines.length) : nothing}
      </div>
    `;
  }

  #status(): TemplateResult {
    const texts = this.#textCount === 1 ? "1 text" : `${this.#textCount} texts`;
    const result = `${this.#heads.length} heads on ${texts}, without changes to the model.`;
    const words = [this.#message, this.#heads.length > 0 ? result : ""].join(" ").trim();
    return finderStatus(this.#progress, words, this.#halt, this.#isIncomplete ? this.#again : undefined);
  }

  #marks(marked: ReadonlySet<string>): TemplateResult {
    if (marked.size === 0) return html`<p class="finder-marks"><span class="finder-note">Enter opens a head, <kbd>p</kbd> marks it, <kbd>s</kbd> silences it.</span></p>`;
    const show = (): void => {
      this.#onlyMarked = !this.#onlyMarked;
      this.#page = 0;
      this.host.requestUpdate();
    };
    return html`<p class="finder-marks"><span>${marked.size} ${marked.size === 1 ? "head is" : "heads are"} marked.</span>
      <button aria-pressed=${this.#onlyMarked ? "true" : "false"} @click=${show}>Only these</button>
      <button @click=${(): void => this.#mark([], false)}>Clear</button></p>`;
  }

  #rows(marked: ReadonlySet<string>): Ranked[] {
    const isShown = (head: Ranked): boolean => !this.#onlyMarked || marked.size === 0 || marked.has(headWord(head));
    return sorted(this.#heads.filter(isShown), this.#sort, this.host.names);
  }

  #table(marked: ReadonlySet<string>, silenced: ReadonlySet<string>, open: string): TemplateResult {
    const rows = this.#rows(marked);
    const page = Math.min(this.#page, pageCount(rows) - 1);
    const shown = pageCount(rows) === 1 ? rows : rows.slice(page * kPageRows, (page + 1) * kPageRows);
    const words = shown.map(headWord);
    const stop = words.includes(this.#stop) ? this.#stop : words.includes(open) ? open : (words[0] ?? "");
    return finderTable({
      rows, heads: this.#heads, metrics: this.#metrics, names: this.host.names, sorting: this.#sort, page,
      infos: new Map(this.#infos.map((info) => [info.name, info])),
      marked, silenced, open, stop, hovered: this.#hovered,
      sort: this.#sortBy, turn: this.#turn, choose: this.#choose, hover: this.#hover,
    });
  }

  #plot(marked: ReadonlySet<string>, open: string): TemplateResult | typeof nothing {
    const metrics = this.#metrics;
    const [first, second] = this.#telling;
    if (first === undefined || this.#heads.length === 0) return nothing;
    const known = (metric: AnyMetric | undefined): AnyMetric | undefined =>
      metric && metrics.includes(metric) ? metric : undefined;
    const [x, y] = [known(this.#axes.x) ?? first, known(this.#axes.y) ?? second ?? first];
    const select = (axis: "x" | "y", chosen: AnyMetric): TemplateResult => {
      const choose = (event: Event): void => {
        this.#axes = { ...this.#axes, [axis]: (event.target as HTMLSelectElement).value };
        this.host.requestUpdate();
      };
      const option = (metric: AnyMetric): TemplateResult =>
        html`<option value=${metric} .selected=${metric === chosen}>${metric}</option>`;
      return html`<label>${axis === "x" ? "Across" : "Up"} <select @change=${choose}>${metrics.map(option)}</select></label>`;
    };
    const picked = [this.host.state.heads, open, this.#hovered, this.#brush, this.host.names];
    const plot = guard([this.#heads, x, y, ...picked], () => finderPlot({
      heads: this.#heads, x, y, marked, open, hovered: this.#hovered, brush: this.#brush,
      describe: (head) => {
        const values = [x, y].map((metric) => `${metric} ${valueText(valueOf(head, metric))}`);
        return [headWord(head), nameIn(this.host.names, head), ...values].join(" · ");
      },
      hover: this.#hover,
      drag: (box) => {
        this.#brush = box;
        this.host.requestUpdate();
      },
      mark: (heads, isMore) => this.#mark(heads.map(headWord), isMore),
      choose: this.#choose,
    }));
    return html`<div class="finder-axes">${select("x", x)}${select("y", y)}</div>${plot}`;
  }

  // These methods answer the reader.

  readonly #write = (texts: string): void => {
    this.#texts = texts;
    clearTimeout(this.#typing);
    this.#typing = setTimeout(this.#again, kQuiet);
    this.host.requestUpdate();
  };

  readonly #pick = (metrics: readonly AnyMetric[]): void => {
    this.#isChosen = true;
    this.#metrics = metrics;
    this.#again();
    this.host.requestUpdate();
  };

  readonly #sortBy = (by: Sorting["by"]): void => {
    const { by: before, isDescending } = this.#sort;
    // Names and places begin at the first, metrics at the largest.
    this.#sorting = { by, isDescending: before === by ? !isDescending : by !== "head" && by !== "name" };
    this.#page = 0;
    this.host.requestUpdate();
  };

  readonly #turn = (page: number): void => {
    this.#page = page;
    this.#stop = "";
    this.host.requestUpdate();
  };

  readonly #choose = (head: Ranked, event: MouseEvent): void => {
    this.#stop = headWord(head);
    if (event.shiftKey) return this.host.change({ heads: toggled(this.host.state.heads, this.#stop) });
    this.host.openHead(head.layer, head.head, "map");
  };

  readonly #hover = (head: Ranked | undefined): void => {
    const word = head && headWord(head);
    if (word === this.#hovered) return;
    this.#hovered = word;
    this.host.requestUpdate();
  };

  #mark(words: readonly string[], isMore: boolean): void {
    const before = isMore ? [...wordsOf(this.host.state.heads)] : [];
    this.host.change({ heads: [...new Set([...before, ...words])].join(" ") });
    if (words.length === 0 && !isMore) this.#onlyMarked = false;
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>(kHeadButtons) : null;
    if (event.key === "Escape" && this.host.state.heads !== "") {
      event.preventDefault();
      return this.#mark([], false);
    }
    const word = button?.dataset.head;
    if (word === undefined || event.altKey || event.metaKey || event.ctrlKey) return;
    const buttons = [...this.host.renderRoot.querySelectorAll<HTMLElement>(kHeadButtons)];
    const words = buttons.map(({ dataset: { head = "" } }) => head);
    const at = words.indexOf(word);
    const moves: Readonly<Record<string, number>> = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      PageUp: at - kPageKey,
      PageDown: at + kPageKey,
      Home: 0,
      End: words.length - 1,
    };
    const to = moves[event.key];
    if (to !== undefined) {
      this.#stop = words[Math.max(0, Math.min(to, words.length - 1))] ?? word;
      this.#hovered = this.#stop;
      this.host.requestUpdate();
      void this.host.updateComplete.then(() => this.focus());
    } else if (event.key === "p") this.host.change({ heads: toggled(this.host.state.heads, word) });
    else if (event.key === "s") headsOf("head", word).forEach(({ layer, head }) => this.host.silence(layer, head));
    else return;
    event.preventDefault();
  };

  readonly #onDrop = (event: DragEvent): void => {
    const file = event.dataTransfer?.files[0];
    if (!file || this.#run?.info.image) return;
    event.preventDefault();
    void this.#take(file);
  };

  async #take(file: File): Promise<void> {
    try {
      if (file.size > kMostBytes)
        throw new Error(`texts: ${file.name} has ${file.size} bytes, expected at most ${kMostBytes}`);
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      this.#texts = [this.#texts.trimEnd(), text.replaceAll("\r\n", "\n")].filter((part) => part !== "").join("\n");
      this.#again();
    } catch (error) {
      this.#message = error instanceof TypeError ? `texts: ${file.name} is no text in UTF-8` : messageOf(error);
    }
    this.host.requestUpdate();
  }
}

const allowDrop = (event: DragEvent): void => {
  if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
};

export const finderView: ViewCode = {
  styles: css`${controlStyles}${tableStyles}${plotStyles}${othersStyles}`,
  create: (host) => new FinderView(host),
};
