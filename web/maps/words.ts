// SPDX-License-Identifier: Apache-2.0
/** Maps in words, for readers who hear them. */
import { formatValue } from "./format.js";
import type { MapSource, Overview } from "./source.js";
import { tokenName } from "./tokens.js";

/** The row with the largest weight among the queries that have a choice of keys. */
export function strongestRow({ largest, keys }: Overview): number | undefined {
  let best: number | undefined;
  largest.forEach((value, row) => {
    if ((keys[row] ?? 0) < 2 && !(largest.length === 1 && keys[row] === 1)) return;
    if (best === undefined || value > (largest[best] ?? NaN)) best = row;
  });
  return best;
}

/** A link of a head. */
export interface Link {
  readonly row: number;
  /** −1 when no weight of the row is known. */
  readonly col: number;
  readonly value: number;
  /** True where weights are shares of a row. */
  readonly isShare: boolean;
}

/** The strongest link of a head, for which one row is computed; undefined when no query has a choice of keys. */
export async function strongestLink(
  maps: MapSource, layer: number, head: number, overview: Overview,
): Promise<Link | undefined> {
  const row = strongestRow(overview);
  if (row === undefined) return undefined;
  const width = maps.keyTokens.length;
  const { values, known } = await maps.part(layer, head, { rows: [row, row + 1], cols: [0, width] }, [1, width]);
  const mask = maps.maskOf(layer);
  const isShare = maps.fixedMost === 1 && !overview.signed;
  let col = known ? known.indexOf(1) : 0;
  if (col < 0) return { row, col, value: NaN, isShare };
  for (let key = col + 1; key < width; key++) {
    const isSeen = !mask.hides(row, row + 1, key, key + 1) && known?.[key] !== 0;
    if (isSeen && !((values[key] ?? NaN) <= (values[col] ?? NaN))) col = key;
  }
  return { row, col, value: values[col] ?? NaN, isShare };
}

/** A sentence about the strongest link of a head. */
export function linkInWords({ tokens, keyTokens }: MapSource, link: Link | null | undefined): string {
  if (!link) return "no query has a choice of keys";
  const { row, col, value, isShare } = link;
  if (col < 0) return "no weight is known";
  const share = isShare ? `${(value * 100).toFixed(0)} %` : formatValue(value);
  return `strongest link ${tokenName(tokens[row] ?? "")} to ${tokenName(keyTokens[col] ?? "")} ${share}`;
}
