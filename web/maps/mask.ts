// SPDX-License-Identifier: Apache-2.0
/** The cells of a map that its queries may not look at. */

export interface CellMask {
  /** True when no key [colBegin, colEnd) may be looked at by any query [rowBegin, rowEnd). */
  hides(rowBegin: number, rowEnd: number, colBegin: number, colEnd: number): boolean;
  /** Where the keys that some query of [rowBegin, rowEnd) may look at are a range: that range. It is quicker to ask for. */
  visible?(rowBegin: number, rowEnd: number): readonly [begin: number, end: number];
}

/** Hides nothing. */
export const kOpen: CellMask = { hides: () => false, visible: () => [0, Infinity] };

/** Hides later keys, and with a window also keys that are `window` or more positions before the query. */
export function causalMask(window = 0): CellMask {
  return {
    hides: (rowBegin, rowEnd, colBegin, colEnd) =>
      colBegin >= rowEnd || (window > 0 && colEnd - 1 <= rowBegin - window),
    visible: (rowBegin, rowEnd) => [window > 0 ? rowBegin - window + 1 : 0, rowEnd],
  };
}

/** Hides the keys that stand at one of these distances before their query. */
export function diagonalMask(distances: readonly number[]): CellMask {
  const hidden = new Set(distances);
  return {
    hides(rowBegin, rowEnd, colBegin, colEnd) {
      for (let row = rowBegin; row < rowEnd; row++)
        for (let col = colBegin; col < colEnd; col++) if (!hidden.has(row - col)) return false;
      return true;
    },
  };
}

/** Hides the cells that are 0 in `cells` [rows, cols]. */
export function givenMask(cells: ArrayLike<unknown>, cols: number): CellMask {
  return {
    hides(rowBegin, rowEnd, colBegin, colEnd) {
      for (let row = rowBegin; row < rowEnd; row++)
        for (let col = colBegin; col < colEnd; col++) if (cells[row * cols + col]) return false;
      return true;
    },
  };
}

/** Hides what either of two masks hides. A block that only both of them together hide is not found. */
export function both(first: CellMask, second: CellMask): CellMask {
  if (first === kOpen) return second;
  return { hides: (...block) => first.hides(...block) || second.hides(...block) };
}
