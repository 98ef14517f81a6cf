// SPDX-License-Identifier: Apache-2.0
/** The pinned tokens. A text that became shorter may no longer have them, and then they are not pinned. */
import type { Cursor } from "./group.js";
import type { State } from "./state.js";

const inside = (index: number, count: number): boolean => Number.isInteger(index) && index >= 0 && index < count;

/** The pinned rows of a map with so many rows. */
export function pinnedRows({ query }: Readonly<State>, rows: number): number[] {
  return query.split(/[\s,]+/).filter((word) => word !== "").map(Number).filter((row) => inside(row, rows));
}

/** The pinned column of a map with so many columns. */
export function pinnedCol({ key }: Readonly<State>, cols: number): number | undefined {
  const col = key.trim() === "" ? NaN : Number(key);
  return inside(col, cols) ? col : undefined;
}

/** The place that is looked at: under the pointer or the keyboard, or else the pinned one. */
export function placeOf(
  cursor: Cursor | undefined, state: Readonly<State>, [rows, cols]: readonly [number, number],
): Cursor {
  const { row = NaN, col = NaN } = cursor ?? {};
  if (inside(row, rows) || inside(col, cols))
    return { row: inside(row, rows) ? row : undefined, col: inside(col, cols) ? col : undefined };
  return { row: pinnedRows(state, rows).at(-1), col: pinnedCol(state, cols) };
}
