// SPDX-License-Identifier: Apache-2.0
/** A picture with the weights of a head laid over it: where a patch looks, or which patches look at it. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import { codesOf, type Look, Looks } from "../maps/canvas.js";
import { formatValue } from "../maps/format.js";
import { tintStyle } from "../maps/ink.js";
import { kSteps } from "../maps/palette.js";
import { isReleased, type MapSource, type Overview, type Picture } from "../maps/source.js";
import { tokenLabel, tokenName } from "../maps/tokens.js";
import { toggled } from "../state/lists.js";
import { pinnedCol, pinnedRows } from "../state/pins.js";
import { pictureStyles } from "./picture-styles.js";
import { seenPicture } from "./picture-seen.js";
import { meanOf } from "./row-strip.js";
import type { Host, View, ViewCode } from "./view.js";

/** The number of patches in the list of the strongest. */
const kStrongest = 10;

/** The opacity of the palette's first and last step over the picture. */
const [kFaintest, kDensest] = [0.2, 0.8];

type Axis = "row" | "col";

interface Loaded {
  readonly maps: MapSource;
  readonly layer: number;
  readonly picture: HTMLCanvasElement;
  readonly overviews: readonly Overview[];
  /** The rows and columns of patches, and the number of tokens before them. */
  readonly size: readonly [rows: number, cols: number];
  readonly prefix: number;
}

class PictureView implements View {
  #loaded: Loaded | undefined;
  #words = "";
  #axis: Axis = "row";
  /** The patch at which the keyboard is. */
  #at: number | undefined;
  /** The weights of all heads of the layer, by axis and token. */
  readonly #known = new Map<string, readonly Picture[] | undefined>();
  readonly #looks = new Looks();

  constructor(private readonly host: Host) {}

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".pic-plot")?.focus();
  }

  heads(): readonly (readonly [number, number])[] {
    return [[this.host.state.layer, this.host.state.head]];
  }

  clear(): void {
    this.#loaded = undefined;
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

  #pins({ maps }: Loaded): number[] {
    if (this.#axis === "row") return pinnedRows(maps, this.host.state);
    const col = pinnedCol(maps, this.host.state);
    return col === undefined ? [] : [col];
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
      <div class="pic" part="picture" @dragover=${(event: Event): void => event.preventDefault()} @drop=${this.#onDrop}>
        ${this.#modes()}
        <div class="pic-both">
          <div class="pic-left">
            ${this.#chips(loaded, own, look)} ${this.#plot(loaded, own, look, sources)}
            <output class="pic-readout">${this.#readout(loaded, sources, own)}</output>
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

  #modes(): TemplateResult {
    const mode = (axis: Axis, words: string): TemplateResult => {
      const choose = (): void => {
        this.#axis = axis;
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
        ${picture}<canvas class="pic-tint" ${ref(tint)}></canvas><span class="pic-grid"></span>${marks.map(mark)}
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
    const { layer, picture } = loaded;
    const thumb = (weight: Picture, head: number): TemplateResult => {
      const paint = (element: Element | undefined): void => {
        const look = this.#lookOf(loaded, head);
        const context = element instanceof HTMLCanvasElement ? element.getContext("2d") : undefined;
        if (!context || !look) return;
        const small = document.createElement("canvas");
        lay(small, weight, look, loaded);
        context.canvas.width = context.canvas.height = 96;
        context.drawImage(picture, 0, 0, 96, 96);
        context.imageSmoothingEnabled = false;
        context.drawImage(small, 0, 0, 96, 96);
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
    if (this.#axis === "col") this.host.change({ key: only });
    else this.host.change({ query: isAdded ? toggled(pins.join(" "), String(token)) : only });
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
    const file = [...(event.dataTransfer?.files ?? [])].find(({ type }) => type.startsWith("image/"));
    if (!file) return;
    event.preventDefault();
    event.stopPropagation();
    this.host.change({ image: URL.createObjectURL(file), query: "", key: "" });
  };
}

/** A token's row or column in the maps of all heads of a layer. */
function weightsOf({ maps, layer }: Loaded, axis: Axis, token: number): Promise<readonly Picture[]> {
  const [one, all]: [[number, number], [number, number]] = [[token, token + 1], [0, maps.tokens.length]];
  const part = axis === "row" ? { rows: one, cols: all } : { rows: all, cols: one };
  const size = axis === "row" ? ([1, all[1]] as const) : ([all[1], 1] as const);
  return Promise.all(Array.from({ length: maps.heads[layer] ?? 0 }, (_, head) => maps.part(layer, head, part, size)));
}

/** Lays colours over a picture, one pixel for each patch, the denser the larger the weight. */
function lay(canvas: HTMLCanvasElement, weights: Picture, look: Look, { size: [rows, cols], prefix }: Loaded): void {
  [canvas.width, canvas.height] = [cols, rows];
  const image = new ImageData(cols, rows);
  codesOf(weights, look).subarray(prefix).forEach((code, patch) => {
    const bytes = look.palette.bytes.subarray(code * 4, code * 4 + 4);
    const place = Math.min(code / (kSteps - 1), 1);
    image.data.set(bytes, patch * 4);
    image.data[patch * 4 + 3] = (bytes[3] ?? 0) * (kFaintest + (kDensest - kFaintest) * place);
  });
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

/** The token of the patch under the pointer. */
function patchAt({ clientX, clientY, currentTarget }: MouseEvent, { size: [rows, cols], prefix }: Loaded): number {
  const { left, top, width, height } = (currentTarget as Element).getBoundingClientRect();
  const at = (length: number, whole: number, count: number): number =>
    Math.min(Math.max(Math.floor((length / whole) * count), 0), count - 1);
  return prefix + at(clientY - top, height, rows) * cols + at(clientX - left, width, cols);
}

/** Patches are named by their places, counted from 0 as in the names of tokens. */
function nameOf({ maps, prefix, size: [, cols] }: Loaded, token: number): string {
  if (token < prefix) return tokenName(maps.tokens[token] ?? "");
  return `row ${Math.floor((token - prefix) / cols)}, column ${(token - prefix) % cols}`;
}

export const pictureView: ViewCode = { styles: pictureStyles, create: (host) => new PictureView(host) };
