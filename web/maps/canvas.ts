// SPDX-License-Identifier: Apache-2.0
/** From the numbers of pictures to pixels: colours are applied where they are drawn, so a change of them computes nothing. */
import { noChange } from "lit";
import { Directive, directive, type ElementPart } from "lit/directive.js";
import { isEqual } from "../state/lists.js";
import { type CellMask, kOpen } from "./mask.js";
import { type Ends, kMasked, kSteps, kSurroundings, kUnknown, type Palette, paletteOf, type Theme } from "./palette.js";
import { codeIn, mostOfRow, rampOf, type Scale, type ScaleChoice, scaleOf } from "./scale.js";
import { blockBegin, type MapSource, type Overview, type Picture, type Size } from "./source.js";

/** Everything besides the numbers that decides the colours of a map. */
export interface Look {
  readonly scale: Scale;
  readonly palette: Palette;
  readonly mask: CellMask;
}

/** The choices that decide the palette. */
export interface Colors {
  readonly theme: Theme;
  readonly ends?: Ends | undefined;
}

export const lookOf = (scale: Scale, mask: CellMask, { theme, ends }: Colors): Look => ({
  scale,
  mask,
  palette: paletteOf(scale.colormap, theme, ends),
});

/** The looks of heads, each of which stays the same object as long as nothing about it changes. */
export class Looks {
  readonly #looks = new WeakMap<Overview, { choice: ScaleChoice; look: Look }>();

  of(maps: MapSource, layer: number, overview: Overview, choice: ScaleChoice, colors: Colors): Look {
    const known = this.#looks.get(overview);
    if (known?.choice === choice) {
      const { palette, scale: { colormap } } = known.look;
      if (palette === paletteOf(colormap, colors.theme, colors.ends)) return known.look;
    }
    const scale = scaleOf(choice, overview, maps.keyTokens.length, () => maps.fixedMost);
    const look = lookOf(scale, maps.maskOf(layer), colors);
    this.#looks.set(overview, { choice, look });
    return look;
  }
}

/** The blocks of one axis of a picture: block i has the cells [ends[i], ends[i + 1]). */
function endsOf(begin: number, count: number, blocks: number): Int32Array {
  const ends = new Int32Array(blocks + 1);
  for (let block = 0; block <= blocks; block++) ends[block] = begin + blockBegin(block, count, blocks);
  return ends;
}

/** The largest weight among the rows of a block, to which its cells are compared by the scale `row`. */
function ofBlock({ rows }: Scale, begin: number, end: number): number {
  let most = begin;
  for (let row = begin; row < end; row++) {
    if (Math.abs(rows?.[row] ?? 0) > Math.abs(rows?.[most] ?? 0)) most = row;
  }
  return most;
}

/** The palette's code of each number of a picture, in `codes`. */
export function codesOf(
  { part, size: [rows, cols], values, known }: Picture, { scale, mask }: Look, codes = new Uint16Array(rows * cols),
): Uint16Array {
  const ramp = rampOf(scale);
  const rowEnds = endsOf(part.rows[0], part.rows[1] - part.rows[0], rows);
  const colEnds = endsOf(part.cols[0], part.cols[1] - part.cols[0], cols);
  for (let row = 0, index = 0; row < rows; row++) {
    const [top, bottom] = [rowEnds[row] as number, rowEnds[row + 1] as number];
    const max = scale.rows ? mostOfRow(scale, ofBlock(scale, top, bottom)) : scale.max;
    const visible = mask.visible?.(top, bottom);
    const [first, last] = visible ?? [0, 0];
    for (let col = 0; col < cols; col++, index++) {
      const [begin, end] = [colEnds[col] as number, colEnds[col + 1] as number];
      const hidden = visible ? begin >= last || end <= first : mask.hides(top, bottom, begin, end);
      codes[index] = hidden ? kMasked : known?.[index] === 0 ? kUnknown : codeIn(ramp, values[index] as number, max);
    }
  }
  return codes;
}

/** The memory of the last picture: a page paints many of one size, and new memory for each takes longer than to paint it. */
let kept: { readonly codes: Uint16Array<ArrayBuffer>; readonly image: ImageData } | undefined;

type Box = Pick<DOMRectReadOnly, "x" | "y" | "width" | "height">;

/**
 * Puts a picture into a box of a canvas, in place of what was there, and returns its codes, which are to be used at once:
 * the next picture takes their memory. Masked and unknown cells are transparent.
 */
function put(
  canvas: HTMLCanvasElement, picture: Picture, look: Look, { x: left, y: top, width, height }: Box,
): Uint16Array {
  const [rows, cols] = picture.size;
  if (kept?.codes.length !== rows * cols || kept.image.width !== width || kept.image.height !== height)
    kept = { codes: new Uint16Array(rows * cols), image: new ImageData(width, height) };
  const { codes, image } = kept;
  codesOf(picture, look, codes);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = look.palette.pixels;
  // A pixel has the colour of the block below its middle.
  const block = (pixel: number, blocks: number, length: number): number =>
    Math.floor(((pixel + 0.5) * blocks) / length);
  const colOf = Uint16Array.from({ length: width }, (_, x) => block(x, cols, width));
  for (let y = 0, index = 0; y < height; y++) {
    const begin = block(y, rows, height) * cols;
    for (let x = 0; x < width; x++, index++)
      pixels[index] = colors[codes[begin + (colOf[x] as number)] as number] as number;
  }
  canvas.getContext("2d")?.putImageData(image, left, top);
  return codes;
}

/** Gives a canvas its size in pixels. To set the size that it has would empty it, and take new memory for all of it. */
export function resize(canvas: HTMLCanvasElement, width: number, height: number): void {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

/** Paints a picture with one pixel for each number, and returns its codes as `put` does. */
export function paint(canvas: HTMLCanvasElement, picture: Picture, look: Look): Uint16Array {
  const [height, width] = picture.size;
  resize(canvas, width, height);
  return put(canvas, picture, look, { x: 0, y: 0, width, height });
}

/** The distance of the dots of unknown cells in CSS pixels, as the style sheet has it. */
const kDotStep = 6;

/** A fill for unknown cells, on a canvas with so many pixels for each CSS pixel. */
export function dots(context: CanvasRenderingContext2D, theme: Theme, pixelRatio: number): CanvasPattern | string {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.max(Math.round(kDotStep * pixelRatio), 2);
  const { paper, stripe } = kSurroundings[theme];
  const tile = canvas.getContext("2d");
  if (!tile) return paper;
  tile.fillStyle = paper;
  tile.fillRect(0, 0, canvas.width, canvas.height);
  tile.fillStyle = stripe;
  tile.arc(canvas.width / 2, canvas.width / 2, canvas.width / 5, 0, 2 * Math.PI);
  tile.fill();
  return context.createPattern(canvas, "repeat") ?? paper;
}

/** Fills the unknown cells of a picture with these codes, which lies in `box`. */
export function fillUnknown(
  context: CanvasRenderingContext2D, codes: Uint16Array, [rows, cols]: Size,
  box: Box, fill: CanvasPattern | string,
): void {
  const x = (col: number): number => box.x + Math.round((col * box.width) / cols);
  const y = (row: number): number => box.y + Math.round((row * box.height) / rows);
  context.fillStyle = fill;
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < cols; col++) {
      const begin = col;
      while (col < cols && codes[row * cols + col] === kUnknown) col++;
      if (col > begin) context.fillRect(x(begin), y(row), x(col) - x(begin), y(row + 1) - y(row));
    }
}

/** Where a picture with more blocks than pixels waits for a moment in its own size before it is made smaller. */
let large: HTMLCanvasElement | undefined;

/** Paints a picture into a box of a canvas whose pixels are those of the screen. Unknown cells are dotted. */
function paintInto(canvas: HTMLCanvasElement, picture: Picture, look: Look, box: Box): void {
  const { x, y, width, height } = box;
  const [rows, cols] = picture.size;
  const context = canvas.getContext("2d");
  if (!context) return;
  let codes;
  if (rows > height || cols > width) {
    codes = paint((large ??= document.createElement("canvas")), picture, look);
    context.clearRect(x, y, width, height);
    context.imageSmoothingQuality = "high";
    context.drawImage(large, x, y, width, height);
  } else {
    codes = put(canvas, picture, look, box);
  }
  if (!picture.known) return;
  fillUnknown(context, codes, picture.size, box, dots(context, look.palette.theme, devicePixelRatio));
}

/** Paints a picture that has unknown cells with as many pixels as its canvas has on the screen, so that their dots are seen. */
function paintDotted(canvas: HTMLCanvasElement, picture: Picture, look: Look): void {
  const [rows, cols] = picture.size;
  const pixels = (length: number, blocks: number): number => Math.max(Math.round(length * devicePixelRatio), blocks);
  const [width, height] = [pixels(canvas.clientWidth, cols), pixels(canvas.clientHeight, rows)];
  resize(canvas, width, height);
  paintInto(canvas, picture, look, { x: 0, y: 0, width, height });
}

class Draw extends Directive {
  #picture: Picture | undefined;
  #look: Look | undefined;

  override update(part: ElementPart, [picture, look]: [Picture | undefined, Look | undefined]): unknown {
    const isNew = picture !== this.#picture || look !== this.#look;
    const { element } = part;
    if (picture && look && isNew && element instanceof HTMLCanvasElement) {
      // The size of a new canvas is known once it is in the page.
      if (picture.known) queueMicrotask(() => paintDotted(element, picture, look));
      else paint(element, picture, look);
    }
    this.#picture = picture;
    this.#look = look;
    return noChange;
  }

  render(_picture: Picture | undefined, _look: Look | undefined): unknown {
    return noChange;
  }
}

/** `<canvas ${draw(picture, look)}>` paints one pixel for each number where all are known, and only when something is different. */
export const draw = directive(Draw);

/** Pictures with their places on one canvas, in CSS pixels: x, y, width and height. */
export type Placed = readonly [picture: Picture | undefined, look: Look | undefined, ...box: number[]];

/** The pixels on a side of a canvas that every browser can hold. */
const kMostPixels = 16_384;

class DrawAll extends Directive {
  #drawn: readonly (Placed | undefined)[] = [];

  override update({ element }: ElementPart, [all, right, bottom]: [readonly Placed[], number, number]): unknown {
    const canvas = element as HTMLCanvasElement;
    const ratio = Math.min(devicePixelRatio, kMostPixels / Math.max(right, bottom));
    const pixels = (length: number): number => Math.round(length * ratio);
    const [width, height] = [pixels(right), pixels(bottom)];
    if (canvas.width !== width || canvas.height !== height || all.length < this.#drawn.length) {
      Object.assign(canvas, { width, height });
      this.#drawn = [];
    }
    const changed = all.filter((placed, index) => {
      const before = this.#drawn[index] ?? [];
      return (placed[0] ?? before[0]) && !isEqual(placed, before);
    });
    for (const [picture, look, left = 0, top = 0, across = 0, down = 0] of changed) {
      const [x, y] = [pixels(left), pixels(top)];
      const box = { x, y, width: pixels(left + across) - x, height: pixels(top + down) - y };
      if (picture && look) paintInto(canvas, picture, look, box);
      else canvas.getContext("2d")?.clearRect(x, y, box.width, box.height);
    }
    this.#drawn = all;
    return noChange;
  }

  render(_all: readonly Placed[], _right: number, _bottom: number): unknown {
    return noChange;
  }
}

/**
 * `<canvas ${drawAll(pictures, width, height)}>` paints many pictures on one canvas, each only when something about it
 * is different. A browser takes far longer for many canvases than for one of their size.
 */
export const drawAll = directive(DrawAll);

/** The colours [cells × RGBA] of a row, for what is tinted beside a map. */
export function rowColors(row: Picture, look: Look): Uint8ClampedArray {
  const colors = new Uint8ClampedArray(row.values.length * 4);
  codesOf(row, look).forEach((code, index) => {
    colors.set(look.palette.bytes.subarray(code * 4, code * 4 + 4), index * 4);
  });
  return colors;
}

/** The palette from left to right, for a legend; drawn with barLook. */
export const kBar: Picture = {
  part: { rows: [0, 1], cols: [0, kSteps] },
  size: [1, kSteps],
  values: Float32Array.from({ length: kSteps }, (_, step) => (2 * step) / (kSteps - 1) - 1),
};

/** The look in which step i of kBar has the palette's step i: the linear scale from −1 to 1. */
export function barLook({ palette }: Look): Look {
  return { palette, mask: kOpen, scale: { kind: "fixed", colormap: "diverging", min: -1, max: 1 } };
}
