// SPDX-License-Identifier: Apache-2.0
/** A text that is read token by token: the open head's rows, the cache, what the model expects, and how it goes on. */
import { html, nothing } from "lit";
import type { ReactiveController, TemplateResult } from "lit";
import { type Look, lookOf, rowColors } from "../maps/canvas.js";
import { tintStyle } from "../maps/ink.js";
import type { Step } from "../maps/expected.js";
import { causalMask, kOpen } from "../maps/mask.js";
import type { Run } from "../maps/run.js";
import { checkHead, type MapSource, overviewOf } from "../maps/source.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import { strongestRow } from "../maps/words.js";
import { type CacheCell, cachePicture, type CacheState } from "./decode-cache.js";
import { asPicture, exactness, newestRow, nextTokens, sizeInWords, sourceStrip } from "./decode-parts.js";
import {
  type Format, hasOtherChanges, isEnd, kFormats, kMostRead, type Lengths, lengthsOf, namesOf, type ReadToken, refusal,
  textOf, TokenReading, wholeMapOf,
} from "./decode-reading.js";
import { kDecodeStyles } from "./decode-styles.js";
import { type Content, DecodeRows } from "./decode-rows.js";
import { exact } from "./map.js";
import { free, queryOf } from "./place.js";
import type { Host, View, ViewCode } from "./view.js";

/** The most tokens that the model goes on with at a time, and the pauses between steps in milliseconds. */
const kMostOn = 32;
const kTextPause = 400;
const kOnPause = 120;
/** A long reading appears after so many milliseconds, and then goes on. */
const kFirstWait = 150;
const kNone: Lengths = { keys: [], values: [] };
const kRefresh = 50;
/** Longer measurements are not made after each token that the model goes on with. */
const kQuick = 50;

class DecodeView implements View, ReactiveController {
  #content: Content | undefined;
  #refused: string | undefined;
  #reading: TokenReading | undefined;
  #format: Format = "float32";
  /** The step that is shown, while it is one after the end of the text. The others are the state's query. */
  #at: number | undefined;
  #query = "";
  #playing: "text" | "on" | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The lengths of what is in the cache, once the model has gone on. */
  #longer: Lengths | undefined;
  /** The number of tokens that were measured last, and the milliseconds that this took. */
  #measured = { tokens: 0, time: 0 };
  #isMeasuring = false;
  #cacheCell: CacheCell | undefined;
  #look: Look | undefined;

  readonly #rows: DecodeRows;

  constructor(private readonly host: Host) {
    this.#rows = new DecodeRows(host);
    host.addController(this);
  }

  hostDisconnected(): void {
    this.#stop();
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".decode-scrub")?.focus();
  }

  clear(): void {
    this.#stop();
    this.#reading?.close();
    this.#reading = this.#content = this.#longer = undefined;
    this.#measured = { tokens: 0, time: 0 };
  }

  heads(): readonly (readonly [number, number])[] {
    return this.#content ? [[this.#content.layer, this.#content.head]] : [];
  }

  async load(maps: MapSource | undefined, signal: AbortSignal): Promise<void> {
    if (!maps?.run) return;
    const { layer, head } = this.host.state;
    checkHead(maps, layer, head);
    const { maps: before, layer: ofLayer, head: of } = this.#content ?? {};
    if (before === maps && ofLayer === layer && of === head) return this.host.drawn(this);
    const refused = refusal(maps.run);
    const content = refused === undefined ? await this.#contentOf(maps, maps.run, layer, head) : undefined;
    signal.throwIfAborted();
    const reading = content && (await this.#read(content));
    if (signal.aborted) reading?.close();
    signal.throwIfAborted();
    this.clear();
    this.#content = content;
    this.#reading = reading;
    this.#refused = refused;
    this.#at = undefined;
    this.host.drawn(this);
    if (content?.lengths === kNone) void this.#fetchLengths(content);
  }

  async #fetchLengths(content: Content): Promise<void> {
    try {
      content.lengths = await lengthsOf(content.run);
      this.host.requestUpdate();
    } catch (error) {
      if (content === this.#content) this.host.fail(error);
    }
  }

  async #contentOf(maps: MapSource, run: Run, layer: number, head: number): Promise<Content> {
    const known = this.#content?.maps === maps ? this.#content : undefined;
    const count = Math.min(maps.tokens.length, kMostRead);
    const [names, whole, overview] = await Promise.all([
      known?.names ?? namesOf(run),
      wholeMapOf(run, layer, head, count),
      overviewOf(maps, layer, head),
    ]);
    const telling = strongestRow(overview) ?? count - 1;
    const mask = run.of.attention === "cross" ? kOpen : causalMask(run.info.windows[layer]);
    const rows = { values: whole, width: maps.keyTokens.length };
    const lengths = known?.lengths ?? kNone;
    return { maps, run, layer, head, names, lengths, whole: rows, mask, telling, count };
  }

  /** Starts to read the text, and waits for the step that will be shown, unless that takes long. */
  async #read({ maps, run, layer, head, names, whole, count, telling }: Content): Promise<TokenReading> {
    const reading = new TokenReading(run, layer, head, this.#format, names, whole);
    let drawn = performance.now();
    const refresh = (): void => {
      if (reading !== this.#reading || performance.now() - drawn < kRefresh) return;
      drawn = performance.now();
      this.host.requestUpdate();
    };
    const all = reading.readText(refresh).then(() => this.host.requestUpdate());
    all.catch((error: unknown) => reading === this.#reading && this.host.fail(error));
    const wait = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));
    const last = performance.now() + kFirstWait;
    const wanted = Math.min(queryOf(maps, this.host, telling) + 1, count);
    const isEnough = (): boolean =>
      reading.tokens.length >= wanted || (reading.tokens.length > 0 && performance.now() > last);
    while (!isEnough()) await Promise.race([all, wait(1)]);
    return reading;
  }

  /** Reads the text again, with another format of the cache. */
  async #reread(format: Format): Promise<void> {
    const content = this.#content;
    if (!content) return;
    this.#stop();
    this.#format = format;
    this.#at = undefined;
    try {
      const reading = await this.#read(content);
      if (content !== this.#content || format !== this.#format) return reading.close();
      this.clear();
      [this.#content, this.#reading] = [content, reading];
      this.host.requestUpdate();
    } catch (error) {
      if (content === this.#content) this.host.fail(error);
    }
  }

  render(): TemplateResult {
    if (this.#refused !== undefined) return html`<p class="decode-note" part="decode">${this.#refused}</p>`;
    const [content, reading] = [this.#content, this.#reading];
    if (!content || !reading) return html``;
    const step = this.#step(content, reading);
    const token = reading.tokens[step];
    if (!token) return html``;
    const look = this.#lookOf(content);
    const isCross = content.run.of.attention === "cross";
    return html`
      <div class="decode" part="decode" @keydown=${this.#onKey}>
        ${this.#controls(content, reading, step)}
        ${this.#strip(content, reading, step, look)}
        ${isCross ? sourceStrip(content.maps.keyTokens, token, look) : nothing}
        <p class="decode-sentence" aria-live=${this.#playing ? "off" : "polite"}>${this.#sentence(content, reading, token, step)}</p>
        <div class="decode-parts">
          <section aria-label="The rows of the head">${this.#rows.render(content, reading, step, look)}</section>
          <section aria-label="The cache">${this.#cache(content, reading, token)}</section>
          <section aria-label="The next token">${nextTokens(token, this.#came(content, reading, step))} ${this.#going(content, reading)}</section>
        </div>
        <div>
          ${sizeInWords(content.run, token, reading.format)} ${exactness(reading, step)}
          ${content.count < content.maps.tokens.length ? html`<p class="decode-note">Only the first ${content.count} tokens are read.</p>` : nothing}
        </div>
        ${newestRow(token, this.#keyNames(content, reading, token))}
      </div>
    `;
  }

  /** The step that is shown. */
  #step(content: Content, reading: TokenReading): number {
    const { query } = this.host.state;
    if (query !== this.#query) this.#at = undefined;
    this.#query = query;
    const step = this.#at ?? Math.min(queryOf(content.maps, this.host, content.telling), content.count - 1);
    return Math.min(step, reading.tokens.length - 1);
  }

  #lookOf({ mask }: Content): Look {
    const scale = { kind: "fixed", colormap: "sequential", min: 0, max: 1 } as const;
    const { palette } = lookOf(scale, kOpen, this.host.colors);
    if (this.#look?.palette !== palette || this.#look.mask !== mask) this.#look = { scale, palette, mask };
    return this.#look;
  }

  // Steps.

  #go(step: number): void {
    const [content, reading] = [this.#content, this.#reading];
    if (!content || !reading) return;
    const to = Math.min(Math.max(step, 0), reading.tokens.length - 1);
    if (to < content.count) {
      this.#at = undefined;
      this.host.change({ query: String(to) });
    } else {
      this.#at = to;
    }
    this.host.requestUpdate();
  }

  async step(): Promise<Step> {
    this.#stop();
    const [content, reading] = [this.#content, this.#reading];
    if (!content || !reading) throw new Error(`step: ${this.#refused ?? "nothing is read yet"}`);
    const to = this.#step(content, reading) + 1;
    const isBeingRead = (): boolean => to >= reading.tokens.length && to < content.count && !reading.isClosed;
    while (isBeingRead()) await new Promise((later) => setTimeout(later, 1));
    if (to >= reading.tokens.length && !this.#canGoOn()) throw new Error("step: the text has ended, and the model goes on no further");
    if (to >= reading.tokens.length) await reading.goOn();
    this.#go(to);
    // A locked element keeps its pins, and steps all the same.
    if (this.#step(content, reading) !== to) this.#at = to;
    if (to >= content.count) void this.#measure();
    await this.host.updateComplete;
    return { row: to, token: reading.tokens[to]?.token ?? "" };
  }

  #stop(): void {
    clearTimeout(this.#timer);
    const wentOn = this.#playing === "on";
    this.#playing = undefined;
    this.host.requestUpdate();
    if (wentOn) void this.#measure();
  }

  /** Measures the cache with what the model went on with. Where that takes long, it waits for the end of the playing. */
  async #measure(): Promise<void> {
    const reading = this.#reading;
    const isSlow = this.#playing !== undefined && this.#measured.time > kQuick;
    if (!reading || this.#isMeasuring || isSlow || this.#measured.tokens === reading.tokens.length) return;
    this.#isMeasuring = true;
    const [began, tokens] = [performance.now(), reading.tokens.length];
    try {
      const longer = await reading.measure();
      if (reading === this.#reading) this.#longer = longer;
      this.#measured = { tokens, time: performance.now() - began };
      this.host.requestUpdate();
    } catch (error) {
      if (reading === this.#reading) this.host.fail(error);
      return;
    } finally {
      this.#isMeasuring = false;
    }
    void this.#measure();
  }

  #playText(): void {
    const [content, reading] = [this.#content, this.#reading];
    if (!content || !reading) return;
    const step = this.#step(content, reading);
    // Readers who want nothing to move go on step by step.
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.#go(step + 1 >= reading.tokens.length ? 0 : step + 1);
    this.#playing = "text";
    const tick = (to: number): void => {
      this.#go(to);
      if (to + 1 >= reading.tokens.length) return this.#stop();
      this.#timer = setTimeout(() => tick(to + 1), kTextPause);
    };
    tick(step + 1 >= reading.tokens.length ? 0 : step + 1);
  }

  /** Lets the model go on with so many tokens, until it ends the text or has no positions for more. */
  async #playOn(left: number): Promise<void> {
    const reading = this.#reading;
    if (!reading || left === 0 || !this.#canGoOn()) return this.#stop();
    this.#playing = "on";
    try {
      await reading.goOn();
    } catch (error) {
      this.#stop();
      if (reading === this.#reading) this.host.fail(error);
      return;
    }
    if (reading !== this.#reading) return;
    this.#go(reading.tokens.length - 1);
    void this.#measure();
    const isStopped = (this.#playing as unknown) !== "on";
    if (!isStopped) this.#timer = setTimeout(() => void this.#playOn(left - 1), left > 1 ? kOnPause : 0);
  }

  #canGoOn(): boolean {
    const [content, reading] = [this.#content, this.#reading];
    const last = reading?.tokens.at(-1);
    if (!content || !reading || !last || reading.tokens.length < content.count) return false;
    const isAtEnd = reading.tokens.length > content.count && isEnd(last);
    const isWhole = content.count === content.maps.tokenCount;
    return isWhole && !isAtEnd && last.length < content.run.info.maxPositions;
  }

  // These methods draw.

  #controls({ maps, run, layer, head, count }: Content, { tokens }: TokenReading, step: number): TemplateResult {
    const last = tokens.length - 1;
    const button = (sign: string, words: string, none: boolean, act: () => void): TemplateResult =>
      html`<button class="decode-button" aria-label=${words} title=${words} ?disabled=${none} @click=${act}>${sign}</button>`;
    const onScrub = (event: Event): void => {
      this.#stop();
      this.#go(Number((event.target as HTMLInputElement).value));
    };
    const valueOf = (event: Event): string => (event.target as HTMLSelectElement).value;
    const toHead = (event: Event): void => {
      const [toLayer = 0, to = 0] = valueOf(event).split(".").map(Number);
      this.host.showHead(toLayer, to);
    };
    const heads = maps.heads.flatMap((of, index) => Array.from({ length: of }, (_, other) => `${index}.${other}`));
    const option = (value: string, chosen: string): TemplateResult => html`<option ?selected=${value === chosen}>${value}</option>`;
    const isPlaying = this.#playing === "text";
    return html`
      <div class="decode-controls">
        ${button("◀", "One step back", step === 0, () => this.#go(step - 1))}
        ${button(isPlaying ? "❚❚" : "▶", isPlaying ? "Pause" : "Play the reading", this.#playing === "on", () => (isPlaying ? this.#stop() : this.#playText()))}
        ${button("▶❘", "One step on", step >= last, () => this.#go(step + 1))}
        <input class="decode-scrub" type="range" min="0" max=${last} .value=${String(step)} aria-label="Step" aria-valuetext=${`step ${step + 1} of ${tokens.length}, ${tokenName(tokens[step]?.token ?? "")}`} @input=${onScrub} />
        <span class="decode-count">${step + 1} / ${tokens.length}${tokens.length < count ? html` <small role="status">reading ${count} …</small>` : nothing}</span>
        <label>Head <select @change=${toHead}>${heads.map((of) => option(of, `${layer}.${head}`))}</select></label>
        <label>Cache <select class="decode-format" @change=${(event: Event): void => void this.#reread(valueOf(event) as Format)}>${Object.keys(kFormats).map((of) => option(of, this.#format))}</select></label>
      </div>
      ${hasOtherChanges(run) ? html`<p class="decode-note">Blanked tokens and forbidden links are changes of a whole text, and are not in these numbers.</p>` : nothing}
    `;
  }

  /** The tokens of the reading, tinted by what the newest looks at. */
  #strip({ run, maps, count }: Content, { tokens }: TokenReading, step: number, look: Look): TemplateResult {
    const token = tokens[step];
    const isCross = run.of.attention === "cross";
    const colors = token && !isCross ? rowColors(asPicture(token.row), { ...look, mask: kOpen }) : undefined;
    const all = [...maps.tokens.slice(0, count), ...tokens.slice(count).map((of) => of.token)];
    const chip = (name: string, index: number): TemplateResult => {
      const isRead = index <= step;
      const at = index - (token?.firstKey ?? 0);
      const weight = token && !isCross && isRead && at >= 0 ? token.row[at] : undefined;
      const tint = weight === undefined || !colors ? "" : tintStyle(colors.subarray(at * 4, at * 4 + 4));
      const classes = `decode-chip ${index === step ? "decode-now" : ""} ${isRead ? "" : "decode-later"} ${isRead && at < 0 ? "decode-gone" : ""} ${index >= count ? "decode-made" : ""}`;
      const about = `${tokenName(name)}${weight === undefined ? "" : `, ${exact(weight)}`}`;
      return html`<button class=${classes} .style=${tint} tabindex=${index === step ? 0 : -1} aria-label=${about} title=${about} aria-current=${index === step ? "step" : nothing} ?disabled=${index >= tokens.length} @pointerenter=${(): void => this.host.point({ row: index })} @click=${(): void => this.#go(index)}>${tokenLabel(name)}</button>`;
    };
    return html`<div class="decode-strip scrolled" role="group" aria-label="Tokens; arrow keys step" @pointerleave=${(): void => this.host.point(undefined)} @keydown=${(event: KeyboardEvent): void => this.#onStrip(event, step)}>${all.map(chip)}</div>`;
  }

  #sentence(content: Content, reading: TokenReading, read: ReadToken, step: number): string {
    const { run, layer, head } = content;
    const { row, firstKey, length, token } = read;
    const most = row.reduce((best, weight, index) => (weight > (row[best] ?? 0) ? index : best), 0);
    const name = tokenName(this.#keyNames(content, reading, read)[most] ?? "");
    const joined = run.info.layers * run.info.kvHeads;
    const look = row.length === 1 ? "it can look at itself only" : `most goes to ${name}, ${exact(row[most] ?? NaN)}`;
    const left = firstKey > 0 ? ` ${firstKey} of ${length} tokens have left the cache, which keeps a window.` : "";
    return `Step ${step + 1} reads ${tokenName(token)}. Head ${layer}.${head} gets a new row of ${row.length} ${row.length === 1 ? "weight" : "weights"}: ${look}. ${joined} keys and ${joined} values join the cache.${left}`;
  }

  #cache(content: Content, { tokens }: TokenReading, token: ReadToken): TemplateResult {
    const { maps, run: { info }, layer, head, count } = content;
    const state: CacheState = {
      info,
      lengths: this.#longer ?? content.lengths,
      tokens: tokens.length < count ? maps.tokens : tokens.map((of) => of.token),
      room: Math.max(count, tokens.length),
      firstKey: token.firstKey,
      length: token.length,
      open: [layer, Math.floor((head * info.kvHeads) / info.heads)],
      bytesOfNumber: kFormats[this.#format],
    };
    const point = (cell: CacheCell | undefined): void => {
      this.#cacheCell = cell;
      this.host.requestUpdate();
    };
    return cachePicture(state, this.host.colors, this.#cacheCell, point);
  }

  /** The token that came after a step: the text's, or the one that the model went on with. */
  #came({ count }: Content, { tokens }: TokenReading, step: number): ReadToken["came"] {
    const [token, after] = [tokens[step], tokens[step + 1]];
    const likeliest = token?.expected[0];
    return token?.came ?? (after && likeliest && step + 1 >= count ? { ...likeliest, rank: 1 } : undefined);
  }

  /** The names of the columns of a row. */
  #keyNames({ maps, run }: Content, { tokens }: TokenReading, { firstKey }: ReadToken): readonly string[] {
    return run.of.attention === "cross" ? maps.keyTokens : tokens.slice(firstKey).map((of) => of.token);
  }

  #going(content: Content, { tokens }: TokenReading): TemplateResult {
    const { run, count, maps } = content;
    const made = tokens.slice(count);
    const words = made.filter((of) => !isEnd(of)).map((of) => of.token);
    const canGoOn = this.#canGoOn();
    const isPlaying = this.#playing === "on";
    const put = (): void => {
      this.#stop();
      this.host.change({ text: run.reading.text + textOf(words) });
    };
    const last = made.at(-1);
    const why = last && isEnd(last)
      ? `${tokenName(last.token)} ends the text.`
      : count < maps.tokenCount ? "Only the beginning of the text is read." : "The model has no positions for more.";
    const isAtEnd = tokens.length >= count;
    return html`
      <div class="decode-going">
        <button class="decode-action" data-go="one" ?disabled=${!canGoOn || isPlaying} @click=${(): void => void this.#playOn(1)}>Let the model go on</button>
        <button class="decode-action" data-go="play" ?disabled=${!canGoOn && !isPlaying} @click=${(): void => (isPlaying ? this.#stop() : void this.#playOn(kMostOn))}>${isPlaying ? "Stop" : `Play ${kMostOn} tokens`}</button>
        ${made.length > 0 ? html`<p class="decode-text"><bdi>…${textOf(words)}</bdi></p><button class="decode-action" data-go="put" ?disabled=${words.length === 0} @click=${put}>Put into the text</button>` : nothing}
        ${isAtEnd && !canGoOn ? html`<p class="decode-note">${why}</p>` : nothing}
      </div>
    `;
  }

  // Keys.

  #onStrip(event: KeyboardEvent, step: number): void {
    const moves: Readonly<Record<string, number>> =
      { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: Infinity };
    const to = moves[event.key];
    if (to === undefined || event.altKey || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    this.#stop();
    this.#go(to);
    const root = this.host.renderRoot;
    void this.host.updateComplete.then(() => root.querySelector<HTMLElement>("button.decode-now")?.focus());
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.key !== "Escape") return;
    if (this.#playing) this.#stop();
    else if (!free(this.host)) return;
    event.preventDefault();
  };
}

export const decodeView: ViewCode = { styles: kDecodeStyles, create: (host) => new DecodeView(host) };
