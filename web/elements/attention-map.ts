// SPDX-License-Identifier: Apache-2.0
/**
 * `<attention-map text="…">` draws the attention of every head of a model that reads a text, which it computes in the
 * page, or arrays that were computed elsewhere.
 *
 * Attributes: `text`, `model` (a built-in name or the URL of a Hugging Face folder), `src` (the URL of a file with maps),
 * `view` (grid, map or steps), `layer` and `head` (from 0), `causal`, `scale` (auto, fixed, head, row or log), `theme`
 * (auto, light or dark). A child `<script type="application/json">` has maps in the page itself. `weights`, or `queries`
 * and `keys`, go before `src`, `src` before the child, and all of them before `text`.
 * Properties besides: `weights` ([T,S], [H,T,S], [L,H,T,S], or a list of one [H,T,S] for each layer), or `queries` and
 * `keys` ([T,d], [H,T,d] or [L,H,T,d]) with `softmaxScale`; with both, `mask` ([T,S], nonzero where a query may look),
 * `tokens` and `keyTokens`; `example` for the steps. Arrays are tensors (`{ data, shape }`) or nested lists of numbers;
 * they are borrowed and must not change while they are shown.
 * Its events are those of AttentionMapEvents. Its parts are grid, map and steps; thumb, canvas, label, bar, title, back,
 * readout, plot, crosshair, minimap, legend, scale and table; shortened, understood and export. Its custom properties
 * are --attention-paper, -ink, -faint, -line, -stripe (of masked cells), -accent and -mono (a font), and for the maps
 * themselves --attention-low and -high, with -negative for signed numbers.
 */
import { LitElement, html, nothing } from "lit";
import type { CSSResultGroup, PropertyDeclarations, PropertyValues, TemplateResult } from "lit";
import type { Given } from "../files/given-maps.js";
import type { Computing } from "../maps/computing.js";
import { givenMaps } from "../maps/given.js";
import type { Numbers, Weights } from "../maps/nested.js";
import type { Colors } from "../maps/canvas.js";
import { kScales, type ScaleChoice } from "../maps/scale.js";
import { isReleased, type Lease, type MapSource, nextTurn } from "../maps/source.js";
import { kAttributes, kInitial } from "../state/state.js";
import { kMapViews } from "../views/index.js";
import type { Host, View, ViewKind } from "../views/view.js";
import { kCatSatOnMat } from "../views/worked-example.js";
import type { WorkedExample } from "../views/worked-example.js";
import { DeclaredMaps } from "./declared.js";
import { ExportMenu } from "./export-menu.js";
import { type Shown, toCSV, toEmbedCode, toHTML, toJSON, toNPY, toPNG, toSVG } from "./exports.js";
import { kAfter, kBefore } from "./styles.js";
import { RoomController } from "./room.js";
import type { Script } from "./script.js";
import { endsOf, kThemes, ThemeController } from "./theme.js";
import { takeTurn } from "./turns.js";

/** The details of the events. All events bubble and cross shadow roots. */
export interface AttentionMapEvents {
  /** New pictures have been drawn. */
  "attention-draw": {
    view: string;
    /** The text that was read; empty for given arrays. */
    text: string;
    tokens: readonly string[];
    keyTokens: readonly string[];
    /** The number of tokens of the whole text. It exceeds `tokens` when the model has no positions for the rest. */
    tokenCount: number;
    layers: number;
    /** The number of heads of each layer; the largest, where they differ. */
    heads: number;
    /** The time from the inputs to the painted canvases. */
    milliseconds: number;
  };
  /** Nothing could be drawn. The element also shows the message. */
  "attention-error": { error: Error };
  /** A head was chosen by click or key. It opens unless the event is prevented. */
  "head-select": { layer: number; head: number };
  /** The arrow keys moved to a head in the grid. */
  "head-focus": { layer: number; head: number };
  /** The reader asked to go back to all heads. The grid is shown unless the event is prevented. */
  "head-close": { layer: number; head: number };
  /**
   * The highlighted cell of the open head, and the colours (RGBA) of the cells in its row; null without a highlighted
   * cell, and while the row is still being computed.
   */
  "cell-change": { row: number | null; col: number | null; colors: Uint8ClampedArray | null };
}

/** Listeners get the events above with their details. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- it adds types to methods that are there
export interface AttentionMap {
  addEventListener<Name extends keyof AttentionMapEvents>(
    type: Name,
    listener: (this: AttentionMap, event: CustomEvent<AttentionMapEvents[Name]>) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<Name extends keyof AttentionMapEvents>(
    type: Name,
    listener: (this: AttentionMap, event: CustomEvent<AttentionMapEvents[Name]>) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | EventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "attention-map": AttentionMap;
  }
}

/** Runs that take longer than this, in milliseconds, show how far they are. */
const kPatience = 300;

/** Everything that a picture depends on. Two inputs are compared field by field. */
interface Inputs {
  readonly maps: readonly unknown[];
  readonly picture: readonly unknown[];
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- as above
export class AttentionMap extends LitElement {
  /** @internal The views by name. The first is the default. */
  static views: readonly ViewKind[] = kMapViews;
  /** @internal What computes maps. Without it the element draws only arrays of weights. */
  static computing: Computing | undefined;
  /** @internal The scripts that exported pages need. */
  static script: Script | undefined;
  static override get styles(): CSSResultGroup {
    return [kBefore, ...this.views.map(({ styles }) => styles), ...kAfter];
  }
  static override properties: PropertyDeclarations = {
    ...kAttributes,
    weights: { attribute: false },
    queries: { attribute: false },
    keys: { attribute: false },
    softmaxScale: { attribute: false },
    mask: { attribute: false },
    tokens: { attribute: false },
    keyTokens: { attribute: false },
    example: { attribute: false },
  };

  declare text: string;
  declare model: string;
  declare src: string;
  declare view: string;
  declare layer: number;
  declare head: number;
  declare causal: boolean;
  declare scale: string;
  declare theme: string;
  declare weights: Weights | undefined;
  declare queries: Numbers | undefined;
  declare keys: Numbers | undefined;
  declare softmaxScale: number | undefined;
  declare mask: Numbers | undefined;
  declare tokens: readonly string[] | undefined;
  declare keyTokens: readonly string[] | undefined;
  declare example: WorkedExample;

  /** The colours as of the last update. */
  #colors: Colors = { theme: "light" };
  readonly #host: Host = AttentionMap.#hostOf(this);
  readonly #theme = new ThemeController(this);
  readonly #room = new RoomController(this);
  readonly #declared = new DeclaredMaps(this);
  readonly #menu = new ExportMenu(this);
  readonly #views = new Map<ViewKind, View>();

  #near = false;
  #busy = false;
  #tried: Inputs | undefined;
  #lease: { inputs: readonly unknown[]; lease: Lease } | undefined;
  /** A sentence that says how the declared maps that are about to be drawn were understood. */
  #understood: string | undefined;
  /** The view that has something to draw. */
  #drawn: View | undefined;
  #error: Error | undefined;
  #progress: { loaded: number; total: number } | undefined;
  /** The share of a run of the model that is done, once it has taken some time. */
  #computed: number | undefined;
  #moveFocus = false;
  /** Ends the run under way when its inputs are no longer wanted. */
  #abort = new AbortController();

  /** Work starts when the element comes close to the visible part of the page. Visible elements go first. */
  readonly #nearness = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      this.#near = true;
      this.requestUpdate();
    },
    { rootMargin: "50%" },
  );

  constructor() {
    super();
    Object.assign(this, kInitial);
    this.weights = undefined;
    this.queries = undefined;
    this.keys = undefined;
    this.softmaxScale = undefined;
    this.mask = undefined;
    this.tokens = undefined;
    this.keyTokens = undefined;
    this.example = kCatSatOnMat;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#nearness.observe(this);
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#nearness.disconnect();
    // An element that is only moved is connected again before this runs.
    setTimeout(() => this.isConnected || this.#release());
  }

  override willUpdate(): void {
    const [theme, ends] = [this.#theme.of(this.theme), endsOf(this)];
    const { theme: before, ends: endsBefore } = this.#colors;
    const isSame = theme === before && JSON.stringify(ends) === JSON.stringify(endsBefore);
    if (!isSame) this.#colors = { theme, ends };
  }

  override updated(changed: PropertyValues<this>): void {
    // The same pictures may be asked for by a scroll, and only other inputs end a run.
    if (changed.size > 0 && this.#tried && !isSame(this.#inputs(), this.#tried)) this.#abort.abort();
    if (this.#near) void this.#catchUp();
  }

  override render(): TemplateResult {
    const { height, isCompact } = this.#room.room;
    const isLimited = height < Infinity;
    const menu = this.#drawn && !this.#error ? this.#menu.render(isLimited || isCompact) : nothing;
    return html`<div class="room"></div><div class="root ${this.#colors.theme} ${isLimited ? "limited" : ""}">${this.#content()} ${menu}</div>`;
  }

  #content(): TemplateResult {
    if (this.#error) return html`<div class="message" role="alert"><p>${this.#error.message}</p><button @click=${this.retry}>Try again</button></div>`;
    const computed = this.#computed;
    const running = computed === undefined ? nothing : html`<progress class="running" aria-label="Computing" .value=${computed}></progress>`;
    return this.#drawn
      ? html`${running} ${this.#shortened()} ${this.#drawn.render()} ${this.#declaration()}`
      : html`${running} ${this.#waiting()}`;
  }

  /** Says how declared maps were understood, which could not be seen otherwise. */
  #declaration(): TemplateResult | typeof nothing {
    const understood = this.#lease?.lease.understood;
    return understood && this.#kind?.hasMaps ? html`<p class="shortened" part="understood">${understood}</p>` : nothing;
  }

  /** Says that only the beginning of the text is shown, since the pictures look complete. */
  #shortened(): TemplateResult | typeof nothing {
    const maps = this.#lease?.lease.maps;
    if (!maps || maps.tokenCount <= maps.tokens.length || !this.#kind?.hasMaps) return nothing;
    return html`<p class="shortened" part="shortened">Only the first ${maps.tokens.length} of ${maps.tokenCount} tokens: the model has no positions for more.</p>`;
  }

  #waiting(): TemplateResult {
    const isDrawing = !AttentionMap.computing;
    if (this.#isEmpty()) return html`<div class="message"><p>No ${isDrawing ? "maps" : "text"} yet.</p></div>`;
    const { loaded = 0, total = 0 } = this.#progress ?? {};
    const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
    const amount = total > 0 ? `${megabytes(loaded)} of ${megabytes(total)} MB` : "";
    const isEngine = this.#hasArrays() || !this.#kind?.hasMaps;
    const what = this.#lease ? "Computing" : `Loading the ${isEngine ? "engine" : this.#isGiven() ? "file" : "model"}`;
    return html`<div class="message" role="status">
      <p>${this.#understood ?? `${what} … ${amount}`}</p>
      ${total > 0 ? html`<progress aria-label="Loading" max=${total} .value=${loaded}></progress>` : nothing}
    </div>`;
  }

  /** Focuses the map of the open head, or the chosen head in the grid. */
  override focus(): void {
    this.#moveFocus = false;
    this.#drawn?.focus();
  }

  // These take elsewhere what is shown. Each rejects where nothing is drawn, or where the result would be too large.

  /** The visible content as a vector graphic. */
  toSVG(): Promise<string> {
    return this.#export(toSVG);
  }

  /** The visible content as a PNG with `scale` pixels, 1 to 4, for each pixel of CSS. */
  toBlob({ scale = 2 }: { scale?: number } = {}): Promise<Blob> {
    return this.#export((shown) => toPNG(shown, scale));
  }

  /** The numbers of the shown heads, a line for each cell, as `headlens map` writes them. */
  toCSV(): Promise<string> {
    return this.#export(toCSV);
  }

  /** The numbers of the shown heads as nested lists, with tokens and mask, or the matrices of the steps. */
  toJSON(): Promise<string> {
    return this.#export(toJSON);
  }

  /** The numbers as a .npy file: float32 [T,S] of one head, or [L,H,T,S]. */
  toNPY(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#export(toNPY);
  }

  /** A page with the maps and the script that draws them inside, which opens offline. */
  toHTML(): Promise<string> {
    return this.#export(toHTML);
  }

  /** The lines of HTML that show the same in another page. */
  toEmbedCode(): Promise<string> {
    return this.#export(toEmbedCode);
  }

  async #export<T>(make: (shown: Shown) => Promise<T>): Promise<T> {
    const view = this.#drawn;
    const root = this.renderRoot.querySelector(".root");
    if (!view || !root) throw new Error("nothing is drawn yet: wait for attention-draw");
    await this.updateComplete;
    const maps = this.#kind?.hasMaps ? this.#lease?.lease.maps : undefined;
    const { text, model, src, view: name, layer, head, causal, scale, theme } = this;
    const state = { text, model, src, view: name, layer, head, causal, scale, theme };
    const isGiven = this.#isGiven() && src === "";
    return make({ root, view, maps, theme: this.#colors.theme, state, isGiven, script: AttentionMap.script });
  }

  /** Tries again after a failure. */
  readonly retry = (): void => {
    this.#tried = undefined;
    this.#error = undefined;
    this.requestUpdate();
  };

  /** The side of the element that its views see, and the page does not. */
  static #hostOf(element: AttentionMap): Host {
    return {
      get renderRoot() { return element.renderRoot; },
      get updateComplete() { return element.updateComplete; },
      requestUpdate: () => element.requestUpdate(),
      addController: (controller) => element.addController(controller),
      removeController: (controller) => element.removeController(controller),
      get layer() { return element.layer; },
      get head() { return element.head; },
      set head(head) { element.head = head; },
      get causal() { return element.causal; },
      set causal(causal) { element.causal = causal; },
      get example() { return element.example; },
      get scaleChoice() { return element.#scaleChoice; },
      get colors() { return element.#colors; },
      get room() { return element.#room.room; },
      drawn: (view) => element.#show(view),
      openHead: (layer, head, view) => element.#openHead(layer, head, view),
      showHead(layer, head) {
        [element.layer, element.head] = [layer, head];
        element.#emit("head-focus", { layer, head });
      },
      visitHead: (layer, head) => void element.#emit("head-focus", { layer, head }),
      closeHead: (view) => element.#closeHead(view),
      visitCell: (cell, colors) => void element.#emit("cell-change", { row: cell?.row ?? null, col: cell?.col ?? null, colors: colors ?? null }),
      fail: (error) => element.#fail(error),
    };
  }

  get #scaleChoice(): ScaleChoice {
    return kScales.find((known) => known === this.scale) ?? "auto";
  }

  #openHead(layer: number, head: number, view: string): void {
    [this.layer, this.head] = [layer, head];
    if (!this.#emit("head-select", { layer, head })) return;
    this.view = view;
    this.#moveFocus = true;
  }

  #closeHead(view: string): void {
    if (!this.#emit("head-close", { layer: this.layer, head: this.head })) return;
    this.view = view;
    this.#moveFocus = true;
  }

  #fail(error: unknown): void {
    // Newer inputs end and release what was asked for before, which is nothing to report.
    if (!this.isConnected || isEnded(error)) return;
    this.#error = error instanceof Error ? error : new Error(String(error));
    this.#progress = undefined;
    this.#moveFocus = false;
    this.requestUpdate();
    this.#emit("attention-error", { error: this.#error });
  }

  // From inputs to pictures.

  get #kind(): ViewKind | undefined {
    return AttentionMap.views.find(({ name }) => name === this.view);
  }

  #hasArrays(): boolean {
    return Boolean(this.weights ?? this.queries ?? this.keys);
  }

  #isGiven(): boolean {
    return this.#hasArrays() || this.#declared.source.length > 0;
  }

  #isEmpty(): boolean {
    return this.#kind?.hasMaps !== false && !this.#isGiven() && this.text === "";
  }

  #inputs(): Inputs {
    const { weights, queries, keys, softmaxScale, mask, tokens, keyTokens, causal, model, text } = this;
    const kind = this.#kind;
    const declared = this.#hasArrays() ? [] : this.#declared.source;
    const given = [weights, queries, keys, softmaxScale, mask, tokens, keyTokens, causal, ...declared];
    const maps = kind?.hasMaps === false ? [] : this.#isGiven() ? given : [model, text];
    const isKnown = this.#scaleChoice === this.scale && kThemes.some((theme) => theme === this.theme);
    const words = isKnown ? "" : `${this.scale} ${this.theme}`;
    return { maps, picture: [this.view, words, ...(kind?.watches.map((name) => this.#host[name]) ?? [])] };
  }

  /**
   * Runs once at a time, always with the newest inputs. All changes during a run lead to one more run, so the last
   * input wins.
   */
  async #catchUp(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let inputs = this.#inputs(); this.isConnected && !isSame(inputs, this.#tried); inputs = this.#inputs()) {
        this.#tried = inputs;
        this.#abort = new AbortController();
        const { signal } = this.#abort;
        await takeTurn(this, () => this.#run(inputs, signal));
      }
    } finally {
      this.#busy = false;
    }
  }

  async #run(inputs: Inputs, signal: AbortSignal): Promise<void> {
    const started = performance.now();
    const text = this.#isGiven() ? "" : this.text;
    try {
      if (this.#isEmpty()) return this.#show(undefined);
      const kind = this.#knownKind();
      const view = this.#views.get(kind) ?? kind.create(this.#host);
      this.#views.set(kind, view);
      const maps = kind.hasMaps ? await this.#open(inputs, signal, view) : undefined;
      this.#computed = undefined;
      if (!this.isConnected || signal.aborted) return;
      await view.load(maps, signal);
      if (!this.isConnected || signal.aborted) return;
      await this.updateComplete;
      if (this.#moveFocus) this.focus();
      if (maps) this.#announce(maps, text, performance.now() - started);
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    } finally {
      this.#computed = undefined;
    }
  }

  #show(view: View | undefined): void {
    this.#drawn = view;
    this.#error = undefined;
    this.#progress = undefined;
    this.requestUpdate();
  }

  #knownKind(): ViewKind {
    checkKnown("scale", this.scale, kScales);
    checkKnown("theme", this.theme, kThemes);
    checkKnown("view", this.view, AttentionMap.views.map(({ name }) => name));
    return this.#kind as ViewKind;
  }

  /** Returns the maps of these inputs, which are opened once as long as the inputs stay the same. */
  async #open({ maps: inputs }: Inputs, signal: AbortSignal, view: View): Promise<MapSource> {
    if (this.#lease && isEqual(this.#lease.inputs, inputs)) return this.#lease.lease.maps;
    const lease = await this.#openNew(signal);
    if (signal.aborted || !this.isConnected) {
      lease.release();
      signal.throwIfAborted();
    }
    const before = this.#lease;
    this.#lease = { inputs, lease };
    if (before) {
      // Views of the maps before would ask for more of them.
      for (const other of this.#views.values()) if (other !== view) other.clear?.();
      before.lease.release();
    }
    return lease.maps;
  }

  async #openNew(signal: AbortSignal): Promise<Lease> {
    const { weights, queries, keys, model, text } = this;
    this.#understood = undefined;
    if (this.#hasArrays()) return this.#openGiven({ weights, queries, keys });
    if (this.#isGiven()) return this.#openGiven(await this.#readDeclared(signal));
    const computing = this.#expectComputing("text");
    await computing.loadModel(model, signal, (loaded, total) => {
      this.#progress = { loaded, total };
      this.requestUpdate();
    });
    const began = performance.now();
    return computing.modelMaps(model, text, signal, (done) => {
      if (signal.aborted || performance.now() - began < kPatience) return;
      this.#computed = done;
      this.requestUpdate();
    });
  }

  /** Reads declared maps, and says how they were understood before they are drawn. */
  async #readDeclared(signal: AbortSignal): Promise<Given> {
    const given = await this.#declared.read(signal, (loaded, total) => {
      this.#progress = { loaded, total };
      this.requestUpdate();
    });
    this.#understood = given.understood;
    this.#progress = undefined;
    this.requestUpdate();
    await nextTurn();
    return given;
  }

  /** Opens given arrays. What the element has besides, such as tokens, goes before what a file has. */
  #expectComputing(what: string): Computing {
    const { computing } = AttentionMap;
    if (computing) return computing;
    throw new Error(`${what}: this script only draws arrays of weights; headlens/element computes`);
  }

  async #openGiven({ weights, queries, keys, ...given }: Partial<Given>): Promise<Lease> {
    const { mask = given.mask, tokens = given.tokens, keyTokens = given.keyTokens } = this;
    const softmaxScale = this.softmaxScale ?? given.softmaxScale;
    const beside = { mask, tokens, keyTokens, causal: this.causal || given.causal === true };
    const { known, understood } = given;
    if (weights) return { ...givenMaps({ weights, known, ...beside }), understood };
    if (!queries || !keys) throw new Error(`${queries ? "keys" : "queries"} is missing: maps are computed from both`);
    const computing = this.#expectComputing("queries and keys");
    return { ...(await computing.computedMaps({ queries, keys, softmaxScale, ...beside })), understood };
  }

  #release(): void {
    this.#abort.abort();
    for (const view of this.#views.values()) view.clear?.();
    this.#lease?.lease.release();
    this.#lease = undefined;
    this.#drawn = undefined;
    this.#tried = undefined;
  }

  #announce({ tokens, keyTokens, tokenCount, heads }: MapSource, text: string, milliseconds: number): void {
    const { view } = this;
    const names = { view, text, tokens, keyTokens, tokenCount };
    this.#emit("attention-draw", { ...names, layers: heads.length, heads: Math.max(...heads), milliseconds });
  }

  /** Returns false when a listener prevented the default. */
  #emit<Name extends keyof AttentionMapEvents>(name: Name, detail: AttentionMapEvents[Name]): boolean {
    const cancelable = name === "head-select" || name === "head-close";
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable }));
  }
}

function checkKnown(name: string, value: string, known: readonly string[]): void {
  if (!known.includes(value)) throw new Error(`${name}: ${JSON.stringify(value)} is not known; ${known.join(", ")} are`);
}

function isEnded(error: unknown): boolean {
  return isReleased(error) || (error instanceof DOMException && error.name === "AbortError");
}

const isEqual = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, index) => Object.is(value, b[index]));

const isSame = (a: Inputs, b: Inputs | undefined): boolean =>
  b !== undefined && isEqual(a.maps, b.maps) && isEqual(a.picture, b.picture);
