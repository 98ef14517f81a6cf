// SPDX-License-Identifier: Apache-2.0
/** Which part of a map is on the screen, and how large. Lengths are CSS pixels unless they are cells. */
import type { Part, Size } from "./source.js";

export interface Viewport {
  /** The cells of the whole map. */
  readonly map: Size;
  /** The space for the map. */
  readonly width: number;
  readonly height: number;
  /** The side of a cell. */
  readonly cell: number;
  /** The point of the map, in cells, that lies in the upper left corner. */
  readonly row: number;
  readonly col: number;
}

/** The largest side of a cell. */
const kMaxCell = 48;
/** The least height or width that a long narrow map is shown with at first. */
const kMinSide = 16;

const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(value, most));

/** The side of a cell with which all of the map is seen. A map that is too narrow to be seen so is longer than the space. */
export function fittingCell([rows, cols]: Size, width: number, height: number): number {
  const all = Math.max(Math.min(width / cols, height / rows), kMinSide / Math.min(rows, cols));
  return Math.min(all >= 4 ? Math.floor(all) : all, kMaxCell);
}

/** Keeps the map in its space: it cannot be smaller than what fits, nor leave its space empty. */
export function settled(view: Viewport): Viewport {
  const { map, width, height } = view;
  const fit = fittingCell(map, width, height);
  const cell = clamp(view.cell, fit, Math.max(kMaxCell, fit));
  return {
    ...view,
    cell,
    row: clamp(view.row, 0, Math.max(0, map[0] - height / cell)),
    col: clamp(view.col, 0, Math.max(0, map[1] - width / cell)),
  };
}

/** Changes the size of the cells by a factor. The point (x, y) of the space stays where it is. */
export function zoomed(view: Viewport, factor: number, x: number, y: number): Viewport {
  const { cell } = settled({ ...view, cell: view.cell * factor });
  const stay = (begin: number, at: number): number => begin + at / view.cell - at / cell;
  return settled({ ...view, cell, row: stay(view.row, y), col: stay(view.col, x) });
}

/** Moves the map by so many pixels. */
export const panned = (view: Viewport, x: number, y: number): Viewport =>
  settled({ ...view, row: view.row - y / view.cell, col: view.col - x / view.cell });

/** Moves the map as little as is needed for a cell to be seen. */
export function showing(view: Viewport, row: number, col: number): Viewport {
  const near = (begin: number, seen: number, at: number): number => clamp(begin, at + 1 - seen, at);
  const { cell, width, height } = view;
  return settled({ ...view, row: near(view.row, height / cell, row), col: near(view.col, width / cell, col) });
}

/** The size of what is drawn, which a small map does not fill. */
export const shownSize = ({ map, width, height, cell }: Viewport): { width: number; height: number } => ({
  width: Math.min(width, map[1] * cell),
  height: Math.min(height, map[0] * cell),
});

/** The cells that are seen, at least in part. */
export function shownPart({ map, width, height, cell, row, col }: Viewport): Part {
  const range = (begin: number, length: number, count: number): [number, number] => [
    Math.floor(begin),
    Math.min(Math.ceil(begin + length / cell - 1e-9), count),
  ];
  return { rows: range(row, height, map[0]), cols: range(col, width, map[1]) };
}

export const isWhole = ({ map, width, height, cell }: Viewport): boolean =>
  map[0] * cell <= height + 0.5 && map[1] * cell <= width + 0.5;
