// SPDX-License-Identifier: Apache-2.0
/**
 * The large map of one head, with labelled rows and columns, the exact value of the cell under the pointer or the
 * keyboard's cursor, and a colour bar.
 */
import type { Image } from "headlens";
import { html, nothing } from "lit";
import type { ReactiveController, ReactiveControllerHost, TemplateResult } from "lit";
import { draw } from "./draw.js";
import type { HeadPicture, Maps } from "./maps.js";
import { formatValue } from "./format.js";
import { isMasked, strongestLink } from "./maps.js";
import { tokenLabel, tokenName, tokenWidth } from "./tokens.js";

export interface HeadContent {
  readonly view: "map";
  readonly maps: Maps;
  readonly picture: HeadPicture;
  /** The colours from the smallest to the largest value, one pixel high. */
  readonly colorbar: Image;
}

export interface Cell {
  row: number;
  col: number;
}

interface Host extends ReactiveControllerHost, Element {
  readonly renderRoot: HTMLElement | DocumentFragment;
  showHead(layer: number, head: number): void;
  closeHead(): void;
  /** Called when the highlighted cell changed, or there is none. `colors` are those of its row, in RGBA. */
  visitCell(cell: Cell | undefined, colors: Uint8ClampedArray | undefined): void;
}

/** Sizes in pixels: the largest cell, the map within the window, and the labels. */
const kMaxCell = 48;
const maxSide = (): number => Math.min(Math.max(0.6 * innerHeight, 320), 640);
const kLabelHeight = 14;
const kCharWidth = 7.3;
const kMaxChars = 12;
/** Column labels are tilted by 60°. For each pixel of length they take this much space upwards and to the right. */
const kLean = { up: 0.87, right: 0.5 };

/** Facts that need a look at every cell or token, and so are computed once for each map. */
interface Facts {
  strongest: string;
  masked: boolean;
  /** The length in pixels of the longest row label and of the longest column label. */
  rowLabel: number;
  colLabel: number;
}

/** Sizes in pixels of a cell, of the column of row labels and of the row of column labels. */
interface Layout {
  cell: number;
  left: number;
  top: number;
}

export class HeadView implements ReactiveController {
  #content: HeadContent | undefined;
  #facts: Facts = { strongest: "", masked: false, rowLabel: 0, colLabel: 0 };
  #cell: Cell | undefined;
  #width = 0;
  readonly #resize = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    if (width === this.#width) return;
    this.#width = width;
    this.host.requestUpdate();
  });

  constructor(private readonly host: Host) {
    host.addController(this);
  }

  hostConnected(): void {
    this.#resize.observe(this.host);
  }

  hostDisconnected(): void {
    this.#resize.disconnect();
  }

  focus(): void {
    this.host.renderRoot.querySelector<HTMLElement>(".plot")?.focus();
  }

  render(content: HeadContent): TemplateResult {
    if (content !== this.#content) this.#show(content);
    const { maps, picture } = content;
    const { layer, head, image } = picture;
    const layout = this.#layout(image);
    const name = `Layer ${layer}, head ${head}`;
    const about = `${name}: ${this.#facts.strongest}. Rows are queries, columns are keys. Arrow keys move the cell.`;
    return html`
      <div class="head" part="map">
        ${this.#bar(content)}
        <output class="readout" aria-live="polite">${this.#readout(content)}</output>
        <div
          class="plot"
          role="application"
          aria-roledescription="attention map"
          aria-label=${about}
          tabindex="0"
          .style=${sizes(layout, image)}
          @keydown=${this.#onKey}
          @focus=${this.#onFocus}
        >
          <div class="axes" aria-hidden="true"><span class="key">key →</span><span class="query">query ↓</span></div>
          ${labels("cols", maps.keyTokens, layout.cell, this.#cell?.col)}
          ${labels("rows", maps.tokens, layout.cell, this.#cell?.row)}
          <div class="cells" @pointermove=${this.#onPointer} @pointerdown=${this.#onPointer} @pointerleave=${this.#onLeave}>
            <canvas class=${layout.cell < 1 ? "fine" : nothing} ${draw(image)}></canvas>
            ${this.#cell ? this.#highlight(this.#cell) : nothing}
          </div>
        </div>
        ${this.#legend(content)}
      </div>
    `;
  }

  #bar({ maps, picture: { layer, head } }: HeadContent): TemplateResult {
    const index = layer * maps.heads + head;
    const step = (by: number, sign: string, words: string, key: string): TemplateResult => {
      const to = index + by;
      const none = to < 0 || to >= maps.layers * maps.heads;
      return html`<button class="turn" aria-label=${words} title=${`${words} ( ${key} )`} ?disabled=${none} @click=${(): void => this.#goTo(to)}>${sign}</button>`;
    };
    return html`
      <div class="bar">
        <button class="back" part="back" @click=${(): void => this.host.closeHead()}><span aria-hidden="true">←</span> All heads</button>
        <span class="title">L${layer} H${head}</span>
        ${step(-1, "‹", "Previous head", "[")}${step(1, "›", "Next head", "]")}
      </div>
    `;
  }

  #goTo(index: number): void {
    if (!this.#content) return;
    const { layers, heads } = this.#content.maps;
    if (index >= 0 && index < layers * heads) this.host.showHead(Math.floor(index / heads), index % heads);
  }

  #show(content: HeadContent): void {
    const { maps, picture } = content;
    const { matrix, image } = picture;
    this.#content = content;
    this.#facts = {
      strongest: strongestLink(maps, matrix, image),
      masked: hasMasked(image),
      rowLabel: labelLength(maps.tokens),
      colLabel: labelLength(maps.keyTokens),
    };
    if (this.#cell && (this.#cell.row >= image.height || this.#cell.col >= image.width)) this.#cell = undefined;
  }

  #layout({ width, height }: Image): Layout {
    const { rowLabel, colLabel } = this.#facts;
    const left = Math.max(rowLabel, 56);
    const room = Math.min(this.#width - left - colLabel * kLean.right, maxSide());
    const exact = Math.max(Math.min(room / width, maxSide() / height), 0.25);
    const cell = Math.min(exact >= 4 ? Math.floor(exact) : exact, kMaxCell);
    return { cell, left: Math.ceil(left), top: Math.ceil(colLabel * kLean.up + 8) };
  }

  #highlight({ row, col }: Cell): TemplateResult {
    const at = `--row: ${row}; --col: ${col}`;
    return html`<div class="across" .style=${at}></div>
      <div class="down" .style=${at}></div>
      <div class="cell" .style=${at}></div>`;
  }

  #readout({ maps, picture: { matrix, image } }: HeadContent): TemplateResult {
    if (!this.#cell)
      return html`<span class="hint">Point at a cell, or use the arrow keys, for its exact value.</span>`;
    const { row, col } = this.#cell;
    const value = matrix.data[row * image.width + col] ?? NaN;
    const shown = isMasked(image, row, col) ? "masked" : formatValue(value);
    return html`query ${tokenName(maps.tokens[row] ?? "")} → key ${tokenName(maps.keyTokens[col] ?? "")}: <b>${shown}</b>`;
  }

  #legend({ maps: { range }, picture: { matrix, image }, colorbar }: HeadContent): TemplateResult {
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((t) => range.min + t * (range.max - range.min));
    const value =
      this.#cell && !isMasked(image, this.#cell.row, this.#cell.col)
        ? matrix.data[this.#cell.row * image.width + this.#cell.col]
        : undefined;
    const place = value === undefined ? 0 : (value - range.min) / (range.max - range.min);
    const digits = range.max - range.min > 20 ? 0 : 2;
    return html`
      <div class="legend" aria-label=${`Colours from ${formatValue(range.min, digits)} to ${formatValue(range.max, digits)}`} role="img">
        <div class="scale">
          <canvas ${draw(colorbar)}></canvas>
          ${value === undefined ? nothing : html`<span class="pointer" .style=${`--place: ${Math.min(Math.max(place, 0), 1)}`}></span>`}
          <div class="ticks">${ticks.map((tick) => html`<span>${formatValue(tick, digits)}</span>`)}</div>
        </div>
        ${this.#facts.masked ? html`<span class="masked"><span class="swatch"></span>masked</span>` : nothing}
      </div>
    `;
  }

  #moveTo(cell: Cell | undefined): void {
    if (cell?.row === this.#cell?.row && cell?.col === this.#cell?.col) return;
    this.#cell = cell;
    this.host.requestUpdate();
    this.announceCell();
  }

  /** Reports the highlighted cell, when it moves and when the map under it changes. */
  announceCell(): void {
    const { data, width } = this.#content?.picture.image ?? { data: new Uint8ClampedArray(), width: 0 };
    const row = this.#cell?.row;
    this.host.visitCell(this.#cell, row === undefined ? undefined : data.slice(row * width * 4, (row + 1) * width * 4));
  }

  readonly #onPointer = (event: PointerEvent): void => {
    if (!this.#content || !(event.currentTarget instanceof HTMLElement)) return;
    const { width, height } = this.#content.picture.image;
    const box = event.currentTarget.getBoundingClientRect();
    const col = Math.floor(((event.clientX - box.left) / box.width) * width);
    const row = Math.floor(((event.clientY - box.top) / box.height) * height);
    if (row >= 0 && row < height && col >= 0 && col < width) this.#moveTo({ row, col });
  };

  /** The pointer's highlight goes when the pointer leaves; the keyboard's stays. */
  readonly #onLeave = (event: PointerEvent): void => {
    if (event.pointerType === "mouse" && !this.host.renderRoot.querySelector(".plot:focus")) this.#moveTo(undefined);
  };

  readonly #onFocus = (): void => {
    this.#moveTo(this.#cell ?? { row: 0, col: 0 });
  };

  readonly #onKey = (event: KeyboardEvent): void => {
    // Alt with an arrow belongs to the browser. On many keyboards AltGr types a bracket, which is allowed.
    if (!this.#content || event.metaKey || (event.altKey && event.key.length > 1)) return;
    const { picture, maps } = this.#content;
    const { width, height } = picture.image;
    const { row, col } = this.#cell ?? { row: 0, col: 0 };
    const index = picture.layer * maps.heads + picture.head;
    const actions: Record<string, () => void> = {
      ArrowUp: () => this.#moveTo({ row: Math.max(row - 1, 0), col }),
      ArrowDown: () => this.#moveTo({ row: Math.min(row + 1, height - 1), col }),
      ArrowLeft: () => this.#moveTo({ row, col: Math.max(col - 1, 0) }),
      ArrowRight: () => this.#moveTo({ row, col: Math.min(col + 1, width - 1) }),
      Home: () => this.#moveTo({ row: event.ctrlKey ? 0 : row, col: 0 }),
      End: () => this.#moveTo({ row: event.ctrlKey ? height - 1 : row, col: width - 1 }),
      PageUp: () => this.#goTo(index - 1),
      PageDown: () => this.#goTo(index + 1),
      "[": () => this.#goTo(index - 1),
      "]": () => this.#goTo(index + 1),
      Escape: () => this.host.closeHead(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
}

function sizes({ cell, left, top }: Layout, { width, height }: Image): string {
  return `--cell: ${cell}px; --left: ${left}px; --top: ${top}px; --width: ${cell * width}px; --height: ${cell * height}px`;
}

/**
 * Shows only every second, third, … label where labels would overlap. The highlighted one is always shown, and its
 * neighbours are left out.
 */
function labels(
  axis: "rows" | "cols",
  tokens: readonly string[],
  cell: number,
  chosen: number | undefined,
): TemplateResult {
  const every = Math.ceil(kLabelHeight / cell);
  const label = (token: string, index: number): TemplateResult | typeof nothing => {
    const isNear = chosen !== undefined && Math.abs(index - chosen) < every;
    if (index !== chosen && (isNear || index % every !== 0)) return nothing;
    return html`<span class="label ${index === chosen ? "chosen" : ""}" .style=${`--at: ${index}`}>${tokenLabel(token)}</span>`;
  };
  return html`<div class=${axis} aria-hidden="true">${tokens.map(label)}</div>`;
}

function labelLength(tokens: readonly string[]): number {
  const longest = tokens.reduce((most, token) => Math.max(most, tokenWidth(token)), 2);
  return Math.min(longest, kMaxChars) * kCharWidth + 10;
}

function hasMasked({ data }: Image): boolean {
  for (let alpha = 3; alpha < data.length; alpha += 4) if (data[alpha] === 0) return true;
  return false;
}
