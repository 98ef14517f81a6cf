// SPDX-License-Identifier: Apache-2.0
/**
 * Pinned tokens, and the place under the pointer. Both are counted in the text as it is, and a map that was merged or
 * filtered has them elsewhere. A text that became shorter may no longer have them, and then they are not pinned.
 */
import type { Cursor } from "./group.js";
import { wordsOf } from "./lists.js";
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
export function shownAt(axes: Axes, axis: "rows" | "cols", token: number | undefined): number | undefined {
  if (token === undefined || !Number.isInteger(token)) return undefined;
  const place = axes.places ? axes.places[axis].findIndex(([begin, end]) => token >= begin && token < end) : token;
  return place >= 0 && place < axes[axis === "rows" ? "tokens" : "keyTokens"].length ? place : undefined;
}

function pinned(axes: Axes, axis: "rows" | "cols", list: string): number[] {
  const places = wordsOf(list).map((word) => shownAt(axes, axis, Number(word)));
  return [...new Set(places.filter((place) => place !== undefined))];
}

/** The rows of a map that are pinned. */
export const pinnedRows = (axes: Axes, { query }: Readonly<State>): number[] => pinned(axes, "rows", query);

/** The columns of a map that are pinned. */
export const pinnedCols = (axes: Axes, { key }: Readonly<State>): number[] => pinned(axes, "cols", key);

/** The column that was pinned last, for views of one column. */
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
