// SPDX-License-Identifier: Apache-2.0
/**
 * Pinned tokens, and the place under the pointer. Both are counted in the text as it is, and a map that was merged or
 * filtered has them elsewhere. A text that became shorter may no longer have them, and then they are not pinned.
 */
import type { Cursor } from "./group.js";
import type { State } from "./state.js";

/** A map's axes: how many tokens each has, and the tokens [begin, end) of the text in each place, where these differ. */
export interface Axes {
  readonly tokens: readonly string[];
  readonly keyTokens: readonly string[];
  readonly places?: {
    readonly rows: readonly (readonly [number, number])[];
    readonly cols: readonly (readonly [number, number])[];
  } | undefined;
}

/** The place of a token on an axis; undefined when it is not there. */
function shownAt(axes: Axes, axis: "rows" | "cols", token: number | undefined): number | undefined {
  if (token === undefined || !Number.isInteger(token)) return undefined;
  const place = axes.places ? axes.places[axis].findIndex(([begin, end]) => token >= begin && token < end) : token;
  return place >= 0 && place < axes[axis === "rows" ? "tokens" : "keyTokens"].length ? place : undefined;
}

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== "");

/** The rows of a map that are pinned. */
export function pinnedRows(axes: Axes, { query }: Readonly<State>): number[] {
  const rows = wordsOf(query).map((word) => shownAt(axes, "rows", Number(word)));
  return [...new Set(rows.filter((row) => row !== undefined))];
}

/** The columns of a map that are pinned. */
export function pinnedCols(axes: Axes, { key }: Readonly<State>): number[] {
  const cols = wordsOf(key).map((word) => shownAt(axes, "cols", Number(word)));
  return [...new Set(cols.filter((col) => col !== undefined))];
}

/** The pinned column of a map: the last one, for views that show one. */
export const pinnedCol = (axes: Axes, state: Readonly<State>): number | undefined => pinnedCols(axes, state).at(-1);

/** The place in a map that is looked at: under the pointer or the keyboard, or else the pinned one. */
export function placeOf(axes: Axes, cursor: Cursor | undefined, state: Readonly<State>): Cursor {
  const at = { row: shownAt(axes, "rows", cursor?.row), col: shownAt(axes, "cols", cursor?.col) };
  if (at.row !== undefined || at.col !== undefined) return at;
  return { row: pinnedRows(axes, state).at(-1), col: pinnedCol(axes, state) };
}

/** The tokens of a place in a map. */
export function tokensAt({ places }: Axes, { row, col }: Cursor): Cursor {
  return {
    row: row === undefined ? undefined : (places?.rows[row]?.[0] ?? row),
    col: col === undefined ? undefined : (places?.cols[col]?.[0] ?? col),
  };
}
