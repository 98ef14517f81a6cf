// SPDX-License-Identifier: Apache-2.0
/** The finder: all heads of the model in numbers, over the reader's texts, as a table and as a plot. */
import { css, html, nothing } from "lit";
import type { TemplateResult } from "lit";
import type { MetricInfo } from "headlens";
import { guard } from "lit/directives/guard.js";
import { type AnyMetric, kMostTexts, linesOf, type Ranked, usualMetrics, valueOf } from "../heads/ranking.js";
import type { Run } from "../maps/run.js";
import { isReleased, type MapSource } from "../maps/source.js";
import { headName, headsOf, toggled } from "../state/lists.js";
import { controlStyles, finderPicker, finderStatus, finderTexts } from "./finder-controls.js";
import { isShown, Measuring, messageOf } from "./finder-measuring.js";
import { type Other, othersOf, othersStyles, readOthers } from "./finder-others.js";
import { type Box, finderPlot, plotStyles } from "./finder-scatter.js";
import {
  finderTable, headWord, kPageRows, isTelling, metricWords, nameIn, pageCount, sorted, type Sorting, tableStyles,
  valueText,
} from "./finder-table.js";
import type { Host, View, ViewCode } from "./view.js";

/** A text that is being written is measured once it has rested for so many milliseconds. */
const kQuiet = 500;
/** The rows that PageUp and PageDown go by. */
const kPageKey = 10;
const kHeadButtons = ".finder-table button[data-head]";
const kDots = ".finder-dot";
/** The largest file of texts that is read, in bytes. */
const kMostBytes = 1 << 20;

const wordsOf = (list: string): ReadonlySet<string> => new Set(list.split(/[\s,]+/).filter((word) => word !== ""));

class FinderView implements View {
  #run: Run | undefined;
  #infos: readonly MetricInfo[] = [];
  #metrics: readonly AnyMetric[] = [];
  /** True once the reader has chosen metrics. */
  #isChosen = false;
  #texts = "";
  readonly #measuring = new Measuring(() => this.host.requestUpdate());
  #sorting: Sorting | undefined;
  #page = 0;
  #axes: { x?: AnyMetric; y?: AnyMetric } = {};
  #stop = "";
  #hovered: string | undefined;
  #brush: Box | undefined;
  #onlyMarked = false;
  #others: readonly Other[] = [];
  #othersAbort = new AbortController();
  #typing: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".finder-table button[tabindex='0']")?.focus();
  }

  clear(): void {
    this.#measuring.leave();
    this.#othersAbort.abort();
    clearTimeout(this.#typing);
    this.#run = undefined;
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    const run = maps?.run;
    if (!run) return;
    const isOther = run.model !== this.#run?.model || run.shown !== this.#run.shown;
    this.#run = run;
    if (this.#infos.length === 0) this.#infos = await run.engine.metrics();
    signal.throwIfAborted();
    if (isOther) {
      this.#measuring.forget();
      if (!this.#isChosen) this.#metrics = usualMetrics(run);
    }
    // Another text ends the measurement at once, and another head does not.
    signal.addEventListener("abort", () => isShown(run, this.host) || this.#measuring.leave(), { once: true });
    await this.#measure(run);
    signal.throwIfAborted();
    this.host.drawn(this);
    void this.#showOthers(run);
  }

  #lines(): string[] {
    return this.#run?.info.image ? [] : linesOf(this.#texts).slice(0, kMostTexts);
  }

  /** Measures anew, because texts or metrics are others. */
  readonly #again = (): void => {
    const run = this.#run;
    if (!run) return;
    void this.#measure(run, true);
    void this.#showOthers(run);
  };

  #measure(run: Run, isAgain = false): Promise<void> {
    const wanted = { run, lines: this.#lines(), metrics: this.#metrics, infos: this.#infos };
    return this.#measuring.measure(wanted, isAgain, () => this.host.drawn(this));
  }

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
      this.#measuring.message = messageOf(error);
      this.host.requestUpdate();
    }
  }

  // These methods draw.

  /** The metrics in which heads differ, or all where there are none. */
  get #telling(): readonly AnyMetric[] {
    const telling = this.#metrics.filter((metric) => isTelling(this.#measuring.heads, metric));
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
    const shown = [this.#measuring.heads, by, isDescending, this.#page, this.#onlyMarked, this.#metrics, names];
    const picked = [state.heads, run, open, this.#stop, this.#hovered];
    const table = guard([...shown, ...picked], () => this.#table(marked, silenced, open));
    const metrics = [this.#infos, this.#metrics];
    const picker = guard(metrics, () => finderPicker(this.#infos, this.#metrics, this.#pick));
    return html`
      <div class="finder" part="finder" @keydown=${this.#onKey} @dragover=${allowDrop} @drop=${this.#onDrop}>
        <div class="finder-choices">${finderTexts(this.#texts, lines.length, run, this.#write)}${picker}</div>
        ${this.#status()}
        <div class="finder-both">
          <div class="finder-side">${this.#plot(marked, silenced, open)}</div>
          <div class="finder-main">${this.#marks(marked)}${table}</div>
        </div>
        ${lines.length > 0 ? othersOf(this.host, this.#others, lines.length) : nothing}
      </div>
    `;
  }

  #status(): TemplateResult {
    const { heads, textCount, message, progress, isIncomplete, halt } = this.#measuring;
    const texts = textCount === 1 ? "1 text" : `${textCount} texts`;
    const result = `${heads.length} heads on ${texts}, without changes to the model.`;
    const words = [message, heads.length > 0 ? result : ""].join(" ").trim();
    return finderStatus(progress, words, halt, isIncomplete ? this.#again : undefined);
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
    return sorted(this.#measuring.heads.filter(isShown), this.#sort, this.host.names);
  }

  #table(marked: ReadonlySet<string>, silenced: ReadonlySet<string>, open: string): TemplateResult {
    const rows = this.#rows(marked);
    const page = Math.min(this.#page, pageCount(rows) - 1);
    const shown = pageCount(rows) === 1 ? rows : rows.slice(page * kPageRows, (page + 1) * kPageRows);
    const words = shown.map(headWord);
    const stop = words.includes(this.#stop) ? this.#stop : words.includes(open) ? open : (words[0] ?? "");
    return finderTable({
      rows, heads: this.#measuring.heads, metrics: this.#metrics, names: this.host.names, sorting: this.#sort, page,
      infos: new Map(this.#infos.map((info) => [info.name, info])),
      marked, silenced, open, stop, hovered: this.#hovered,
      sort: this.#sortBy, turn: this.#turn, choose: this.#choose, hover: this.#hover,
    });
  }

  #plot(marked: ReadonlySet<string>, silenced: ReadonlySet<string>, open: string): TemplateResult | typeof nothing {
    const metrics = this.#metrics;
    const [first, second] = this.#telling;
    if (first === undefined || this.#measuring.heads.length === 0) return nothing;
    const known = (metric: AnyMetric | undefined): AnyMetric | undefined =>
      metric && metrics.includes(metric) ? metric : undefined;
    const [x, y] = [known(this.#axes.x) ?? first, known(this.#axes.y) ?? second ?? first];
    const select = (axis: "x" | "y", chosen: AnyMetric): TemplateResult => {
      const choose = (event: Event): void => {
        this.#axes = { ...this.#axes, [axis]: (event.target as HTMLSelectElement).value };
        this.host.requestUpdate();
      };
      const option = (metric: AnyMetric): TemplateResult =>
        html`<option value=${metric} .selected=${metric === chosen}>${metricWords(metric)}</option>`;
      return html`<label>${axis === "x" ? "Across" : "Up"} <select @change=${choose}>${metrics.map(option)}</select></label>`;
    };
    const heads = [[...marked].join(), [...silenced].join(), open, this.#stop, this.#hovered];
    const picked = [...heads, this.#brush, this.host.names];
    const plot = guard([this.#measuring.heads, x, y, ...picked], () => finderPlot({
      heads: this.#measuring.heads, x, y, marked, silenced, open,
      stop: this.#stop, hovered: this.#hovered, brush: this.#brush,
      describe: (head) => {
        const values = [x, y].map((metric) => `${metricWords(metric)} ${valueText(valueOf(head, metric))}`);
        return [headWord(head), nameIn(this.host.names, head), ...values].filter((part) => part !== "");
      },
      hover: this.#hover,
      drag: (box) => {
        this.#brush = box;
        this.host.requestUpdate();
      },
      mark: (heads, isMore) => this.#mark(heads.map(headWord), isMore),
      choose: this.#choose,
      move: (head) => this.#moveTo(headWord(head), `${kDots}[tabindex='0']`),
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

  readonly #choose = (head: Ranked, { shiftKey }: { readonly shiftKey: boolean }): void => {
    this.#stop = headWord(head);
    if (shiftKey) return this.#toggleMark(this.#stop);
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

  #toggleMark(word: string): void {
    this.host.change({ heads: toggled(this.host.state.heads, word) });
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    const from = event.target instanceof Element ? event.target.closest<HTMLElement>(`${kHeadButtons}, ${kDots}`) : null;
    if (event.key === "Escape" && this.host.state.heads !== "") {
      event.preventDefault();
      return this.#mark([], false);
    }
    const word = from?.dataset.head ?? from?.dataset.dot;
    if (word === undefined || event.defaultPrevented || event.altKey || event.metaKey || event.ctrlKey) return;
    const to = from?.dataset.head === undefined ? undefined : this.#lineTo(word, event.key);
    if (to !== undefined) this.#moveTo(to, ".finder-table button[tabindex='0']");
    else if (event.key === "p") this.#toggleMark(word);
    else if (event.key === "s") headsOf("head", word).forEach(({ layer, head }) => this.host.silence(layer, head));
    else return;
    event.preventDefault();
  };

  /** The head of the line of the table to which a key leads; undefined for other keys. */
  #lineTo(word: string, key: string): string | undefined {
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
    const to = moves[key];
    return to === undefined ? undefined : (words[Math.max(0, Math.min(to, words.length - 1))] ?? word);
  }

  /** Makes a head the tab stop and focuses it, in the table or in the plot. */
  #moveTo(word: string, stop: string): void {
    this.#stop = this.#hovered = word;
    this.host.requestUpdate();
    void this.host.updateComplete.then(() => this.host.renderRoot.querySelector<HTMLElement>(stop)?.focus());
  }

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
      this.#measuring.message = error instanceof TypeError ? `texts: ${file.name} is no text in UTF-8` : messageOf(error);
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
