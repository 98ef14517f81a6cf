// SPDX-License-Identifier: Apache-2.0
/** The things that lines are drawn of: maps as the reader shapes them, the links of heads, and the places of tokens. */
import { type MapSource, type Overview } from "../maps/source.js";
import { tokenWidth } from "../maps/tokens.js";
import type { Head } from "../state/lists.js";
import { drawnOf, type Link, type Links } from "./lines-links.js";

export type Axis = "row" | "col";

/** The widths of tokens in a line, in pixels: of a letter, and at least and at most. */
const [kLetter, kNarrow, kWide] = [8.5, 50, 150];

export interface Content {
  readonly maps: MapSource;
  readonly links: Links;
  readonly overviews: readonly Overview[];
  /** The row with the strongest link of the open head. */
  readonly usual: number;
  /** Where each token begins in a line of tokens, with the end of the last. */
  readonly begins: Float64Array;
  /** The row of the token of each column; undefined where rows and columns are not the same tokens. */
  readonly rowOfCol: readonly number[] | undefined;
}

/** The rows or the column whose lines alone are drawn; all rows in sight where there is neither. */
export interface Focus {
  readonly rows: readonly number[];
  readonly col: number | undefined;
}

/** The links that are drawn, of each head. */
export type Drawn = readonly (readonly Link[])[];

/** A link of the head at this place among the heads. */
export interface HeadLink {
  readonly link: Link;
  readonly head: number;
}

export function beginsOf(tokens: readonly string[]): Float64Array {
  const begins = new Float64Array(tokens.length + 1);
  tokens.forEach((token, index) => {
    begins[index + 1] = (begins[index] as number) + Math.min(Math.max(tokenWidth(token) * kLetter + 8, kNarrow), kWide);
  });
  return begins;
}

export function rowsOfCols({ tokens, keyTokens, places }: MapSource): readonly number[] | undefined {
  if (!places && tokens.length !== keyTokens.length) return undefined;
  const rows = new Map(places?.rows.map(([begin], row) => [begin, row]));
  const found = keyTokens.map((token, col) => {
    const row = places ? rows.get(places.cols[col]?.[0] ?? -1) : col;
    return row !== undefined && tokens[row] === token ? row : -1;
  });
  return found.includes(-1) ? undefined : found;
}

/** The links of these rows that are drawn, of all heads or of `only` one. */
export function drawnLinks(
  { links }: Content, rows: readonly number[], col: number | undefined, only: number | undefined,
  { threshold, topK }: { readonly threshold: number; readonly topK: number },
): Drawn {
  return links.heads.map((_, head) => {
    if (only !== undefined && only !== head) return [];
    const all = rows.flatMap((row) => {
      const found = links.of(head, row);
      return found ? drawnOf(found, threshold, topK) : [];
    });
    return col === undefined ? all : all.filter((link) => link.col === col);
  });
}

/** The strongest link at each token on the other side of the chosen ones. */
export function strongestAt(drawn: Drawn, col: number | undefined): Map<number, HeadLink> {
  const best = new Map<number, HeadLink>();
  drawn.forEach((all, head) => all.forEach((link) => {
    const at = col === undefined ? link.col : link.row;
    const before = best.get(at);
    if (!before || Math.abs(before.link.weight) < Math.abs(link.weight)) best.set(at, { link, head });
  }));
  return best;
}

export const headAt = ({ links }: Content, head: number): Head => links.heads[head] as Head;
