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
export function pooled(map: WholeMap, part: Part, wanted: Size): Picture {
  const { values, known, mask, signed, size: whole } = map;
  const [height, width] = [part.rows[1] - part.rows[0], part.cols[1] - part.cols[0]];
  const size: Size = [Math.min(wanted[0], height), Math.min(wanted[1], width)];
  if (!known && !signed && mask.visible) return { part, size, values: pooledWeights(map, part, size) };
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

/**
 * The same for values of at least 0 that are all known, of which each query sees a range: first down, then across. Their
 * bits have the order of the numbers, with NaN above all, and are compared without branches, which would often be
 * guessed wrong.
 */
function pooledWeights(map: WholeMap, { rows, cols: [left, right] }: Part, size: Size): Float32Array {
  const { values, mask, size: [, cols] } = map;
  const numbers = new Float32Array(size[0] * size[1]).fill(NaN);
  const bits = new Int32Array(numbers.buffer);
  const cells = new Int32Array(values.buffer, values.byteOffset, values.length);
  const most = new Int32Array(cols);
  const beginOf = (block: number): number => rows[0] + blockBegin(block, rows[1] - rows[0], size[0]);
  for (let blockRow = 0; blockRow < size[0]; blockRow++) {
    most.fill(-1);
    for (let row = beginOf(blockRow); row < beginOf(blockRow + 1); row++) {
      const [first, last] = mask.visible?.(row, row + 1) ?? [0, 0];
      const end = Math.min(last, right) | 0;
      for (let col = Math.max(first, left) | 0; col < end; col++)
        most[col] = larger(most[col] as number, Math.min((cells[row * cols + col] as number) & kMagnitude, kMost));
    }
    for (let block = 0, col = left; block < size[1]; block++) {
      const end = left + blockBegin(block + 1, right - left, size[1]);
      let largest = -1;
      for (; col < end; col++) largest = larger(largest, most[col] as number);
      if (largest >= 0) bits[blockRow * size[1] + block] = largest;
    }
  }
  return numbers;
}

/** All bits of a number but its sign, and the largest of these that `larger` takes, which is NaN as all above infinity. */
const kMagnitude = 0x7fffffff;
const kMost = kMagnitude - 1;

/** The larger of two integers from −1 on, whose difference must be an integer of 32 bits, too. */
const larger = (a: number, b: number): number => (a + ((b - a) & ~((b - a) >> 31))) | 0;

/** The facts from which a scale of colours is chosen. */
export function factsOf(map: WholeMap): Omit<Overview, "picture"> {
  const { values, known, mask, size: [rows, cols], signed } = map;
  const largest = new Float32Array(rows);
  const keys = new Float32Array(rows);
  const asks = !mask.visible;
  for (let row = 0; row < rows; row++) {
    let [most, count] = [0, 0];
    const [first, last] = mask.visible?.(row, row + 1) ?? [0, cols];
    const end = Math.min(last, cols) | 0;
    for (let col = Math.max(first, 0) | 0; col < end; col++) {
      if (asks && mask.hides(row, row + 1, col, col + 1)) continue;
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
