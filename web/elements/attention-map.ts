// SPDX-License-Identifier: Apache-2.0
/**
 * `<attention-map text="…">` draws the attention of every head of a model that reads a text, which it computes in the
 * page, or arrays that were computed elsewhere.
 *
 * This file has what authors see of it: its attributes and properties, its methods and its events (events.ts), as
 * wasm/README.md describes them. Attributes are the fields of the state (state.ts), written with hyphens, and `group`,
 * `controls` and `locked`. Behind it are what it draws (work.ts) and what stands around that (frame.ts).
 */
import { LitElement } from "lit";
import type { CSSResultGroup, PropertyDeclarations, PropertyValues, TemplateResult } from "lit";
import type { AsyncEngine, MetricName, ModelMetricName } from "headlens";
import type { Naming } from "../heads/naming.js";
import type { Computing } from "../maps/computing.js";
import type { Numbers, Weights } from "../maps/nested.js";
import type { Colors } from "../maps/canvas.js";
import type { Step } from "../maps/expected.js";
import { endOf, kScales, type ScaleChoice } from "../maps/scale.js";
import { type MapSource, type Part, piecesOf } from "../maps/source.js";
import { kAttributes, kInitial, kNames, type State } from "../state/state.js";
import { kMapViews } from "../views/index.js";
import type { Host, View, ViewKind } from "../views/view.js";
import type { WorkedExample } from "../views/worked-example.js";
import { DeclaredMaps } from "./declared.js";
import type { AttentionMapEventMap, AttentionMapEvents } from "./events.js";
import { tellChanges } from "./events.js";
import type { Shown } from "./exports.js";
import { Frame } from "./frame.js";
import { LaterStyles } from "./later-styles.js";
import { Membership } from "./membership.js";
import type { HeadMap, HeadValue } from "./methods.js";
import { expectComputing, type Inputs as MapInputs, isGiven } from "./opening.js";
import { RoomController } from "./room.js";
import type { Script } from "./script.js";
import { kAfter, kBefore } from "./styles.js";
import { kThemes, ThemeController } from "./theme.js";
import { allAtRest } from "./turns.js";
import { Work } from "./work.js";

/** A view that is not there after so many milliseconds is marked as the chosen one before it comes. */
const kSoon = 100;

/** Listeners get the events of the element with their details. */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- it adds types to methods that are there
export interface AttentionMap {
  addEventListener<Name extends keyof AttentionMapEventMap>(
    type: Name,
    listener: (this: AttentionMap, event: AttentionMapEventMap[Name]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<Name extends keyof AttentionMapEventMap>(
    type: Name,
    listener: (this: AttentionMap, event: AttentionMapEventMap[Name]) => unknown,
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

export class AttentionMap extends LitElement {
  /** @internal The views by name. The first is the default. */
  static views: readonly ViewKind[] = kMapViews;
  /** @internal What computes maps. Without it the element draws only arrays of weights. */
  static computing: Computing | undefined;
  /** @internal Loads the place where a reader gives a picture to a model. */
  static picturePlace: (() => Promise<typeof import("./picture-place.js")>) | undefined;
  /** @internal The scripts that exported pages need. */
  static script: Script | undefined;
  static override get styles(): CSSResultGroup {
    return [...kBefore, ...this.views.flatMap(({ code }) => ("styles" in code ? [code.styles] : [])), ...kAfter];
  }
  static override properties: PropertyDeclarations = {
    ...kAttributes,
    group: {},
    controls: {},
    locked: { type: Boolean, reflect: true },
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
  declare range: number;
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
  declare compareSource: string;
  declare compareHead: string;
  declare compareModel: string;
  declare theme: string;
  /** Elements of a page with the same group show the same, and share the place under the pointer. */
  declare group: string;
  /** "minimal", or "full" for the views of a head to choose from and all settings, or "none". */
  declare controls: string;
  /** A reader can point, and change nothing. There are no controls then. */
  declare locked: boolean;
  declare weights: Weights | undefined;
  declare queries: Numbers | undefined;
  declare keys: Numbers | undefined;
  declare softmaxScale: number | undefined;
  declare mask: Numbers | undefined;
  declare tokens: readonly string[] | undefined;
  declare keyTokens: readonly string[] | undefined;
  /** The example that the view `steps` works out. Where there is none, it takes the four words of the tutorials. */
  declare example: WorkedExample | undefined;

  /** The colours as of the last update. */
  #colors: Colors = { theme: "light" };
  readonly #host: Host = AttentionMap.#hostOf(this);
  readonly #theme = new ThemeController(this);
  readonly #room = new RoomController(this);
  readonly #declared = new DeclaredMaps(this);
  readonly #styles = new LaterStyles(this);
  readonly #work = AttentionMap.#workOf(this);
  readonly #frame = AttentionMap.#frameOf(this);
  /** The names of heads, whose code is loaded after the first maps have been drawn. */
  #naming: Naming | undefined;
  readonly #membership = new Membership(this);

  constructor() {
    super();
    Object.assign(this, kInitial);
    this.group = "";
    this.controls = "minimal";
    this.locked = false;
  }

  /** All fields of the state at once. Those that are set need not be all. */
  get state(): State {
    return Object.fromEntries(kNames.map((name) => [name, this[name]])) as unknown as State;
  }

  set state(changes: Partial<State>) {
    const wrong = Object.keys(changes).find((name) => !Object.hasOwn(kInitial, name));
    if (wrong !== undefined) throw new Error(`state: ${JSON.stringify(wrong)} is not known; ${kNames.join(", ")} are`);
    Object.assign(this, changes);
  }

  /** The failure that the element shows, if it does. */
  get error(): Error | undefined {
    return this.#work.error;
  }

  /** The engine of the page, which all elements share. It is started where it was not. */
  get engine(): Promise<AsyncEngine> {
    return expectComputing(AttentionMap.computing, "engine").engine();
  }

  /**
   * Takes the files of a Hugging Face folder (config.json, model.safetensors, tokenizer.json, …), and returns a value for
   * `model` that stands for them in this page, after the folder's name. Files are read when the model is first wanted.
   */
  static giveModel(files: readonly File[], folder?: string): string {
    return expectComputing(this.computing, "model").giveModel(files, folder);
  }

  /**
   * Resolves when what the element was told to show is drawn or cannot be drawn. An element that is far from the visible
   * part of the page draws later, and is not waited for.
   */
  ready(): Promise<void> {
    return this.#work.ready();
  }

  /** Tries again after a failure. */
  readonly retry = (): void => this.#work.retry();

  /** Focuses the map of the open head, or the chosen head in the grid. */
  override focus(): void {
    this.#work.movesFocus = false;
    this.#work.drawn?.focus();
  }

  // These wait for what the element was told to show, and reject where nothing is drawn.

  /** The map of a head in full, whatever is filtered or merged in the picture. Masked weights are 0, and unknown ones NaN. */
  async getMap(layer: number, head: number): Promise<HeadMap> {
    await this.#untilDrawn();
    return (await import("./methods.js")).mapOf(this.#work.lease?.maps, layer, head);
  }

  /** All heads by one of the engine's metrics of heads on what is shown, the largest value first, and those without one last. */
  async rank(metric: MetricName | ModelMetricName): Promise<HeadValue[]> {
    await this.#untilDrawn();
    const maps = this.#work.lease?.maps;
    if (!maps) throw new Error(`rank: the view ${JSON.stringify(this.view)} has no heads`);
    const { rankBy } = await expectComputing(AttentionMap.computing, "rank").naming();
    return rankBy(maps, metric);
  }

  /** Pins rows (tokens that look) and a column (a token that is looked at), which frees others. Without any, frees all. */
  async pin(query?: number | readonly number[], key?: number): Promise<void> {
    await this.#untilDrawn();
    this.state = (await import("./methods.js")).pinsOf(this.#work.lease?.maps, query, key);
    await this.#untilDrawn();
  }

  /** Shows a part of the map of the open head as large as it can be. Tokens are counted in the text as it is, [begin, end). */
  async zoomTo(part: Part): Promise<void> {
    const view = await this.#untilDrawn();
    if (!view.zoomTo) throw new Error(`zoomTo: the view ${JSON.stringify(this.view)} does not zoom; map does`);
    view.zoomTo(part);
    await this.updateComplete;
  }

  /** Reads one token further in the view `decode`; beyond the text's end the model goes on by itself. */
  async step(): Promise<Step> {
    const view = await this.#untilDrawn();
    if (!view.step) throw new Error(`step: the view ${JSON.stringify(this.view)} has no steps; decode has`);
    return view.step();
  }

  // These take elsewhere what is shown. Each rejects where the result would be too large, too.

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
    const view = await this.#untilDrawn();
    const code = await import("./exports.js");
    const root = this.renderRoot.querySelector(".root") as Element;
    const maps = this.#work.hasMaps ? this.#work.maps : undefined;
    const isOnlyHere = isGiven(this.#mapInputs) && this.src === "";
    const { state } = this;
    const { theme } = this.#colors;
    return make(code, { root, view, maps, theme, state, isGiven: isOnlyHere, script: AttentionMap.script });
  }

  /** The view that has drawn what the element was told to show. */
  async #untilDrawn(): Promise<View> {
    await this.ready();
    const { drawn, error } = this.#work;
    if (error) throw error;
    if (!drawn) throw new Error("nothing is drawn yet: the element is out of sight, or has nothing to read");
    return drawn;
  }

  // The life of the element.

  override connectedCallback(): void {
    super.connectedCallback();
    this.#membership.join();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#membership.leave();
  }

  /** Another text is shown with its maps, another view with its numbers, and what is there is not drawn once more before. */
  override shouldUpdate(changed: PropertyValues<this>): boolean {
    const isView = changed.has("view");
    if (changed.size !== 1 || !(isView || changed.has("text")) || !this.#work.drawn) return true;
    queueMicrotask(() => this.#heed(changed));
    if (isView) setTimeout(() => this.#work.drawnKind?.name === this.view || this.requestUpdate(), kSoon);
    return false;
  }

  override willUpdate(): void {
    this.#colors = this.#theme.of(this.theme);
  }

  override render(): TemplateResult {
    return this.#frame.render(this.#colors.theme);
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("group") && changed.get("group") !== undefined) this.#membership.join();
    this.#heed(changed);
  }

  #heed(changed: PropertyValues<this>): void {
    this.#membership.tell(changed);
    this.#work.update(changed.size > 0);
  }

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
      get cursor() { return element.#membership.group.cursor; },
      point: (cursor) => element.#membership.group.point(cursor),
      get example() { return element.example; },
      get controls() { return element.locked ? "none" : element.controls; },
      get scaleChoice() { return element.#scaleChoice(); },
      get names() { return element.#naming?.names; },
      get colors() { return element.#colors; },
      get room() { return element.#room.room; },
      addStyles: (styles) => element.#styles.add(styles),
      drawn: (view) => element.#work.show(view),
      openHead: (layer, head, view) => element.#openHead(layer, head, view),
      showHead(layer, head) {
        element.#change({ layer, head });
        element.#emit("head-focus", { layer, head });
      },
      visitHead: (layer, head) => void element.#emit("head-focus", { layer, head }),
      silence(layer, head) {
        const attention = element.#work.lease?.maps.run?.shown ?? "decoder";
        const ablate = AttentionMap.computing?.silencedToggled(element.ablate, { attention, layer, head });
        if (ablate !== undefined) element.#change({ ablate }); // given maps have no model whose heads could be silenced
      },
      closeHead: () => element.#closeHead(),
      visitCell: (cell, colors) => void element.#emit("cell-change", { row: cell?.row ?? null, col: cell?.col ?? null, colors: colors ?? null }),
      predicted: (row, token, predictions) => void element.#emit("prediction", { row, token, predictions }),
      fail: (error) => element.#work.fail(error),
    };
  }

  static #workOf(element: AttentionMap): Work {
    return new Work({
      element,
      host: element.#host,
      styles: element.#styles,
      state: element,
      get mapInputs() { return element.#mapInputs; },
      get kind() { return AttentionMap.views.find(({ name }) => name === element.view); },
      check: () => element.#check(),
      abandoned: () => element.#naming?.stop(),
      drew: (maps, text, milliseconds) => element.#announce(maps, text, milliseconds),
      failed: (error) => void element.#emit("attention-error", { error }),
    });
  }

  static #frameOf(element: AttentionMap): Frame {
    return new Frame({
      host: element.#host,
      work: element.#work,
      styles: element.#styles,
      get views() { return AttentionMap.views; },
      get mapInputs() { return element.#mapInputs; },
      get naming() { return element.#naming; },
      get nameHeads() { return element.#asksForNames ? () => element.#nameHeads() : undefined; },
      get picturePlace() { return AttentionMap.picturePlace; },
      exporting: element,
      retry: () => element.retry(),
    });
  }

  /** Makes a change that the reader asked for. */
  #change(changes: Partial<State>): void {
    if (this.locked) return;
    const before = this.state;
    Object.assign(this, changes);
    this.#emit("state-change", { changes });
    tellChanges(before, this, (name, detail) => this.#emit(name, detail));
  }

  #openHead(layer: number, head: number, view: string): void {
    if (this.locked) return;
    this.#change({ layer, head });
    if (!this.#emit("head-select", { layer, head })) return;
    this.#change({ view });
    this.#work.movesFocus = true;
  }

  #closeHead(): void {
    if (this.locked || !this.#emit("head-close", { layer: this.layer, head: this.head })) return;
    this.#change({ view: "grid" });
    this.#work.movesFocus = true;
  }

  get #mapInputs(): MapInputs {
    const { weights, queries, keys, softmaxScale, mask, tokens, keyTokens } = this;
    const arrays = { weights, queries, keys, softmaxScale, mask, tokens, keyTokens };
    return { state: this, arrays, declared: this.#declared, computing: AttentionMap.computing };
  }

  #check(): void {
    checkKnown("scale", this.scale, kScales);
    checkKnown("theme", this.theme, kThemes);
    checkKnown("view", this.view, AttentionMap.views.map(({ name }) => name));
    endOf(this.scale, this.range);
  }

  #scaleChoice(): ScaleChoice {
    try {
      return endOf(this.scale, this.range) ?? kScales.find((known) => known === this.scale) ?? "auto";
    } catch {
      return "auto"; // the element shows what is wrong with it
    }
  }

  #announce(maps: MapSource, text: string, milliseconds: number): void {
    const { tokenCount, heads } = maps;
    const { rows: tokens, cols: keyTokens } = piecesOf(maps);
    const { view } = this;
    const names = { view, text, tokens, keyTokens, tokenCount };
    this.#emit("attention-draw", { ...names, layers: heads.length, heads: Math.max(...heads), milliseconds });
    // The engine of a page that only draws given maps is not started for their names.
    if (AttentionMap.computing?.isStarted()) this.#nameHeads();
    else this.requestUpdate();
  }

  /** True for given maps that a reader may have named. */
  get #asksForNames(): boolean {
    const { computing } = AttentionMap;
    return computing !== undefined && !computing.isStarted() && this.#work.maps !== undefined;
  }

  /** Names the heads of the maps that have been drawn. */
  #nameHeads(): void {
    const maps = this.#work.lease?.maps;
    const named = async (): Promise<void> => {
      if (!AttentionMap.computing || !maps) return;
      const { Naming, nameStyles } = await AttentionMap.computing.naming();
      if (maps !== this.#work.lease?.maps) return;
      this.#styles.add(nameStyles);
      this.#naming ??= new Naming(() => this.requestUpdate(), allAtRest);
      await this.#naming.start(maps);
    };
    named().catch((error: unknown) => console.warn("headlens names no heads:", error));
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
