// SPDX-License-Identifier: Apache-2.0
/**
 * `<attention-map text="…">` draws the attention of every head of a model that reads a text, which it computes in the
 * page, or arrays that were computed elsewhere.
 *
 * Attributes: `text`, `model` (a built-in name or the URL of a Hugging Face folder), `view` (grid, map or steps),
 * `layer` and `head` (from 0), `causal`.
 * Properties besides: `weights` ([T,S], [H,T,S] or [L,H,T,S]) with `tokens` and `keyTokens`; `example` for the steps.
 * Its events are those of AttentionMapEvents. Its parts are grid, map, steps, back and shortened.
 */
import type { Image, TensorLike } from "headlens";
import { LitElement, html, nothing } from "lit";
import type { PropertyValues, TemplateResult } from "lit";
import { attend, sharedEngine, sharedModel } from "./engine.js";
import { GridView } from "./grid-view.js";
import type { GridContent } from "./grid-view.js";
import { HeadView } from "./head-view.js";
import type { Cell, HeadContent } from "./head-view.js";
import { arrayMaps, modelMaps } from "./maps.js";
import type { HeadPicture, Maps, Theme } from "./maps.js";
import { StepsView } from "./steps-view.js";
import type { StepsContent } from "./steps-view.js";
import { styles } from "./styles.js";
import { ThemeController } from "./theme.js";
import { takeTurn } from "./turns.js";
import { kCatSatOnMat, workExample } from "./worked-example.js";
import type { WorkedExample } from "./worked-example.js";

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
   * cell.
   */
  "cell-change": { row: number | null; col: number | null; colors: Uint8ClampedArray | null };
}

const kViews = ["grid", "map", "steps"] as const;
type View = (typeof kViews)[number];
type Content = GridContent | HeadContent | StepsContent;

/** Everything that a picture depends on. Two inputs are compared field by field. */
interface Inputs {
  readonly maps: readonly unknown[];
  readonly picture: readonly unknown[];
}

export class AttentionMap extends LitElement {
  static override styles = styles;
  static override properties = {
    text: {},
    model: {},
    view: {},
    layer: { type: Number },
    head: { type: Number },
    causal: { type: Boolean },
    weights: { attribute: false },
    tokens: { attribute: false },
    keyTokens: { attribute: false },
    example: { attribute: false },
  };

  declare text: string;
  declare model: string;
  declare view: string;
  declare layer: number;
  declare head: number;
  declare causal: boolean;
  declare weights: TensorLike | undefined;
  declare tokens: readonly string[] | undefined;
  declare keyTokens: readonly string[] | undefined;
  declare example: WorkedExample;

  readonly #theme = new ThemeController(this);
  readonly #grid = new GridView(this);
  readonly #map = new HeadView(this);
  readonly #steps = new StepsView(this);

  #near = false;
  #busy = false;
  #tried: Inputs | undefined;
  #maps: { inputs: readonly unknown[]; maps: Maps } | undefined;
  #content: Content | undefined;
  #error: Error | undefined;
  #progress: { loaded: number; total: number } | undefined;
  #moveFocus = false;
  /** Ends the wait for a model that is no longer needed. */
  #giveUp: () => void = () => undefined;

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
    this.text = "";
    this.model = "tiny";
    this.view = "grid";
    this.layer = 0;
    this.head = 0;
    this.causal = false;
    this.weights = undefined;
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

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("model") || changed.has("weights") || changed.has("view")) this.#giveUp();
    if (this.#near) void this.#catchUp();
  }

  override render(): TemplateResult {
    return html`
      ${this.#error ? this.#failure(this.#error) : nothing}
      ${!this.#error && this.#content ? [this.#shortened(this.#content), this.#draw(this.#content)] : nothing}
      ${!this.#error && !this.#content ? this.#waiting() : nothing}
    `;
  }

  #draw(content: Content): TemplateResult {
    switch (content.view) {
      case "grid":
        return this.#grid.render(content);
      case "map":
        return this.#map.render(content);
      case "steps":
        return this.#steps.render(content);
    }
  }

  /** Says that only the beginning of the text is shown, since the pictures look complete. */
  #shortened(content: Content): TemplateResult | typeof nothing {
    if (content.view === "steps" || content.maps.tokenCount <= content.maps.tokens.length) return nothing;
    const { tokens, tokenCount } = content.maps;
    return html`<p class="shortened" part="shortened">Only the first ${tokens.length} of ${tokenCount} tokens: the model has no positions for more.</p>`;
  }

  #failure(error: Error): TemplateResult {
    return html`<div class="message" role="alert"><p>${error.message}</p><button @click=${this.retry}>Try again</button></div>`;
  }

  #waiting(): TemplateResult {
    if (this.#isEmpty()) return html`<div class="message"><p>No text yet.</p></div>`;
    const { loaded = 0, total = 0 } = this.#progress ?? {};
    const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
    const amount = total > 0 ? `${megabytes(loaded)} of ${megabytes(total)} MB` : "";
    return html`<div class="message" role="status">
      <p>Loading the ${this.weights || this.view === "steps" ? "engine" : "model"} … ${amount}</p>
      ${total > 0 ? html`<progress aria-label="Loading" max=${total} .value=${loaded}></progress>` : nothing}
    </div>`;
  }

  /** Focuses the map of the open head, or the chosen head in the grid. */
  override focus(): void {
    if (this.#content) this.#focusView(this.#content.view);
  }

  /** Tries again after a failure. */
  readonly retry = (): void => {
    this.#tried = undefined;
    this.#error = undefined;
    this.requestUpdate();
  };

  // The interface that the views use.

  openHead(layer: number, head: number): void {
    this.layer = layer;
    this.head = head;
    if (!this.#emit("head-select", { layer, head })) return;
    this.view = "map";
    this.#moveFocus = true;
  }

  showHead(layer: number, head: number): void {
    this.layer = layer;
    this.head = head;
    this.#emit("head-focus", { layer, head });
  }

  visitHead(layer: number, head: number): void {
    this.#emit("head-focus", { layer, head });
  }

  closeHead(): void {
    if (!this.#emit("head-close", { layer: this.layer, head: this.head })) return;
    this.view = "grid";
    this.#moveFocus = true;
  }

  visitCell(cell: Cell | undefined, colors: Uint8ClampedArray | undefined): void {
    this.#emit("cell-change", { row: cell?.row ?? null, col: cell?.col ?? null, colors: colors ?? null });
  }

  // From inputs to pictures.

  #isEmpty(): boolean {
    return this.view !== "steps" && !this.weights && this.text === "";
  }

  #inputs(): Inputs {
    const { text, model, weights, tokens, keyTokens, causal, view, layer, head, example } = this;
    const theme = this.#theme.theme;
    if (view === "steps") return { maps: [], picture: [view, theme, head, causal, example] };
    const maps = weights ? [weights, tokens, keyTokens, causal] : [model, text];
    return { maps, picture: view === "map" ? [view, theme, layer, head] : [view, theme] };
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
        await takeTurn(this, () => this.#run(inputs));
      }
    } finally {
      this.#busy = false;
    }
  }

  async #run(inputs: Inputs): Promise<void> {
    const started = performance.now();
    const text = this.weights ? "" : this.text;
    try {
      const content = this.#isEmpty() ? undefined : await this.#compute(inputs, this.#theme.theme);
      if (!this.isConnected) return;
      this.#content = content;
      this.#error = undefined;
      this.#progress = undefined;
      this.requestUpdate();
      await this.updateComplete;
      if (this.#moveFocus && content?.view === this.view) this.#focusView(content.view);
      if (content) this.#announce(content, text, performance.now() - started);
    } catch (error) {
      if (this.isConnected && isSame(inputs, this.#inputs()))
        this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #compute(inputs: Inputs, theme: Theme): Promise<Content> {
    const view = this.#knownView();
    if (view === "steps") {
      const worked = await workExample(await sharedEngine(), this.example, {
        head: this.head,
        causal: this.causal,
        theme,
      });
      return { view, worked };
    }
    const { layer, head } = this;
    const maps = await this.#open(inputs);
    if (view === "grid") return { view, maps, images: await maps.allPixels(theme) };
    checkHead(maps, layer, head);
    const [picture, colorbar] = await Promise.all([headPicture(maps, layer, head, theme), colorbarImage(maps, theme)]);
    return { view, maps, picture, colorbar };
  }

  #knownView(): View {
    const view = kViews.find((known) => known === this.view);
    if (!view) throw new Error(`view: ${JSON.stringify(this.view)} is not known; ${kViews.join(", ")} are`);
    return view;
  }

  /** Returns the maps of these inputs, which are computed once as long as the inputs stay the same. */
  async #open({ maps: inputs }: Inputs): Promise<Maps> {
    if (this.#maps && isEqual(this.#maps.inputs, inputs)) return this.#maps.maps;
    const maps = await this.#openNew();
    this.#maps?.maps.release();
    this.#maps = { inputs, maps };
    if (!this.isConnected) this.#release();
    return maps;
  }

  async #openNew(): Promise<Maps> {
    const { weights, tokens, keyTokens, causal, model, text } = this;
    if (weights) return arrayMaps(await sharedEngine(), { weights, tokens, keyTokens, causal });
    const givenUp = new Promise<never>((_, reject) => {
      this.#giveUp = (): void => reject(new Error(`${model} is no longer wanted`));
    });
    const loading = sharedModel(model, (bytes, total) => {
      if (model !== this.model) return;
      this.#progress = { loaded: bytes, total };
      this.requestUpdate();
    });
    const loaded = await Promise.race([loading, givenUp]);
    return modelMaps(loaded, await attend(model, text));
  }

  #release(): void {
    this.#maps?.maps.release();
    this.#maps = undefined;
    this.#tried = undefined;
  }

  #focusView(view: View): void {
    this.#moveFocus = false;
    ({ grid: this.#grid, map: this.#map, steps: this.#steps })[view].focus();
  }

  #announce(content: Content, text: string, milliseconds: number): void {
    if (content.view === "steps") return;
    const { tokens, keyTokens, tokenCount, layers, heads } = content.maps;
    if (content.view === "map") this.#map.announceCell();
    this.#emit("attention-draw", {
      view: content.view,
      text,
      tokens,
      keyTokens,
      tokenCount,
      layers,
      heads,
      milliseconds,
    });
  }

  #fail(error: Error): void {
    this.#error = error;
    this.#progress = undefined;
    this.#moveFocus = false;
    this.requestUpdate();
    this.#emit("attention-error", { error });
  }

  /** Returns false when a listener prevented the default. */
  #emit<Name extends keyof AttentionMapEvents>(name: Name, detail: AttentionMapEvents[Name]): boolean {
    const cancelable = name === "head-select" || name === "head-close";
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable }));
  }
}

async function headPicture(maps: Maps, layer: number, head: number, theme: Theme): Promise<HeadPicture> {
  const [matrix, image] = await Promise.all([maps.map(layer, head), maps.pixels(layer, head, theme)]);
  return { layer, head, matrix, image };
}

async function colorbarImage({ range }: Maps, theme: Theme): Promise<Image> {
  const width = 256;
  const engine = await sharedEngine();
  return { data: await engine.colorbar(width, { colormap: range.colormap, theme }), width, height: 1 };
}

function checkHead(maps: Maps, layer: number, head: number): void {
  const check = (name: string, value: number, count: number): void => {
    if (!Number.isInteger(value) || value < 0 || value >= count)
      throw new Error(`${name}: ${value} is not one of 0 to ${count - 1}`);
  };
  check("layer", layer, maps.layers);
  check("head", head, maps.heads);
}

const isEqual = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, index) => Object.is(value, b[index]));

const isSame = (a: Inputs, b: Inputs | undefined): boolean =>
  b !== undefined && isEqual(a.maps, b.maps) && isEqual(a.picture, b.picture);
