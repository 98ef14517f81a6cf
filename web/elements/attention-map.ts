// SPDX-License-Identifier: Apache-2.0
/**
 * `<attention-map text="…">` draws the attention of every head of a model that reads a text, which it computes in the
 * page, or arrays that were computed elsewhere.
 *
 * Attributes are the fields of the state (state.ts), written with hyphens: `text`, `text-pair`, `source`, `image`, `model`
 * (a built-in name or the URL of a Hugging Face folder), `src` (the URL of a file with maps), `view`, `layer` and `head`
 * (from 0), `query` and `key` (what is pinned), `scale` (auto, fixed, head, row or log), `theme` (auto, light or dark), and
 * those that merge, filter, combine and compare maps or change the model. Besides: `group`, the name of elements that show
 * the same, and `controls` (minimal, full or none). The views are grid, map, lines and strips, also of given maps; sentence,
 * next, numbers, why, effect, picture, decode, finder, composition, flow and compare, of a model; and steps, a worked example.
 * A child `<script type="application/json">` has maps in the page itself. `weights`, or `queries` and `keys`, go before
 * `src`, `src` before the child, and all of them before `text`.
 * Properties besides: `weights` ([T,S], [H,T,S], [L,H,T,S], or a list of one [H,T,S] for each layer), or `queries` and
 * `keys` ([T,d], [H,T,d] or [L,H,T,d]) with `softmaxScale`; with both, `mask` ([T,S], nonzero where a query may look),
 * `tokens` and `keyTokens`; `example` for the steps. Arrays are tensors (`{ data, shape }`) or nested lists of numbers;
 * they are borrowed and must not change while they are shown.
 * Its events are those of AttentionMapEvents. Each view is a part under its name; the others are thumb, badge, canvas,
 * label, bar, title, name, back, tab, tabs, readout, plot, crosshair, pin, minimap, legend, scale, strip, token, finding,
 * table, settings, changes, shortened, understood and export. Its custom properties are --attention-paper, -ink, -faint,
 * -line, -stripe (of masked cells), -accent and -mono (a font), and for the maps themselves --attention-low and -high, with
 * -negative for signed numbers.
 */
import { adoptStyles, LitElement, html, nothing } from "lit";
import type { CSSResult, CSSResultGroup, PropertyDeclarations, PropertyValues, TemplateResult } from "lit";
import type { Naming } from "../heads/naming.js";
import type { Computing } from "../maps/computing.js";
import type { Numbers, Weights } from "../maps/nested.js";
import type { Colors } from "../maps/canvas.js";
import { kScales, type ScaleChoice } from "../maps/scale.js";
import { kShaping, ShapedMaps, shapeOf } from "../maps/shaped.js";
import { isReleased, type Lease, type MapSource, piecesOf } from "../maps/source.js";
import { Group, type Member } from "../state/group.js";
import { kAttributes, kInitial, kNames, type State } from "../state/state.js";
import { kMapViews } from "../views/index.js";
import type { Host, View, ViewCode, ViewKind } from "../views/view.js";
import { kCatSatOnMat } from "../views/worked-example.js";
import type { WorkedExample } from "../views/worked-example.js";
import { DeclaredMaps } from "./declared.js";
import type { Shown } from "./exports.js";
import { kAfter, kBefore } from "./styles.js";
import { RoomController } from "./room.js";
import type { Script } from "./script.js";
import { headBar, onHeadKey } from "./head-bar.js";
import { dependencies, type Following, hasArrays, type Inputs as MapInputs, isGiven, isRead, openMaps } from "./opening.js";
import { endsOf, kThemes, ThemeController } from "./theme.js";
import { takeTurn } from "./turns.js";
import { waiting } from "./waiting.js";

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
  /** The reader changed the state of the element. */
  "state-change": { changes: Partial<State> };
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
    return [...kBefore, ...this.views.flatMap(({ code }) => ("styles" in code ? [code.styles] : [])), ...kAfter];
  }
  static override properties: PropertyDeclarations = {
    ...kAttributes,
    group: {},
    controls: {},
    weights: { attribute: false },
    queries: { attribute: false },
    keys: { attribute: false },
    softmaxScale: { attribute: false },
    mask: { attribute: false },
    tokens: { attribute: false },
    keyTokens: { attribute: false },
    example: { attribute: false },
  };

  // The fields of the state, which are described in state.ts.
  declare text: string;
  declare textPair: string;
  declare source: string;
  declare image: string;
  declare model: string;
  declare src: string;
  declare view: string;
  declare layer: number;
  declare head: number;
  declare attention: string;
  declare heads: string;
  declare combine: string;
  declare query: string;
  declare key: string;
  declare against: string;
  declare causal: boolean;
  declare lines: string;
  declare scale: string;
  declare threshold: number;
  declare topK: number;
  declare hide: string;
  declare merge: string;
  declare segments: string;
  declare ablate: string;
  declare zeroToken: string;
  declare forbid: string;
  declare temperature: number;
  declare normalizer: string;
  declare compareText: string;
  declare compareHead: string;
  declare compareModel: string;
  declare theme: string;
  /** Elements of a page with the same group show the same, and share the place under the pointer. */
  declare group: string;
  /** "minimal", or "full" for the views of a head to choose from and all settings, or "none". */
  declare controls: string;
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
  /** Code that is loaded when it is first wanted: the settings, and the menu that exports. */
  #settings: typeof import("./drawer.js") | undefined;
  #menu: import("./export-menu.js").ExportMenu | undefined;
  readonly #views = new Map<ViewKind, View>();
  /** The names of heads, whose code is loaded after the first maps have been drawn. */
  #naming: Naming | undefined;
  /** The styles of views whose code was loaded later. */
  readonly #loadedStyles: CSSResult[] = [];
  #group = new Group();
  readonly #member: Member = AttentionMap.#memberOf(this);
  /** The changes that came from the group, which need not go back to it. */
  #taken: Partial<State> = {};
  #hasTold = false;

  #near = false;
  /** Settled when it is known that the element is near or not. */
  readonly #placed = waiting();
  #busy = false;
  /** Settled when the runs under way have ended. */
  #idle = waiting();
  #tried: Inputs | undefined;
  #lease: { inputs: readonly unknown[]; lease: Lease } | undefined;
  #shapedMaps: { of: MapSource; key: string; maps: ShapedMaps } | undefined;
  /** A sentence that says how the declared maps that are about to be drawn were understood. */
  #understood: string | undefined;
  /** The maps that are drawn: those of the lease, or shaped ones. */
  #maps: MapSource | undefined;
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
      this.#near ||= entries.some((entry) => entry.isIntersecting);
      this.#placed.resolve();
      if (this.#near) this.requestUpdate();
    },
    { rootMargin: "50%" },
  );

  constructor() {
    super();
    Object.assign(this, kInitial);
    this.group = "";
    this.controls = "minimal";
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
    this.#join();
    this.#nearness.observe(this);
    this.requestUpdate();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#group.leave(this.#member);
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

  /** Joins the group that the attribute names. An element without one has a group of its own. */
  #join(): void {
    this.#group.leave(this.#member);
    this.#group = this.group === "" ? new Group() : Group.named(this.group);
    this.#group.join(this.#member, kInitial);
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("group") && changed.get("group") !== undefined) this.#join();
    this.#tellGroup(changed);
    // The same pictures may be asked for by a scroll, and only other inputs end a run.
    if (changed.size > 0 && this.#tried && !isSame(this.#inputs(), this.#tried)) {
      this.#abort.abort();
      if (!isEqual(this.#inputs().maps, this.#tried.maps)) this.#naming?.stop();
    }
    if (this.#near) void this.#catchUp();
  }

  #tellGroup(changed: PropertyValues<this>): void {
    // At first, what nobody set is no news to the others.
    const isNew = (name: keyof State): boolean => this.#hasTold || !Object.is(this[name], kInitial[name]);
    const isFromGroup = (name: keyof State): boolean => Object.is(this[name], this.#taken[name]);
    const names = kNames.filter((name) => changed.has(name) && isNew(name) && !isFromGroup(name));
    this.#taken = {};
    this.#hasTold = true;
    if (names.length > 0) this.#group.change(this.#member, Object.fromEntries(names.map((name) => [name, this[name]])));
  }

  override render(): TemplateResult {
    const { height, isCompact } = this.#room.room;
    const isLimited = height < Infinity;
    const menu = this.#drawn && !this.#error ? this.#exporting(isLimited || isCompact) : nothing;
    const classes = `root ${this.#colors.theme} ${isLimited ? "limited" : ""} ${isCompact ? "compact" : ""}`;
    return html`<div class="room"></div><div class=${classes}>${this.#content()} ${menu}</div>`;
  }

  #content(): TemplateResult {
    if (this.#error) return html`<div class="message" role="alert"><p>${this.#error.message}</p><button @click=${this.retry}>Try again</button></div>`;
    const computed = this.#computed;
    const running = computed === undefined ? nothing : html`<progress class="running" aria-label="Computing" .value=${computed}></progress>`;
    return this.#drawn
      ? html`${running} ${this.#shortened()} ${this.#shownView(this.#drawn)} ${this.#declaration()}`
      : html`${running} ${this.#waiting()}`;
  }

  /** The view, below the bar of the open head if it is one of a head. */
  #shownView(drawn: View): TemplateResult {
    const view = drawn.render();
    const maps = this.#lease?.lease.maps;
    const kind = AttentionMap.views.find((of) => this.#views.get(of) === drawn);
    if (!maps || kind?.isOfHead !== true || this.controls === "none") return view;
    const isFull = this.controls === "full";
    const views = isFull ? AttentionMap.views.filter((of) => of.isOfHead && isFitting(of, maps)) : [];
    const onKey = (event: KeyboardEvent): unknown => onHeadKey(event, this.#host, maps);
    const bar = headBar(this.#host, maps, this.#name(), views, drawn.tools?.() ?? nothing);
    if (isFull && !this.#settings) void this.#loadSettings();
    const settings = isFull ? this.#settings : undefined;
    // The view stays the same nodes when the settings come, so that it keeps the focus.
    return html`<div @keydown=${onKey}>${bar}${settings?.changesInForce(this.#host, maps) ?? nothing}${view}${settings?.drawer(this.#host, maps, kind.isShaped === true) ?? nothing}</div>`;
  }

  /** The name of the open head, once there is one. */
  #name(): TemplateResult | typeof nothing {
    return this.#naming?.button(this.layer, this.head) ?? nothing;
  }

  /** Names the heads of maps that have been drawn. */
  async #nameHeads(maps: MapSource, { naming }: Computing): Promise<void> {
    const { Naming, nameStyles } = await naming();
    if (maps !== this.#lease?.lease.maps) return;
    this.#addStyles(nameStyles);
    this.#naming ??= new Naming(() => this.requestUpdate());
    await this.#naming.start(maps);
  }

  async #loadSettings(): Promise<void> {
    const settings = await import("./drawer.js");
    this.#addStyles(settings.kDrawerStyles);
    this.#settings = settings;
    this.requestUpdate();
  }

  /** The menu that exports. Until it is opened first, it is only its name. */
  #exporting(hidden: boolean): TemplateResult {
    return html`
      <details class="export" part="export" ?hidden=${hidden} @toggle=${this.#loadMenu}>
        <summary>Export</summary>
        ${this.#menu?.render() ?? nothing}
      </details>
    `;
  }

  readonly #loadMenu = async (): Promise<void> => {
    if (this.#menu) return;
    const { ExportMenu, kMenuStyles } = await import("./export-menu.js");
    this.#addStyles(kMenuStyles);
    this.#menu ??= new ExportMenu(this);
    this.requestUpdate();
  };

  /** Says how declared maps were understood, which could not be seen otherwise. */
  #declaration(): TemplateResult | typeof nothing {
    const understood = this.#lease?.lease.understood;
    return understood && this.#hasMaps ? html`<p class="shortened" part="understood">${understood}</p>` : nothing;
  }

  /** Says that only the beginning of the text is shown, since the pictures look complete. */
  #shortened(): TemplateResult | typeof nothing {
    const maps = this.#lease?.lease.maps;
    if (!maps || maps.tokenCount <= maps.tokens.length || !this.#hasMaps) return nothing;
    return html`<p class="shortened" part="shortened">Only the first ${maps.tokens.length} of ${maps.tokenCount} tokens: the model has no positions for more.</p>`;
  }

  #waiting(): TemplateResult {
    const isDrawing = !AttentionMap.computing;
    if (this.#isEmpty()) return html`<div class="message"><p>No ${isDrawing ? "maps" : "text"} yet.</p></div>`;
    const { loaded = 0, total = 0 } = this.#progress ?? {};
    const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
    const amount = total > 0 ? `${megabytes(loaded)} of ${megabytes(total)} MB` : "";
    const isEngine = hasArrays(this) || !this.#hasMaps;
    const what = this.#lease ? "Computing" : `Loading the ${isEngine ? "engine" : isGiven(this.#mapInputs) ? "file" : "model"}`;
    return html`<div class="message" role="status">
      <p>${this.#understood ?? `${what} … ${amount}`}</p>
      ${total > 0 ? html`<progress aria-label="Loading" max=${total} .value=${loaded}></progress>` : nothing}
    </div>`;
  }

  /**
   * Takes the files of a Hugging Face folder (config.json, model.safetensors, tokenizer.json, …), and returns a value for
   * `model` that stands for them in this page. Files are read when the model is first wanted.
   */
  static giveModel(files: readonly File[]): string {
    if (!this.computing) throw new Error("model: this script only draws arrays of weights; headlens/element computes");
    return this.computing.giveModel(files);
  }

  /** Focuses the map of the open head, or the chosen head in the grid. */
  override focus(): void {
    this.#moveFocus = false;
    this.#drawn?.focus();
  }

  // These take elsewhere what is shown. Each rejects where nothing is drawn, or where the result would be too large.

  /** The visible content as a vector graphic. */
  toSVG(): Promise<string> {
    return this.#export((code, shown) => code.toSVG(shown));
  }

  /** The visible content as a PNG with `scale` pixels, 1 to 4, for each pixel of CSS. */
  toBlob({ scale = 2 }: { scale?: number } = {}): Promise<Blob> {
    return this.#export((code, shown) => code.toPNG(shown, scale));
  }

  /** The numbers of the shown heads, a line for each cell, as `headlens map` writes them. */
  toCSV(): Promise<string> {
    return this.#export((code, shown) => code.toCSV(shown));
  }

  /** The numbers of the shown heads as nested lists, with tokens and mask, or the matrices of the steps. */
  toJSON(): Promise<string> {
    return this.#export((code, shown) => code.toJSON(shown));
  }

  /** The numbers as a .npy file: float32 [T,S] of one head, or [L,H,T,S]. */
  toNPY(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#export((code, shown) => code.toNPY(shown));
  }

  /** A page with the maps and the script that draws them inside, which opens offline. */
  toHTML(): Promise<string> {
    return this.#export((code, shown) => code.toHTML(shown));
  }

  /** The lines of HTML that show the same in another page. */
  toEmbedCode(): Promise<string> {
    return this.#export((code, shown) => code.toEmbedCode(shown));
  }

  async #export<T>(make: (code: typeof import("./exports.js"), shown: Shown) => Promise<T>): Promise<T> {
    const view = this.#drawn;
    const root = this.renderRoot.querySelector(".root");
    if (!view || !root) throw new Error("nothing is drawn yet: wait for attention-draw");
    const [code] = await Promise.all([import("./exports.js"), this.updateComplete]);
    const maps = this.#hasMaps ? this.#maps : undefined;
    const state = this.#stateNow();
    const isOnlyHere = isGiven(this.#mapInputs) && this.src === "";
    const { theme } = this.#colors;
    return make(code, { root, view, maps, theme, state, isGiven: isOnlyHere, script: AttentionMap.script });
  }

  /**
   * Resolves when what the element was told to show is drawn or cannot be drawn. An element that is far from the visible
   * part of the page draws later, and is not waited for.
   */
  async ready(): Promise<void> {
    await this.#placed.promise;
    await this.updateComplete;
    const isBehind = (): boolean => this.#busy || !isSame(this.#inputs(), this.#tried);
    while (this.isConnected && this.#near && isBehind()) await this.#idle.promise;
    await this.updateComplete;
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
      get state() { return element; },
      change: (changes) => element.#change(changes),
      get cursor() { return element.#group.cursor; },
      point: (cursor) => element.#group.point(cursor),
      get example() { return element.example; },
      get controls() { return element.controls; },
      get scaleChoice() { return element.#scaleChoice; },
      get names() { return element.#naming?.names; },
      get colors() { return element.#colors; },
      get room() { return element.#room.room; },
      drawn: (view) => element.#show(view),
      openHead: (layer, head, view) => element.#openHead(layer, head, view),
      showHead(layer, head) {
        element.#change({ layer, head });
        element.#emit("head-focus", { layer, head });
      },
      visitHead: (layer, head) => void element.#emit("head-focus", { layer, head }),
      closeHead: () => element.#closeHead(),
      visitCell: (cell, colors) => void element.#emit("cell-change", { row: cell?.row ?? null, col: cell?.col ?? null, colors: colors ?? null }),
      fail: (error) => element.#fail(error),
    };
  }

  static #memberOf(element: AttentionMap): Member {
    return {
      get state() { return element; },
      take(changes) {
        element.#taken = { ...element.#taken, ...changes };
        Object.assign(element, changes);
      },
      point: () => element.requestUpdate(),
    };
  }

  /** Makes a change that the reader asked for. */
  #change(changes: Partial<State>): void {
    Object.assign(this, changes);
    this.#emit("state-change", { changes });
  }

  get #scaleChoice(): ScaleChoice {
    return kScales.find((known) => known === this.scale) ?? "auto";
  }

  #openHead(layer: number, head: number, view: string): void {
    this.#change({ layer, head });
    if (!this.#emit("head-select", { layer, head })) return;
    this.#change({ view });
    this.#moveFocus = true;
  }

  #closeHead(): void {
    if (!this.#emit("head-close", { layer: this.layer, head: this.head })) return;
    this.#change({ view: "grid" });
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

  get #hasMaps(): boolean {
    return this.#kind !== undefined && this.#kind.needs !== "nothing";
  }

  get #mapInputs(): MapInputs {
    return { state: this, arrays: this.#arrays(), declared: this.#declared, computing: AttentionMap.computing };
  }

  #arrays(): MapInputs["arrays"] {
    const { weights, queries, keys, softmaxScale, mask, tokens, keyTokens } = this;
    return { weights, queries, keys, softmaxScale, mask, tokens, keyTokens };
  }

  #isEmpty(): boolean {
    return this.#kind?.needs !== "nothing" && !isGiven(this.#mapInputs) && !isRead(this);
  }

  #inputs(): Inputs {
    const kind = this.#kind;
    const maps = kind?.needs === "nothing" ? [] : dependencies(this.#mapInputs);
    const isKnown = this.#scaleChoice === this.scale && kThemes.some((theme) => theme === this.theme);
    const words = isKnown ? "" : `${this.scale} ${this.theme}`;
    const shape = kind?.isShaped === true ? kShaping.map((name) => this[name]) : [];
    return { maps, picture: [this.view, words, ...shape, ...(kind?.watches.map((name) => this.#watched(name)) ?? [])] };
  }

  #watched(name: ViewKind["watches"][number]): unknown {
    return name === "colors" ? this.#colors : this[name];
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
      this.#idle.resolve();
      this.#idle = waiting();
    }
  }

  async #run(inputs: Inputs, signal: AbortSignal): Promise<void> {
    const started = performance.now();
    const text = isGiven(this.#mapInputs) ? "" : this.text;
    try {
      const kind = this.#knownKind();
      if (this.#isEmpty()) return await this.#showEmpty(kind, signal);
      const opening = kind.needs === "nothing" ? undefined : this.#open(inputs, signal, kind);
      const [maps, view] = await Promise.all([opening, this.#viewOf(kind)]);
      this.#computed = undefined;
      if (!this.isConnected || signal.aborted) return;
      checkFits(kind, maps);
      const shown = maps && kind.isShaped ? this.#shaped(maps, kind) : maps;
      this.#maps = shown;
      await view.load(shown, signal);
      if (!this.isConnected || signal.aborted) return;
      await this.updateComplete;
      if (this.#moveFocus) this.focus();
      if (!maps || !shown) return;
      this.#announce(shown, text, performance.now() - started);
      const { computing } = AttentionMap;
      if (computing) this.#nameHeads(maps, computing).catch((error: unknown) => console.warn("headlens names no heads:", error));
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    } finally {
      this.#computed = undefined;
    }
  }

  /** Shows that there is nothing to read yet, or where to write it. */
  async #showEmpty(kind: ViewKind, signal: AbortSignal): Promise<void> {
    if (kind.isEditor !== true || this.controls !== "full") return this.#show(undefined);
    await (await this.#viewOf(kind)).load(undefined, signal);
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

  /** The view of a kind, whose code is loaded when it is first shown. */
  async #viewOf(kind: ViewKind): Promise<View> {
    const known = this.#views.get(kind);
    if (known) return known;
    const code = typeof kind.code === "function" ? await this.#adopted(kind.code) : kind.code;
    const view = this.#views.get(kind) ?? code.create(this.#host);
    this.#views.set(kind, view);
    return view;
  }

  async #adopted(load: () => Promise<ViewCode>): Promise<ViewCode> {
    const code = await load();
    this.#addStyles(code.styles);
    return code;
  }

  /** Gives the styles of code that was loaded later their place among those of the element. */
  #addStyles(more: CSSResult): void {
    if (!this.#loadedStyles.includes(more)) this.#loadedStyles.push(more);
    const { elementStyles } = this.constructor as typeof AttentionMap;
    const last = elementStyles.length - kAfter.length;
    const styles = [...elementStyles.slice(0, last), ...this.#loadedStyles, ...elementStyles.slice(last)];
    if (this.renderRoot instanceof ShadowRoot) adoptStyles(this.renderRoot, styles);
  }

  /** Returns the maps of these inputs, which are opened once as long as the inputs stay the same. */
  async #open({ maps: inputs }: Inputs, signal: AbortSignal, kind: ViewKind): Promise<MapSource> {
    if (this.#lease && isEqual(this.#lease.inputs, inputs)) return this.#lease.lease.maps;
    const lease = await openMaps(this.#mapInputs, signal, this.#following(signal));
    if (signal.aborted || !this.isConnected) {
      lease.release();
      signal.throwIfAborted();
    }
    const before = this.#lease;
    this.#lease = { inputs, lease };
    if (before) {
      // Views of the maps before would ask for more of them.
      for (const [of, view] of this.#views) if (of !== kind) view.clear?.();
      before.lease.release();
    }
    return lease.maps;
  }

  /** The maps as the state shapes them. They stay the same object as long as nothing about them changes. */
  #shaped(maps: MapSource, { isOfHead }: ViewKind): MapSource {
    // Only views of one head can show several in its place.
    const shape = shapeOf(isOfHead ? this : { ...this.#stateNow(), combine: "none" });
    if (!shape) return maps;
    const key = JSON.stringify(shape);
    if (this.#shapedMaps?.of !== maps || this.#shapedMaps.key !== key)
      this.#shapedMaps = { of: maps, key, maps: new ShapedMaps(maps, shape) };
    return this.#shapedMaps.maps;
  }

  #stateNow(): State {
    return Object.fromEntries(kNames.map((name) => [name, this[name]])) as unknown as State;
  }

  #following(signal: AbortSignal): Following {
    return {
      loading: (loaded, total) => {
        this.#progress = { loaded, total };
        this.requestUpdate();
      },
      running: (done) => {
        if (signal.aborted) return;
        this.#computed = done;
        this.requestUpdate();
      },
      understood: (words) => {
        this.#understood = words;
        if (words !== undefined) this.#progress = undefined;
        this.requestUpdate();
      },
    };
  }

  #release(): void {
    this.#abort.abort();
    this.#naming?.clear();
    for (const view of this.#views.values()) view.clear?.();
    this.#lease?.lease.release();
    this.#lease = undefined;
    this.#drawn = undefined;
    this.#tried = undefined;
  }

  #announce(maps: MapSource, text: string, milliseconds: number): void {
    const { tokenCount, heads } = maps;
    const { rows: tokens, cols: keyTokens } = piecesOf(maps);
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

const isFitting = ({ needs, isFor }: ViewKind, maps: MapSource): boolean =>
  (needs === "maps" || maps.run !== undefined) && (isFor?.(maps) ?? true);

/** Views of a model's run cannot show given arrays. */
function checkFits({ name, needs }: ViewKind, maps: MapSource | undefined): void {
  if (needs === "run" && !maps?.run) throw new Error(`view: "${name}" needs a model that reads a text, and these are given maps`);
}

function isEnded(error: unknown): boolean {
  return isReleased(error) || (error instanceof DOMException && error.name === "AbortError");
}

const isEqual = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, index) => Object.is(value, b[index]));

const isSame = (a: Inputs, b: Inputs | undefined): boolean =>
  b !== undefined && isEqual(a.maps, b.maps) && isEqual(a.picture, b.picture);
