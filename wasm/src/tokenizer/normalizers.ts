// SPDX-License-Identifier: Apache-2.0
/** All kinds of normalizers. */
import { byteLetters } from "./byte-letters.js";
import { Charsmap } from "./charsmap.js";
import type { Field, Kinds } from "./fields.js";
import type { Normalized, Normalizer } from "./normalizer.js";
import { makePattern } from "./pattern.js";
import { kMaxText } from "./steps.js";
import {
  byteLength, codeAt, forEachGrapheme, kWhitespace, leadingWhitespace, lowercase, type NormalForm, normalized,
  trailingWhitespace, unitsOf,
} from "./unicode.js";

const simple = (change: (text: string) => string): (() => Normalizer) =>
  () => (text) => ({ text: change(text), keepsFirst: true });

/** Removes all that `drop` matches, one character at a time. */
function without(text: string, drop: RegExp): Normalized {
  let keepsFirst = true;
  const rest = text.replace(drop, (_, at: number) => {
    if (at === 0) keepsFirst = false;
    return "";
  });
  return { text: rest, keepsFirst };
}

const removing = (drop: RegExp): (() => Normalizer) => () => (text) => without(text, drop);
const form = (name: NormalForm): (() => Normalizer) => simple((text) => normalized(text, name));

function makeStrip(field: Field): Normalizer {
  const [left, right] = [field.at("strip_left").flag(true), field.at("strip_right").flag(true)];
  return (text) => {
    const leading = left ? leadingWhitespace(text) : 0;
    const rest = text.slice(leading);
    return { text: right ? rest.slice(0, rest.length - trailingWhitespace(rest)) : rest, keepsFirst: leading === 0 };
  };
}

function makePrepend(field: Field): Normalizer {
  const prefix = field.at("prepend").text();
  return (text) => ({ text: text === "" ? "" : prefix + text, keepsFirst: true });
}

function makeReplace(field: Field): Normalizer {
  const find = makePattern(field.at("pattern"));
  const content = field.at("content").text();
  return (text, steps) => {
    let result = "", done = 0, keepsFirst = true;
    for (const { begin, end } of find(text, steps)) {
      // A replacement of several characters stands where the last of them was.
      if (begin === 0 && end > 0) keepsFirst = content !== "" && end === unitsOf(codeAt(text, 0));
      result += text.slice(done, begin) + content;
      if (result.length > kMaxText) break; // the caller reports the error
      done = end;
    }
    return { text: result + text.slice(done), keepsFirst };
  };
}

/** CJK ideographs, each of which BERT treats as a word. Kana and Hangul do not count. */
const kIdeographs = new RegExp("[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}" +
  "\uF900-\uFAFF\u{2F800}-\u{2FA1F}]", "gu");
/** The characters that BERT's clean_text removes. */
const kUnclean = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\uFFFD]/gu;

function makeBert(field: Field): Normalizer {
  const clean = field.at("clean_text").flag(true);
  const apart = field.at("handle_chinese_chars").flag(true);
  const lower = field.at("lowercase").flag(true);
  const strips = field.at("strip_accents").flag(lower);
  return (given) => {
    let { text, keepsFirst } = clean ? without(given, kUnclean) : { text: given, keepsFirst: true };
    if (clean) text = text.replace(kWhitespace, " ");
    if (apart) text = text.replace(kIdeographs, " $& ");
    if (strips) {
      const stripped = without(normalized(text, "NFD"), /\p{Mn}/gu);
      text = stripped.text;
      keepsFirst &&= stripped.keepsFirst;
    }
    return { text: lower ? lowercase(text) : text, keepsFirst };
  };
}

/** The control characters that SentencePiece removes, and what it takes for a space. */
const kNmtControls = /(?![\0\t\n\f\r\x80-\x8E\x90-\x9E])\p{Cc}/gu;
const kNmtSpaces = /[\t\n\f\r\u1680\u200B-\u200F\u2028\u2029\u2581\uFEFF\uFFFD]/gu;

function makeNmt(): Normalizer {
  return (given) => {
    const { text, keepsFirst } = without(given, kNmtControls);
    return { text: text.replace(kNmtSpaces, " "), keepsFirst };
  };
}

/**
 * Replaces graphemes that are short, and otherwise characters, as Hugging Face's library does. SentencePiece itself would take the longest
 * text of the table that comes next.
 */
function makePrecompiled(field: Field): Normalizer {
  const kShort = 6; // in bytes
  const map = new Charsmap(field.at("precompiled_charsmap"));
  return simple((text) => {
    let result = "";
    forEachGrapheme(text, (grapheme) => {
      if (result.length > kMaxText) return; // the caller reports the error
      const whole = grapheme.length < kShort && byteLength(grapheme) < kShort ? map.find(grapheme) : undefined;
      if (whole !== undefined) result += whole;
      else for (const char of grapheme) result += map.find(char) ?? char;
    });
    return result;
  })();
}

export const kNormalizers: Kinds<Normalizer> = {
  BertNormalizer: makeBert,
  ByteLevel: simple(byteLetters),
  Lowercase: simple(lowercase),
  NFC: form("NFC"),
  NFD: form("NFD"),
  NFKC: form("NFKC"),
  NFKD: form("NFKD"),
  Nmt: makeNmt,
  Precompiled: makePrecompiled,
  Prepend: makePrepend,
  Replace: makeReplace,
  Strip: makeStrip,
  StripAccents: removing(/\p{M}/gu),
};
