// SPDX-License-Identifier: Apache-2.0
/** Maps that are in memory as a whole: pooled pictures of them, and what their scale is chosen from. */
import { type CellMask, kOpen } from "./mask.js";
import { blockBegin, type Overview, type Part, type Picture, type Size } from "./source.js";

/** Values, and which of them are known: all, where that is undefined. */
export interface Values {
  readonly values: Float32Array;
  readonly known: Uint8Array | undefined;
}

export interface WholeMap extends Values {
  readonly size: Size;
  readonly mask: CellMask;
  /** True where values may be negative. */
  readonly signed: boolean;
}

/**
 * Pools a part of a map. NaN stays NaN, so that a pooled picture does not hide it. Masked cells and those that are not
 * known count for nothing.
 */
export function pooled({ values, known, mask, size: whole }: WholeMap, part: Part, wanted: Size): Picture {
  const [height, width] = [part.rows[1] - part.rows[0], part.cols[1] - part.cols[0]];
  const size: Size = [Math.min(wanted[0], height), Math.min(wanted[1], width)];
  const cols = whole[1];
  const numbers = new Float32Array(size[0] * size[1]).fill(NaN);
  const seen = new Uint8Array(numbers.length);
  const endOf = (block: number): number => part.cols[0] + blockBegin(block + 1, width, size[1]);
  const ends = Uint32Array.from({ length: size[1] }, (_, block) => endOf(block));
  for (let blockRow = 0; blockRow < size[0]; blockRow++) {
    const end = part.rows[0] + blockBegin(blockRow + 1, height, size[0]);
    for (let row = part.rows[0] + blockBegin(blockRow, height, size[0]); row < end; row++) {
      let col = part.cols[0];
      for (let block = 0, to = blockRow * size[1]; block < size[1]; block++, to++) {
        for (; col < (ends[block] as number); col++) {
          const value = values[row * cols + col] as number;
          if (known && !known[row * cols + col]) continue;
          const best = numbers[to] as number;
          if (seen[to] && !(Math.abs(value) > Math.abs(best) || Number.isNaN(value))) continue;
          if (Number.isNaN(best) && seen[to]) continue;
          if (mask !== kOpen && mask.hides(row, row + 1, col, col + 1)) continue;
          numbers[to] = value;
          seen[to] = 1;
        }
      }
    }
  }
  return { part, size, values: numbers, ...(known && { known: seen }) };
}

/** The facts from which a scale of colours is chosen. */
export function factsOf(map: WholeMap): Omit<Overview, "picture"> {
  const { values, known, mask, size: [rows, cols], signed } = map;
  const largest = new Float32Array(rows);
  const keys = new Float32Array(rows);
  const open = mask === kOpen;
  for (let row = 0; row < rows; row++) {
    let [most, count] = [0, 0];
    for (let col = 0; col < cols; col++) {
      if (!open && mask.hides(row, row + 1, col, col + 1)) continue;
      count++;
      if (known && !known[row * cols + col]) continue;
      const value = values[row * cols + col] as number;
      if (Math.abs(value) > Math.abs(most) && Math.abs(value) !== Infinity) most = value;
    }
    largest[row] = most;
    keys[row] = count;
  }
  return { largest, keys, signed };
}
