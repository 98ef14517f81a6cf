// SPDX-License-Identifier: Apache-2.0
/** The finding of a row of weights in words: a pure function of numbers. */
import { formatValue } from "../maps/format.js";
import { tokenName } from "../maps/tokens.js";

export interface FindingRow {
  weights: ArrayLike<number>;
  tokens: readonly string[];
  keyTokens: readonly string[];
  /** The index of the token that looks. */
  row: number;
  /** Where the row is the mean of several, the number of them. */
  count?: number;
  /** Tells if the row may see a key. */
  sees: (key: number) => boolean;
  /** The head as it is written in the state: "3.4". */
  head: string;
  name?: string | undefined;
  /** True where a row of the map sums to one, so that its weights are shares. */
  sumsToOne: boolean;
  /** True where the keys are the same text as the queries. */
  isSelf: boolean;
  /** True where tokens that begin with a digit are patches, by their row and column. */
  isPicture?: boolean;
}

/** A piece of the sentence, with what it should be marked as. */
export interface FindingPart {
  kind: "text" | "token" | "key" | "number" | "name";
  text: string;
}

export interface Finding {
  parts: FindingPart[];
  text: string;
}

/** The part of the largest weight and of the sum from which a few keys are told by name. */
const kClear = 0.5;
const kShared = 0.7;
/** The mass that a spread row's number of tokens holds. */
const kMass = 0.9;
/** The distance from one that rounding in single precision explains. */
const kRounding = 1e-5;

const say = (text: string, kind: FindingPart["kind"] = "text"): FindingPart => ({ kind, text });

/** A share in percent, which is 100 % only for a whole and 0 % only for nothing. */
export function percent(share: number): string {
  const digits = (share * 100).toFixed(1);
  if (digits === "100.0" && share < 1 - kRounding) return "over 99.9 %";
  if (digits === "0.0" && share > 0) return "under 0.1 %";
  return `${digits.replace(/\.0$/, "")} %`;
}

/** The fewest of the sorted weights that hold 90 % of the mass. */
function holders(sorted: readonly number[]): number {
  let sum = 0;
  const count = sorted.findIndex((weight) => (sum += weight) >= kMass - kRounding) + 1;
  return count || sorted.length;
}

/** The number of keys that are told by name, or 0 for a row that spreads. */
function named([first = 0, second = 0, third = 0]: readonly number[]): number {
  if (first >= kClear && second < first / 2) return 1;
  if (first + second >= kShared) return 2;
  return first + second + third >= kShared ? 3 : 0;
}

/** Says where the weight of the row lies, among the keys that it sees with the largest weight first. */
function claim(row: FindingRow, keys: readonly number[], weights: readonly number[]): FindingPart[] {
  const nameOf = (token = ""): string => (row.isPicture && /^\d/.test(token) ? `patch ${token}` : tokenName(token));
  const isMean = row.count !== undefined && row.count > 1;
  const token = say(isMean ? `the mean of ${row.count} tokens` : nameOf(row.tokens[row.row]), "token");
  const place = (key: number): FindingPart =>
    say(row.isSelf && !isMean && key === row.row ? "itself" : nameOf(row.keyTokens[key]), "key");
  const [first] = keys;
  if (first === undefined) return [token, say(" has nothing to look at")];
  if (weights.length === 0) return [say("No weight of "), token, say(" is known")];
  if (keys.length === 1) return [token, say(" can only look at "), place(first)];
  const top = weights[0] ?? NaN;
  const unknown = keys.length - weights.length;
  const sum = weights.reduce((all, weight) => all + weight, 0);
  const isShare = row.sumsToOne && Math.abs(sum - 1) < 1e-3 && weights.every((weight) => weight >= 0);
  if (unknown > 0 || !isShare) {
    if (unknown === 0 && weights.every((weight) => weight === 0)) return [token, say(" gives weight to no token")];
    const ties = weights.filter((weight) => weight === top).length - 1;
    return [
      say(`The largest ${unknown > 0 ? "known " : ""}weight of `),
      ...[token, say(" is on "), place(first), say(ties > 0 ? ` and ${ties} more: ` : ": ")],
      say(formatValue(top), "number"),
      say(unknown > 0 ? ` (${unknown} of ${keys.length} are unknown)` : ""),
    ];
  }
  const count = named(weights);
  if (count === 1) return [token, say(" looks at "), place(first), say(": "), say(percent(top), "number")];
  if (count > 1) {
    const told = keys.slice(0, count).flatMap((key, i) => [
      say(i === 0 ? " shares its look between " : i === count - 1 ? " and " : ", "),
      ...[place(key), say(" ("), say(percent(weights[i] ?? NaN), "number"), say(")")],
    ]);
    return [token, ...told];
  }
  const most = weights[1] === top ? [say("none gets more than ")] : [say("most goes to "), place(first), say(", ")];
  const over = ` spreads ${percent(kMass)} of its weight over ${holders(weights)} tokens; `;
  return [token, say(over), ...most, say(percent(top), "number")];
}

/** Makes the finding of one row: the keys that it looks at, with their weights, in its head. */
export function findingOf(row: FindingRow): Finding {
  const seen = Array.from(row.keyTokens, (_, key) => key).filter((key) => row.sees(key));
  const weightOf = (key: number): number => row.weights[key] ?? NaN;
  const known = seen.filter((key) => !Number.isNaN(weightOf(key)));
  known.sort((a, b) => (weightOf(a) === weightOf(b) ? a - b : weightOf(b) - weightOf(a)));
  const unknown = seen.filter((key) => Number.isNaN(weightOf(key)));
  const parts = claim(row, [...known, ...unknown], known.map(weightOf));
  parts.push(say(` in head ${row.head}`));
  if (row.name !== undefined) parts.push(say(", "), say(row.name, "name"));
  parts.push(say("."));
  const told = parts.filter((part) => part.text !== "");
  return { parts: told, text: told.map((part) => part.text).join("") };
}

/** The keys, the largest first, that together hold `share` of a row's weight; at most `most` of them, and none of weight 0. */
export function holding(weights: Float32Array, share: number, most: number): number[] {
  const keys = [...weights.keys()].filter((key) => (weights[key] as number) > 0);
  keys.sort((a, b) => (weights[b] as number) - (weights[a] as number));
  const total = keys.reduce((sum, key) => sum + (weights[key] as number), 0);
  let sum = 0;
  const end = keys.findIndex((key) => (sum += weights[key] as number) >= share * total);
  return keys.slice(0, Math.min(end < 0 ? keys.length : end + 1, most));
}
