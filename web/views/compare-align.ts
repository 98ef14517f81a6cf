// SPDX-License-Identifier: Apache-2.0
/** The tokens that two runs have in common, and those that stand in each other's place. */
import type { Run } from "../maps/run.js";
import type { MapSource } from "../maps/source.js";

/** The most aligned tokens that are shown. */
export const kMostPairs = 512;
/** Longer texts are aligned as far as this. */
const kMostAligned = 1024;

/** The places of one token in A and in B. */
export type Pair = readonly [a: number, b: number];

/** The pairs of the rows and of the columns of two maps. */
export interface Pairs {
  readonly rows: readonly Pair[];
  readonly cols: readonly Pair[];
}

/** Pairs of equal tokens, and these together with the tokens that stand in each other's place. */
export interface Alignment extends Pairs {
  readonly equal: Pairs;
}

export const itself = (count: number): Pair[] =>
  Array.from({ length: Math.min(count, kMostPairs) }, (_, index) => [index, index]);

/** Tokens of other tokenizers are the same where their letters are, without the signs of where a word begins. */
const lettersOf = (token: string): string => token.trim().replace(/^##/, "").toLowerCase();

/** Aligns tokens by a longest common subsequence of their letters, which the engine has only of one model's ids. */
export function alignLetters(tokensA: readonly string[], tokensB: readonly string[]): Pair[] {
  const lettersIn = (tokens: readonly string[]): string[] => tokens.slice(0, kMostAligned).map(lettersOf);
  const [a, b] = [lettersIn(tokensA), lettersIn(tokensB)];
  const width = b.length + 1;
  /** The lengths of the longest common subsequences of what is left from a place in A and a place in B. */
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const pairs: Pair[] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length && pairs.length < kMostPairs;) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

/** The engine's pairs of what two runs of models with the same tokens have read. */
export interface Read {
  readonly pairs: readonly Pair[];
  readonly sourcePairs?: readonly Pair[] | undefined;
}

/**
 * Pairs the tokens between equal ones, too, where both texts have as many there: one has been replaced by the other.
 * `ends` are the lengths of both texts.
 */
function withReplaced(equal: readonly Pair[], ends: Pair): Pair[] {
  const pairs: Pair[] = [];
  let [nextA, nextB] = [0, 0];
  for (const pair of [...equal, ends]) {
    const [atA, atB] = pair;
    if (atA - nextA === atB - nextB) while (nextA < atA) pairs.push([nextA++, nextB++]);
    pairs.push(pair);
    [nextA, nextB] = [atA + 1, atB + 1];
  }
  return pairs.slice(0, -1).slice(0, kMostPairs);
}

/** Aligns the maps of two runs: by the engine's pairs, or by letters where it has none. */
export function alignMaps(a: MapSource, b: MapSource, shown: Run["shown"], read: Read | undefined): Alignment {
  const target = read?.pairs.slice(0, kMostPairs);
  const source = read?.sourcePairs?.slice(0, kMostPairs);
  const rows = (shown === "encoder" ? source : target) ?? alignLetters(a.tokens, b.tokens);
  const cols = shown === "cross" ? (source ?? alignLetters(a.keyTokens, b.keyTokens)) : rows;
  const equal = { rows, cols };
  // Other tokenizers cut words into other numbers of pieces, so that equal numbers of them say nothing.
  if (!read) return { ...equal, equal };
  const all = withReplaced(rows, [a.tokens.length, b.tokens.length]);
  return { rows: all, cols: shown === "cross" ? withReplaced(cols, [a.keyTokens.length, b.keyTokens.length]) : all, equal };
}
