// SPDX-License-Identifier: Apache-2.0
/** Pre-tokenizers split a text into words, each by the one before it. */
import { type Field, type Kinds, make, stepsOf } from "./fields.js";
import type { Find } from "./pattern.js";
import type { Match } from "./regex.js";
import { grown, kMaxText, type Steps } from "./steps.js";
import { byteLength } from "./unicode.js";

/** A part of a text that the model turns into tokens on its own. */
export interface Word {
  readonly text: string;
  readonly isFirst: boolean; // true at the beginning of the text
}

/** Splits the words of a text further, and changes them. Throws when it takes more than `steps`. */
export type PreTokenizer = (words: readonly Word[], steps: Steps) => readonly Word[];

/** The treatment of the delimiters between words. */
export const kBehaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"] as const;
export type Behavior = typeof kBehaviors[number];

/** A part of a text: a delimiter, or the text between two delimiters. */
interface Part extends Match {
  readonly isDelimiter: boolean;
}

/** Cuts a text of `size` units into parts. The delimiters are `matches`, or with `isInverted` everything else. */
function partsOf(matches: readonly Match[], size: number, isInverted: boolean): Part[] {
  const parts: Part[] = [];
  let done = 0;
  for (const { begin, end } of matches) {
    if (done < begin) parts.push({ begin: done, end: begin, isDelimiter: isInverted });
    parts.push({ begin, end, isDelimiter: !isInverted });
    done = end;
  }
  if (done < size) parts.push({ begin: done, end: size, isDelimiter: isInverted });
  return parts;
}

/** Returns true when `part` joins its neighbour, the part taken last. */
function joins(behavior: Behavior, part: Part, isNeighbourDelimiter: boolean): boolean {
  if (behavior === "Contiguous") return part.isDelimiter === isNeighbourDelimiter;
  return behavior.startsWith("Merged") && part.isDelimiter && !isNeighbourDelimiter;
}

function merged(parts: readonly Part[], behavior: Behavior): readonly Match[] {
  if (behavior === "Removed") return parts.filter(({ isDelimiter }) => !isDelimiter);
  if (behavior === "Isolated") return parts;
  const isBackwards = behavior === "MergedWithNext";
  const result: Match[] = [];
  let isNeighbourDelimiter = false; // also of the first part, which has none
  for (const part of isBackwards ? [...parts].reverse() : parts) {
    const last = result.at(-1);
    if (last && joins(behavior, part, isNeighbourDelimiter)) {
      result[result.length - 1] = { begin: Math.min(last.begin, part.begin), end: Math.max(last.end, part.end) };
    } else {
      result.push(part);
    }
    ({ isDelimiter: isNeighbourDelimiter } = part);
  }
  return isBackwards ? result.reverse() : result;
}

/** Splits every word where `find` finds a delimiter. */
export function splitting(find: Find, behavior: Behavior, isInverted = false): PreTokenizer {
  return (words, steps) => {
    const result: Word[] = [];
    for (const { text, isFirst } of words) {
      for (const { begin, end } of merged(partsOf(find(text, steps), text.length, isInverted), behavior)) {
        if (begin < end) result.push({ text: text.slice(begin, end), isFirst: isFirst && begin === 0 });
      }
    }
    return result;
  };
}

/** Finds each character of a class, whose regular expression is global. */
export function each(kind: RegExp): Find {
  const place = ({ 0: { length }, index }: RegExpExecArray): Match => ({ begin: index, end: index + length });
  return (text) => Array.from(text.matchAll(kind), place);
}

export function inOrder(...all: readonly PreTokenizer[]): PreTokenizer {
  return (words, steps) => all.reduce((split, step) => step(split, steps), words);
}

export const changing = (change: (word: Word) => string): PreTokenizer =>
  (words) => words.map((word) => ({ text: change(word), isFirst: word.isFirst }));

/** Makes the pre-tokenizer of tokenizer.json's "pre_tokenizer", which may be null, of steps of these kinds. */
export function makePreTokenizer(field: Field, kinds: Kinds<PreTokenizer>): PreTokenizer {
  const all = stepsOf(field, "pretokenizers").map((step) => make(kinds, step));
  return (given, steps) => {
    let words = given;
    for (const step of all) {
      words = step(words, steps);
      const bytes = words.reduce((sum, { text }) => sum + byteLength(text), 0);
      steps.takePass(bytes, words.length);
      if (bytes > kMaxText) throw grown(bytes, "split");
    }
    return words;
  };
}
