// SPDX-License-Identifier: Apache-2.0
/** The tokens that two runs have in common. */
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

/** Aligns the maps of two runs. `ofTarget` has the engine's pairs of what the models read; without it, letters decide. */
export function alignMaps(
  a: MapSource, b: MapSource, shown: Run["shown"], ofTarget: readonly Pair[] | undefined,
): Pairs {
  const target = ofTarget?.slice(0, kMostPairs);
  const rows = (shown === "encoder" ? undefined : target) ?? alignLetters(a.tokens, b.tokens);
  if (shown !== "cross") return { rows, cols: rows };
  return { rows, cols: alignLetters(a.keyTokens, b.keyTokens) };
}
