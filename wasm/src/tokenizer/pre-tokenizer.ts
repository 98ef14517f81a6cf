// SPDX-License-Identifier: Apache-2.0
/** Pre-tokenizers split a text into words. */
import { byteLetters } from "./byte-letters.js";
import { type Field, type Kinds, make, stepsOf } from "./fields.js";
import { grown, kMaxText } from "./normalizer.js";
import { type Find, makePattern, placesOf } from "./pattern.js";
import { type Match, Regex } from "./regex.js";
import type { Steps } from "./steps.js";
import { byteLength, codeAt, kNumber, kPunctuation, kUnicodeWordClass, kWhitespace, unitsOf } from "./unicode.js";

/** A part of a text that the model turns into tokens on its own. */
export interface Word {
  readonly text: string;
  readonly isFirst: boolean; // true at the beginning of the text
}

/** Splits the words of a text further, and changes them. Throws when it takes more than `steps`. */
export type PreTokenizer = (words: readonly Word[], steps: Steps) => readonly Word[];

/** The treatment of the delimiters between words. */
const kBehaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"] as const;
type Behavior = typeof kBehaviors[number];

function behaviorOf(field: Field): Behavior {
  const name = field.text("Isolated");
  return kBehaviors.find((behavior) => behavior === name) ?? field.refuse(kBehaviors.join(", "));
}

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
function splitting(find: Find, behavior: Behavior, isInverted = false): PreTokenizer {
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
function each(kind: RegExp): Find {
  const place = ({ 0: { length }, index }: RegExpExecArray): Match => ({ begin: index, end: index + length });
  return (text) => Array.from(text.matchAll(kind), place);
}

function inOrder(...all: readonly PreTokenizer[]): PreTokenizer {
  return (words, steps) => all.reduce((split, step) => step(split, steps), words);
}

const changing = (change: (word: Word) => string): PreTokenizer =>
  (words) => words.map((word) => ({ text: change(word), isFirst: word.isFirst }));

const kWhitespaceSplit = splitting(each(kWhitespace), "Removed");
const kBert = inOrder(kWhitespaceSplit, splitting(each(kPunctuation), "Isolated"));
const kGpt2Words = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** Makes the search of an expression of ours. */
function searchOf(pattern: string): Find {
  const regex = new Regex(pattern);
  return (text, steps) => regex.findAll(text, steps);
}

function makeByteLevel(field: Field): PreTokenizer {
  const hasPrefix = field.at("add_prefix_space").flag(false), splits = field.at("use_regex").flag(true);
  return inOrder(
    changing(({ text }) => hasPrefix && !text.startsWith(" ") ? ` ${text}` : text),
    splits ? splitting(searchOf(kGpt2Words), "Isolated") : (words) => words,
    changing(({ text }) => byteLetters(text)),
  );
}

function makeWhitespace(): PreTokenizer {
  const find = searchOf(`[${kUnicodeWordClass}]+|[^${kUnicodeWordClass}\\p{White_Space}]+`);
  return splitting(find, "Removed", true);
}

function oneCharacter(field: Field, otherwise?: string): string {
  const mark = field.text(otherwise);
  return mark !== "" && unitsOf(codeAt(mark, 0)) === mark.length ? mark : field.fail("one character");
}

function makeDelimiter(field: Field): PreTokenizer {
  const mark = oneCharacter(field.at("delimiter"));
  return splitting((text) => placesOf(mark, text), "Removed");
}

function makeSplit(field: Field): PreTokenizer {
  return splitting(makePattern(field.at("pattern")), behaviorOf(field.at("behavior")), field.at("invert").flag(false));
}

const kSchemes = ["always", "first", "never"] as const;

/** Older files have "add_prefix_space" instead of "prepend_scheme". */
function schemeOf(field: Field): typeof kSchemes[number] {
  const scheme = field.at("prepend_scheme");
  const name = scheme.text(field.at("add_prefix_space").flag(true) ? "always" : "never");
  return kSchemes.find((known) => known === name) ?? scheme.refuse(kSchemes.join(", "));
}

function makeMetaspace(field: Field): PreTokenizer {
  const mark = oneCharacter(field.at("replacement"), "▁");
  const scheme = schemeOf(field), splits = field.at("split").flag(true);
  const marked = changing(({ text, isFirst }) => {
    const result = text.replaceAll(" ", () => mark);
    const wants = scheme === "always" || (scheme === "first" && isFirst);
    return wants && !result.startsWith(mark) ? mark + result : result;
  });
  return splits ? inOrder(marked, splitting((text) => placesOf(mark, text), "MergedWithNext")) : marked;
}

const kKinds: Kinds<PreTokenizer> = {
  BertPreTokenizer: () => kBert,
  ByteLevel: makeByteLevel,
  CharDelimiterSplit: makeDelimiter,
  Digits: (field) => splitting(each(kNumber), field.at("individual_digits").flag(false) ? "Isolated" : "Contiguous"),
  Metaspace: makeMetaspace,
  Punctuation: (field) => splitting(each(kPunctuation), behaviorOf(field.at("behavior"))),
  Split: makeSplit,
  Whitespace: makeWhitespace,
  WhitespaceSplit: () => kWhitespaceSplit,
};

/** Makes the pre-tokenizer of tokenizer.json's "pre_tokenizer", which may be null. */
export function makePreTokenizer(field: Field): PreTokenizer {
  const all = stepsOf(field, "pretokenizers").map((step) => make(kKinds, step));
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
