// SPDX-License-Identifier: Apache-2.0
/** Pictures for lessons, cut into patches that serve as tokens. */
import type { Image } from "headlens";
import { mean } from "../numbers.js";

type Colour = readonly [number, number, number];

/** A square of one colour, `size` pixels wide, whose corner is at `top`, `left`. */
export interface Shape {
  readonly colour: Colour;
  readonly top: number;
  readonly left: number;
  readonly size: number;
}

/** Draws squares on black. */
export function picture(side: number, shapes: readonly Shape[]): Image {
  const data = new Uint8ClampedArray(side * side * 4);
  for (let pixel = 0; pixel < side * side; pixel++) {
    const [y, x] = [Math.floor(pixel / side), pixel % side];
    const inside = (one: Shape): boolean =>
      y >= one.top && y < one.top + one.size && x >= one.left && x < one.left + one.size;
    data.set([...(shapes.find(inside)?.colour ?? [0, 0, 0]), 255], pixel * 4);
  }
  return { data, width: side, height: side };
}

export interface Patches {
  /** One row per patch. Each has its pixels row by row, as red, green and blue from 0 to 1. */
  readonly rows: number[][];
  readonly names: readonly string[];
  readonly across: number;
  readonly down: number;
}

/** All weights of this many patches together take 64 MiB. */
const kMostPatches = 4096;

/** Cuts a picture into squares of `size` pixels. Throws unless they fit, or when there would be more than 4096. */
export function patchify({ data, width, height }: Image, size: number): Patches {
  const [across, down] = [width / size, height / size];
  if (![size, across, down].every((one) => Number.isInteger(one) && one > 0))
    throw new Error(`patches of ${size} pixels do not fill an image of ${width} by ${height}`);
  if (data.length !== width * height * 4)
    throw new Error(`an image of ${width} by ${height} has ${width * height * 4} bytes, not ${data.length}`);
  if (across * down > kMostPatches)
    throw new Error(`${across * down} patches: at most ${kMostPatches} attend to each other here`);
  const pixel = (y: number, x: number): number[] =>
    [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3)].map((value) => value / 255);
  const places = cells(across * down, across);
  const square = cells(size * size, size);
  return {
    rows: places.map(([row, col]) => square.flatMap(([y, x]) => pixel(row * size + y, col * size + x))),
    names: places.map(([row, col]) => `${row},${col}`),
    across,
    down,
  };
}

/** The mean red, green and blue of a patch. */
export const meanColour = (patch: readonly number[]): number[] =>
  [0, 1, 2].map((channel) => mean(patch.filter((_, index) => index % 3 === channel)));

/** The row and column of each cell of a grid. */
const cells = (length: number, across: number): (readonly [number, number])[] =>
  Array.from({ length }, (_, index) => [Math.floor(index / across), index % across] as const);
