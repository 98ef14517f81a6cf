// SPDX-License-Identifier: Apache-2.0
/** A picture with the weights of a head laid over it: where a patch looks, or which patches look at it. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import { codesOf, type Look, Looks } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import { tintStyle } from "../maps/ink.js";
import type { Theme } from "../maps/palette.js";
import { givePicture } from "../maps/pictures.js";
import { isReleased, type MapSource, type Picture } from "../maps/source.js";
import { tokenLabel } from "../maps/tokens.js";
import { toggled } from "../state/lists.js";
import { pinnedCols, pinnedRows } from "../state/pins.js";
import { type Axis, faded, lay, type Loaded, nameOf, paintSmall, patchAt, weightsOf } from "./picture-drawing.js";
import { pictureStyles } from "./picture-styles.js";
import { type SeenPicture, seenPicture } from "./picture-seen.js";
import { meanOf } from "./row-strip.js";
import type { Host, View, ViewCode } from "./view.js";

/** The number of patches in the list of the strongest. */
const kStrongest = 10;

class PictureView implements View {
  #loaded: Loaded | undefined;
  #words = "";
  /** The direction that the reader chose; at first it is that of what is pinned. */
  #chosenAxis: Axis | undefined;
  /** The words about a file that is no picture. */
  #said = "";
  /** The patch at which the keyboard is. */
  #at: number | undefined;
  /** The weights of all heads of the layer, by axis and token. */
  readonly #known = new Map<string, readonly Picture[] | undefined>();
  readonly #looks = new Looks();
  /** The picture that lies below the weights, and what it was made of. */
  #below: { readonly of: SeenPicture; readonly theme: Theme; readonly canvas: HTMLCanvasElement } | undefined;

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".pic-plot")?.focus();
  }

  heads(): readonly (readonly [number, number])[] {
    return [[this.host.state.layer, this.host.state.head]];
  }

  clear(): void {
    this.#loaded = this.#below = undefined;
    this.#known.clear();
  }

  async load(maps: MapSource, signal: AbortSignal): Promise<void> {
    const { run } = maps;
    const patches = run?.attention.patches;
    const { layer } = this.host.state;
    if (!run?.info.image || !patches) {
      this.clear();
      this.#words = "This model reads text, so there is no picture to lay its weights over; tiny-vit reads pictures.";
      return this.host.drawn(this);
    }
    const isSame = this.#loaded?.maps === maps;
    const [picture, overviews] = await Promise.all([
      isSame && this.#loaded ? this.#loaded.picture : seenPicture(run, signal),
      maps.overviews(layer, [0, maps.heads[layer] ?? 0], [1, 1]),
    ]);
    signal.throwIfAborted();
    const prefix = maps.tokens.length - patches[0] * patches[1];
    const loaded: Loaded = { maps, layer, picture, overviews, size: [patches[0], patches[1]], prefix };
    const tokens = this.#sources(loaded);
    const weights = await Promise.all(tokens.map((token) => weightsOf(loaded, this.#axis, token)));
    signal.throwIfAborted();
    this.#known.clear();
    this.#loaded = loaded;
    tokens.forEach((token, index) => this.#known.set(`${this.#axis} ${token}`, weights[index]));
    this.host.drawn(this);
  }

  get #axis(): Axis {
    const { query, key } = this.host.state;
    return this.#chosenAxis ?? (query === "" && key !== "" ? "col" : "row");
  }

  #pins({ maps }: Loaded): number[] {
    return (this.#axis === "row" ? pinnedRows : pinnedCols)(maps, this.host.state);
  }

  /** The tokens whose weights are shown: the pinned ones, or that under the pointer, or the first. */
  #sources(loaded: Loaded): number[] {
    const pins = this.#pins(loaded);
    if (pins.length > 0) return pins;
    const token = this.host.cursor?.[this.#axis];
    return [token !== undefined && token >= 0 && token < loaded.maps.tokens.length ? token : 0];
  }

  /** The weights of each head for these tokens, on average; undefined while they are computed. */
  #weights(loaded: Loaded, tokens: readonly number[]): readonly Picture[] | undefined {
    const all = tokens.map((token) => this.#ask(loaded, token));
    const known = all.filter((pictures) => pictures !== undefined);
    const [first] = known;
    if (!first || known.length < all.length) return undefined;
    const valuesOf = (head: number): Float32Array => meanOf(known.flatMap((of) => of[head]?.values ?? []));
    return first.map((picture, head) => ({ ...picture, values: valuesOf(head) }));
  }

  #ask(loaded: Loaded, token: number): readonly Picture[] | undefined {
    const key = `${this.#axis} ${token}`;
    if (this.#known.has(key)) return this.#known.get(key);
    this.#known.set(key, undefined);
    const isCurrent = (): boolean => this.#loaded === loaded;
    weightsOf(loaded, this.#axis, token).then((weights) => {
      if (!isCurrent()) return;
      this.#known.set(key, weights);
      this.host.requestUpdate();
    }, (error: unknown) => {
      if (isCurrent() && !isReleased(error)) this.host.fail(error);
    });
    return undefined;
  }

  render(): TemplateResult {
    const loaded = this.#loaded;
    if (!loaded) return html`<p class="pic-none">${this.#words}</p>`;
    const sources = this.#sources(loaded);
    const weights = this.#weights(loaded, sources);
    const { head } = this.host.state;
    const own = weights?.[head];
    const look = this.#lookOf(loaded, head);
    return html`
      <div class="pic" part="picture" @dragover=${(event: Event): void => event.preventDefault()} @drop=${this.#onDrop} @paste=${this.#onPaste}>
        ${this.#modes()}
        <div class="pic-both">
          <div class="pic-left">
            ${this.#chips(loaded, own, look)} ${this.#plot(loaded, own, look, sources)}
            <output class="pic-readout">${this.#readout(loaded, sources, own)}</output>
            ${sources.length > 1 ? html`<p class="pic-note pic-mean">The weights are the mean over the ${sources.length} pinned tokens.</p>` : nothing}
            <p class="pic-note">${loaded.picture.words}</p>
            <label class="pic-choose">Another picture … <input class="unseen" type="file" accept="image/*" @change=${this.#onChoose} /></label>
            <p class="pic-note" role="status">${this.#said}</p>
          </div>
          ${own ? this.#table(loaded, sources, own) : nothing}
        </div>
        ${weights ? this.#heads(loaded, weights) : nothing}
      </div>
    `;
  }

  #lookOf({ maps, layer, overviews }: Loaded, head: number): Look | undefined {
    const overview = overviews[head];
    return overview && this.#looks.of(maps, layer, overview, this.host.scaleChoice, this.host.colors);
  }

  #faded(picture: SeenPicture): HTMLCanvasElement {
    const { theme } = this.host.colors;
    if (this.#below?.of !== picture || this.#below.theme !== theme)
      this.#below = { of: picture, theme, canvas: faded(picture.canvas, theme) };
    return this.#below.canvas;
  }

  #modes(): TemplateResult {
    const mode = (axis: Axis, words: string): TemplateResult => {
      const choose = (): void => {
        this.#chosenAxis = axis;
        this.host.requestUpdate();
      };
      return html`<label><input type="radio" name="pic-axis" .checked=${this.#axis === axis} @change=${choose} />${words}</label>`;
    };
    return html`
      <div class="segments" role="radiogroup" aria-label="Direction">
        ${mode("row", "Where it looks")}${mode("col", "What looks at it")}
      </div>
    `;
  }

  #chips({ maps, prefix }: Loaded, own: Picture | undefined, look: Look | undefined): TemplateResult | typeof nothing {
    const codes = own && look ? codesOf(own, look) : undefined;
    const chip = (token: number): TemplateResult => {
      const code = (codes?.[token] ?? 0) * 4;
      const tint = codes && look ? tintStyle(look.palette.bytes.subarray(code, code + 4)) : "";
      return html`
        <button class="pic-chip" .style=${tint} @pointerenter=${(): void => this.#point(token)} @pointerleave=${this.#leave}
          @focus=${(): void => this.#point(token)} @blur=${this.#leave}
          @click=${(event: MouseEvent): void => this.#pin(token, event.shiftKey)}>
          ${tokenLabel(maps.tokens[token] ?? "")} ${own ? formatValue(own.values[token] ?? 0, 2) : nothing}
        </button>
      `;
    };
    return prefix > 0 ? html`<div class="pic-chips">${Array.from({ length: prefix }, (_, token) => chip(token))}</div>` : nothing;
  }

  #plot(loaded: Loaded, own: Picture | undefined, look: Look | undefined, sources: readonly number[]): TemplateResult {
    const { picture, size: [rows, cols], prefix } = loaded;
    const tint = (element: Element | undefined): void => {
      if (element instanceof HTMLCanvasElement && own && look) lay(element, own, look, loaded);
    };
    const pointed = this.#pointed(loaded);
    const marked = new Set(pointed === undefined ? sources : [...sources, pointed]);
    const marks = [...marked].filter((token) => token >= prefix);
    const mark = (token: number): TemplateResult => {
      const [row, col] = [Math.floor((token - prefix) / cols), (token - prefix) % cols];
      return html`<i class=${sources.includes(token) ? "pic-source" : "pic-under"} .style=${`--row: ${row}; --col: ${col}`}></i>`;
    };
    const on = (event: MouseEvent): number => patchAt(event, loaded);
    return html`
      <div class="pic-plot" role="application" tabindex="0" .style=${`--rows: ${rows}; --cols: ${cols}`}
        aria-label=${`Picture of ${rows} rows of ${cols} patches. Arrow keys move, Enter pins, Escape frees.`}
        @pointermove=${(event: MouseEvent): void => this.#point(on(event))} @pointerleave=${this.#leave}
        @click=${(event: MouseEvent): void => this.#pin(on(event), event.shiftKey)}
        @keydown=${(event: KeyboardEvent): void => this.#onKey(event, loaded)} @blur=${this.#leave}>
        ${this.#faded(picture)}<canvas class="pic-tint" ${ref(tint)}></canvas><span class="pic-grid"></span>${marks.map(mark)}
      </div>
    `;
  }

  /** The token under the pointer or the keyboard while others are pinned. */
  #pointed({ maps }: Loaded): number | undefined {
    const token = this.host.cursor?.[this.#axis === "row" ? "col" : "row"];
    return token !== undefined && token >= 0 && token < maps.tokens.length ? token : undefined;
  }

  #readout(loaded: Loaded, sources: readonly number[], own: Picture | undefined): string {
    if (!own) return "";
    const names = sources.map((token) => nameOf(loaded, token)).join(" and ");
    const target = this.#pointed(loaded) ?? (sources.length === 1 ? sources[0] : undefined);
    if (target === undefined) return `Mean of ${names}`;
    const other = sources.length === 1 && target === sources[0] ? "itself" : nameOf(loaded, target);
    const [from, to] = this.#axis === "row" || other === "itself" ? [names, other] : [other, names];
    return `${from} → ${to}: ${formatValue(own.values[target] ?? NaN)}`;
  }

  #table(loaded: Loaded, sources: readonly number[], { values }: Picture): TemplateResult {
    const order = [...values.keys()].sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0)).slice(0, kStrongest);
    const names = sources.map((token) => nameOf(loaded, token)).join(" and ");
    const line = (token: number): TemplateResult =>
      html`<tr><th scope="row">${nameOf(loaded, token)}</th><td>${formatValue(values[token] ?? 0, 2)}</td></tr>`;
    return html`
      <table class="pic-table">
        <caption>${this.#axis === "row" ? `${names} looks most at` : `Most look at ${names}`}</caption>
        <thead class="unseen"><tr><th scope="col">Patch</th><th scope="col">Weight</th></tr></thead>
        <tbody>${order.map(line)}</tbody>
      </table>
    `;
  }

  #heads(loaded: Loaded, weights: readonly Picture[]): TemplateResult {
    const { layer } = loaded;
    const thumb = (weight: Picture, head: number): TemplateResult => {
      const paint = (element: Element | undefined): void => {
        const look = this.#lookOf(loaded, head);
        if (!(element instanceof HTMLCanvasElement) || !look) return;
        paintSmall(element, this.#faded(loaded.picture), weight, look, loaded);
      };
      const isOpen = head === this.host.state.head;
      return html`
        <button class="pic-head" aria-pressed=${isOpen ? "true" : "false"} @click=${(): void => this.host.showHead(layer, head)}>
          <canvas ${ref(paint)}></canvas>${layer}.${head}
        </button>
      `;
    };
    return html`<div class="pic-heads" role="group" aria-label=${`Heads of layer ${layer}`}>${weights.map(thumb)}</div>`;
  }

  /** Without a pin the weights are those of the token under the pointer; with one, its value is read there. */
  #point(token: number): void {
    const loaded = this.#loaded;
    if (!loaded) return;
    const pinned = this.#pins(loaded).at(-1);
    const other = this.#axis === "row" ? "col" : "row";
    this.host.point(pinned === undefined ? { [this.#axis]: token } : { [this.#axis]: pinned, [other]: token });
  }

  readonly #leave = (): void => this.host.point(undefined);

  #pin(token: number, isAdded: boolean): void {
    const loaded = this.#loaded;
    if (!loaded) return;
    const pins = this.#pins(loaded);
    const only = pins.length === 1 && pins[0] === token ? "" : String(token);
    const list = isAdded ? toggled(pins.join(" "), String(token)) : only;
    this.host.change(this.#axis === "col" ? { key: list } : { query: list });
  }

  #onKey(event: KeyboardEvent, { size: [rows, cols], prefix }: Loaded): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.#at === undefined ? 0 : Math.min(this.#at, rows * cols - 1);
    const [row, col] = [Math.floor(at / cols), at % cols];
    const moves: Record<string, number> = {
      ArrowUp: Math.max(row - 1, 0) * cols + col,
      ArrowDown: Math.min(row + 1, rows - 1) * cols + col,
      ArrowLeft: row * cols + Math.max(col - 1, 0),
      ArrowRight: row * cols + Math.min(col + 1, cols - 1),
      Home: row * cols,
      End: row * cols + cols - 1,
    };
    const move = moves[event.key];
    const { layer, head } = this.host.state;
    if (move !== undefined) this.#at = this.#at === undefined ? 0 : move;
    if (move !== undefined) this.#point(prefix + (this.#at ?? 0));
    else if (event.key === "Enter" || event.key === "p") this.#pin(prefix + at, event.shiftKey);
    else if (event.key === "Escape") this.host.change({ query: "", key: "" });
    else if (event.key === "s") this.host.silence(layer, head);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  readonly #onDrop = (event: DragEvent): void => {
    const { items, files } = event.dataTransfer ?? {};
    // The folder of a model belongs to the page.
    const isFolder = (files?.length ?? 0) > 1 || items?.[0]?.webkitGetAsEntry()?.isDirectory === true;
    if (!isFolder) this.#take(event, files?.[0]);
  };

  readonly #onPaste = (event: ClipboardEvent): void => this.#take(event, event.clipboardData?.files[0]);

  readonly #onChoose = (event: Event): void => this.#take(event, (event.target as HTMLInputElement).files?.[0]);

  #take(event: Event, file: File | undefined): void {
    if (!file) return;
    event.preventDefault();
    event.stopPropagation();
    const say = (words: string): void => {
      this.#said = words;
      this.host.requestUpdate();
    };
    givePicture(file).then((image) => {
      say("");
      this.host.change({ image, query: "", key: "" });
    }, (error: unknown) => say(error instanceof Error ? error.message : String(error)));
  }
}

export const pictureView: ViewCode = { styles: pictureStyles, create: (host) => new PictureView(host) };
