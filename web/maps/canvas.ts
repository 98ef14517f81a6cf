// SPDX-License-Identifier: Apache-2.0
/** From the numbers of pictures to pixels: colours are applied where they are drawn, so a change of them computes nothing. */
import { noChange } from "lit";
import { Directive, PartType, directive } from "lit/directive.js";
import type { ElementPart, PartInfo } from "lit/directive.js";
import { type CellMask, kOpen } from "./mask.js";
import { kMasked, kSteps, type Palette, paletteOf, type Theme } from "./palette.js";
import { codeIn, mostOfRow, rampOf, type Scale, type ScaleChoice, scaleOf } from "./scale.js";
import { blockBegin, type MapSource, type Overview, type Picture } from "./source.js";

/** Everything besides the numbers that decides the colours of a map. */
export interface Look {
  readonly scale: Scale;
  readonly palette: Palette;
  readonly mask: CellMask;
}

export const lookOf = (scale: Scale, mask: CellMask, theme: Theme): Look => ({
  scale,
  mask,
  palette: paletteOf(scale.colormap, theme),
});

/** The looks of heads, each of which stays the same object as long as nothing about it changes. */
export class Looks {
  readonly #looks = new WeakMap<Overview, { choice: ScaleChoice; theme: Theme; look: Look }>();

  of({ keyTokens, fixedMost, mask }: MapSource, overview: Overview, choice: ScaleChoice, theme: Theme): Look {
    const known = this.#looks.get(overview);
    if (known?.choice === choice && known.theme === theme) return known.look;
    const look = lookOf(scaleOf(choice, overview, keyTokens.length, fixedMost), mask, theme);
    this.#looks.set(overview, { choice, theme, look });
    return look;
  }
}

/** The blocks of one axis of a picture: block i has the cells [ends[i], ends[i + 1]). */
function endsOf(begin: number, count: number, blocks: number): Int32Array {
  return Int32Array.from({ length: blocks + 1 }, (_, block) => begin + blockBegin(block, count, blocks));
}

/** The largest weight among the rows of a block, to which its cells are compared by the scale `row`. */
function ofBlock({ rows }: Scale, begin: number, end: number): number {
  let most = begin;
  for (let row = begin; row < end; row++) {
    if (Math.abs(rows?.[row] ?? 0) > Math.abs(rows?.[most] ?? 0)) most = row;
  }
  return most;
}

/** The palette's code of each number of a picture. */
export function codesOf({ part, size, values }: Picture, { scale, mask }: Look): Uint16Array {
  const [rows, cols] = size;
  const codes = new Uint16Array(rows * cols);
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
      codes[index] = hidden ? kMasked : codeIn(ramp, values[index] as number, max);
    }
  }
  return codes;
}

/** Paints a picture with one pixel for each number. Masked cells are transparent. */
export function paint(canvas: HTMLCanvasElement, picture: Picture, look: Look): void {
  const [height, width] = picture.size;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = look.palette.pixels;
  const codes = codesOf(picture, look);
  for (let index = 0; index < pixels.length; index++) pixels[index] = colors[codes[index] as number] as number;
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

class Draw extends Directive {
  #picture: Picture | undefined;
  #look: Look | undefined;

  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error("draw() belongs on a canvas element");
  }

  override update(part: ElementPart, [picture, look]: [Picture | undefined, Look | undefined]): unknown {
    const isNew = picture !== this.#picture || look !== this.#look;
    if (picture && look && isNew && part.element instanceof HTMLCanvasElement) paint(part.element, picture, look);
    this.#picture = picture;
    this.#look = look;
    return noChange;
  }

  render(_picture: Picture | undefined, _look: Look | undefined): unknown {
    return noChange;
  }
}

/** `<canvas ${draw(picture, look)}>` paints one pixel for each number, and only when something is different. */
export const draw = directive(Draw);

/** The colours [cells × RGBA] of a row of values, for what is tinted beside a map. */
export function rowColors(values: Float32Array, row: number, look: Look): Uint8ClampedArray {
  const colors = new Uint8ClampedArray(values.length * 4);
  const part = { rows: [row, row + 1], cols: [0, values.length] } as const;
  codesOf({ part, size: [1, values.length], values }, look).forEach((code, index) => {
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
