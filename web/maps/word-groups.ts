// SPDX-License-Identifier: Apache-2.0
/** Which tokens are pieces of one word. */
import type { MapSource, Range } from "./source.js";

const kEndsInWord = /[\p{L}\p{N}\p{M}\u27e9]$/u;
const kBeginsInWord = /^[\p{L}\p{N}\p{M}\u27e8]/u;
/** BERT's tokens are words without the space between them, and pieces that continue a word begin with this. */
const kContinues = "##";
const kFamilies: readonly string[] = ["bert", "distilbert"];

/** True where tokens do not hold the space between words. */
const areSpaceless = (tokens: readonly string[], { run }: Pick<MapSource, "run">): boolean =>
  run ? kFamilies.includes(run.info.family)
  : tokens.some((token) => token.startsWith(kContinues)) || !tokens.some((token) => /^\s|\s$/.test(token));

/** The words of a text: a token that goes on where letters stood right before it belongs to their word. */
export function wordsOf(tokens: readonly string[], maps: Pick<MapSource, "run">): Range[] {
  const isSpaceless = areSpaceless(tokens, maps);
  const goesOn = (token: string, before: string): boolean =>
    isSpaceless ? token.startsWith(kContinues) : kBeginsInWord.test(token) && kEndsInWord.test(before);
  const words: [number, number][] = [];
  tokens.forEach((token, index) => {
    const last = words.at(-1);
    if (last && goesOn(token, tokens[index - 1] ?? "")) last[1] = index + 1;
    else words.push([index, index + 1]);
  });
  return words;
}

/** A word of these pieces, as it stands in the text. */
export const wordText = (pieces: readonly string[]): string =>
  pieces.map((piece, index) => (index > 0 && piece.startsWith(kContinues) ? piece.slice(kContinues.length) : piece)).join("");

/** True for a token of nothing but punctuation, with or without space around it. */
export const isPunctuation = (token: string): boolean => /^\s*[\p{P}\p{S}]+\s*$/u.test(token);

/** One of these tokens: its text without the space or the mark before it, and whether a space stands before it. */
export function inSentence(
  tokens: readonly string[], index: number, isFirst: boolean, maps: MapSource,
): { text: string; isSpaced: boolean } {
  const token = tokens[index] ?? "";
  if (!areSpaceless(tokens, maps))
    return { text: token.length > 1 ? token.replace(/^ /, "") : token, isSpaced: /^\s/.test(token) };
  return { text: isFirst ? token : token.slice(kContinues.length), isSpaced: isFirst && !isPunctuation(token) };
}
