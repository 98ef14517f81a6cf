// SPDX-License-Identifier: Apache-2.0
/** Which tokens are pieces of one word. */
import type { Range } from "./source.js";

const kEndsInWord = /[\p{L}\p{N}\p{M}\u27e9]$/u;
const kBeginsInWord = /^[\p{L}\p{N}\p{M}\u27e8]/u;

/** The words of a text: a token that goes on where letters stood right before it belongs to their word. */
export function wordsOf(tokens: readonly string[]): Range[] {
  const words: [number, number][] = [];
  tokens.forEach((token, index) => {
    const last = words.at(-1);
    if (last && kBeginsInWord.test(token) && kEndsInWord.test(tokens[index - 1] ?? "")) last[1] = index + 1;
    else words.push([index, index + 1]);
  });
  return words;
}

/** True for a token of nothing but punctuation, with or without space around it. */
export const isPunctuation = (token: string): boolean => /^\s*[\p{P}\p{S}]+\s*$/u.test(token);
