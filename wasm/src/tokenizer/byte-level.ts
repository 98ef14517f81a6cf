// SPDX-License-Identifier: Apache-2.0
/** GPT-2's pre-tokenizer, which turns each byte into a letter. */
import { byteLetters } from "./byte-letters.js";
import type { Field } from "./fields.js";
import { changing, each, inOrder, type PreTokenizer, splitting } from "./pre-tokenizer.js";

/** GPT-2's expression takes a time that is linear in the text's length, so that JavaScript's own RegExp may run it. */
const kGpt2Words = new RegExp(
  "'(?:s|t|re|ve|m|ll|d)| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+" +
  "|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+", "gu");

export function makeByteLevel(field: Field): PreTokenizer {
  const hasPrefix = field.at("add_prefix_space").flag(false), splits = field.at("use_regex").flag(true);
  return inOrder(
    changing(({ text }) => hasPrefix && !text.startsWith(" ") ? ` ${text}` : text),
    splits ? splitting(each(kGpt2Words), "Isolated") : (words) => words,
    changing(({ text }) => byteLetters(text)),
  );
}
