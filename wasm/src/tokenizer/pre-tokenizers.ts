// SPDX-License-Identifier: Apache-2.0
/** All kinds of pre-tokenizers. */
import { makeByteLevel } from "./byte-level.js";
import type { Field, Kinds } from "./fields.js";
import { makePattern, placesOf } from "./pattern.js";
import { Regex } from "./regex.js";
import { codeAt, kNumber, kPunctuation, kUnicodeWordClass, kWhitespace, unitsOf } from "./unicode.js";
import { type Behavior, changing, each, inOrder, kBehaviors, type PreTokenizer, splitting } from "./pre-tokenizer.js";

function behaviorOf(field: Field): Behavior {
  const name = field.text("Isolated");
  return kBehaviors.find((behavior) => behavior === name) ?? field.refuse(kBehaviors.join(", "));
}

const kWhitespaceSplit = splitting(each(kWhitespace), "Removed");
const kBert = inOrder(kWhitespaceSplit, splitting(each(kPunctuation), "Isolated"));

function makeWhitespace(): PreTokenizer {
  const regex = new Regex(`[${kUnicodeWordClass}]+|[^${kUnicodeWordClass}\\p{White_Space}]+`);
  return splitting((text, steps) => regex.findAll(text, steps), "Removed", true);
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

export const kPreTokenizers: Kinds<PreTokenizer> = {
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
