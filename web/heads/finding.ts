// SPDX-License-Identifier: Apache-2.0
/** What a row of weights says, in words that are true of its numbers. */
import { formatValue } from "../maps/format.js";
import { tokenName } from "../maps/tokens.js";

/** A row of weights, or the mean of several. */
export interface Row {
  /** The tokens that look. */
  readonly queries: readonly string[];
  readonly keyTokens: readonly string[];
  /** One for each key; NaN where a key is masked or its weight is not known. */
  readonly weights: Float32Array;
  /** The column of the query itself, where it is among the keys. */
  readonly self: number | undefined;
}

/** A piece of a sentence. The keys that are named are told apart. */
export interface Piece {
  readonly text: string;
  readonly isKey?: boolean;
}

/** A share of a row. What is not all is never written as 100 %, and what is not nothing never as 0 %. */
export function percent(share: number): string {
  if (share === 1 || share === 0) return `${share * 100} %`;
  const digits = share < 0.1 || share > 0.99 ? 1 : 0;
  const written = (share * 100).toFixed(digits);
  if (Number(written) >= 100) return "over 99.9 %";
  return Number(written) === 0 ? "under 0.1 %" : `${written} %`;
}

/** The mass that counts as most of a row, and the largest number of keys that are named. */
const kMost = 0.6;
const kNamed = 3;
/** A row's weights add up to one within this. */
const kWithin = 1e-3;
/** A row spreads over so many keys as hold this much of it. */
const kNearlyAll = 0.9;

/** The columns of a row by their weights, the largest first. */
export function largestFirst(weights: Float32Array): number[] {
  const cols = [...weights.keys()].filter((col) => !Number.isNaN(weights[col]));
  return cols.sort((a, b) => (weights[b] as number) - (weights[a] as number));
}

/** The keys, the largest first, that together hold `share` of a row's weight; at most `most`. */
export function holding(weights: Float32Array, share: number, most: number): number[] {
  const order = largestFirst(weights);
  const total = order.reduce((sum, col) => sum + (weights[col] as number), 0);
  let sum = 0;
  const end = order.findIndex((col) => (sum += weights[col] as number) >= share * total);
  return order.slice(0, Math.min(end < 0 ? order.length : end + 1, most));
}

/** The finding of a row in a head, such as ‘and’ looks at ‘queen’: 99.5 % in head 3.4. */
export function findingOf({ queries, keyTokens, weights, self }: Row, head: string): Piece[] {
  const order = largestFirst(weights);
  const isMean = queries.length > 1;
  const subject = isMean ? `${queries.length} tokens on average` : tokenName(queries[0] ?? "");
  const verb = (one: string, more: string): string => (isMean ? more : one);
  const key = (col: number): Piece => ({ text: col === self && !isMean ? "itself" : tokenName(keyTokens[col] ?? ""), isKey: true });
  const [first, second] = order;
  if (first === undefined) return [{ text: `${subject} ${verb("has", "have")} nothing to look at in head ${head}` }];
  const total = order.reduce((sum, col) => sum + (weights[col] as number), 0);
  const at = (col: number): number => weights[col] as number;
  if (second === undefined) return [{ text: `${subject} ${verb("has", "have")} only ` }, key(first), { text: ` to look at in head ${head}` }];
  if (!(Math.abs(total - 1) <= kWithin)) {
    return [{ text: `${subject} ${verb("gives", "give")} the largest weight to ` }, key(first), { text: `: ${formatValue(at(first), 3)} in head ${head}` }];
  }
  const named = holding(weights, kMost, kNamed + 1);
  if (named.length === 1) return [{ text: `${subject} ${verb("looks", "look")} at ` }, key(first), { text: `: ${percent(at(first))} in head ${head}` }];
  if (named.length <= kNamed) {
    const list = named.flatMap((col, index): Piece[] => [
      { text: index === 0 ? "" : index === named.length - 1 ? " and " : ", " }, key(col), { text: ` (${percent(at(col))})` },
    ]);
    return [{ text: `${subject} ${verb("looks", "look")} most at ` }, ...list, { text: ` in head ${head}` }];
  }
  const spread = holding(weights, kNearlyAll, Infinity).length;
  return [
    { text: `${subject} ${verb("spreads", "spread")} in head ${head}: ${percent(kNearlyAll)} of the weight lies on ${spread} tokens, most on ` },
    key(first), { text: ` (${percent(at(first))})` },
  ];
}
