// SPDX-License-Identifier: Apache-2.0
/** Random regular expressions split random texts in the program, by PCRE2, as in the package, which has a matcher of its own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { makeTokenizer } from "../../wasm/src/tokenizer/kinds.js";
import { succeeds, temporaryFolder } from "./support.js";
import { kByteLetters, randomNumbers } from "./tokenizers.js";

const kExpressions = 250;
const kTexts = 20; // for each of them

const kAtoms = [
  "a", "b", "é", "s", "K", "ß", ".", "[ab]", "[^a]", "[\\w-]", "[^\\s\\p{L}]", "[[:alpha:]]", "\\p{L}", "\\p{N}", "\\p{Lu}", "\\p{Han}",
  "\\s", "\\S", "\\d", "\\w", "\\W", "\\h", "\\r\\n", "\\R",
];
const kPlaces = ["\\b", "\\B", "\\Z", "^", "$", "(?=a)", "(?!b)", "(?<=a)", "(?<!b)"];
const kGroups = ["(", "(?:", "(?>", "(?i:", "(?="];
const kQuantifiers = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "++", "*+", "{2}", "{1,2}", "{,2}", "{2,}?", "{1,2}+"];
const kCharacters = [
  "a", "b", "A", "B", "é", "É", " ", "\n", "1", "世", "s", "S", "ſ", "K", "k", "\u212A", "ß", "ẞ", "-", "_", "😀", "\r\n", "²", ".",
];

const next = randomNumbers(11);
const pick = (all: readonly string[]): string => all[Math.floor(next() * all.length)] ?? "";
const many = (most: number, make: () => string): string => Array.from({ length: Math.floor(next() * (most + 1)) }, make).join("");

function expression(depth: number): string {
  const part = (): string => {
    if (next() < 0.25) return pick(kPlaces);
    const atom = depth > 0 && next() < 0.4 ? `${pick(kGroups)}${expression(depth - 1)})` : pick(kAtoms);
    return atom.startsWith("(?=") ? atom : atom + pick(kQuantifiers);
  };
  const parts = part() + many(2, part);
  return next() < 0.25 ? `${parts}|${expression(Math.max(0, depth - 1))}` : parts;
}

/** Its tokens are bytes, with a mark before each word. */
const splitBy = (pattern: string): object => ({
  added_tokens: [], normalizer: null, post_processor: null, decoder: { type: "ByteLevel" },
  pre_tokenizer: {
    type: "Sequence",
    pretokenizers: [
      { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
      { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: false },
      { type: "ByteLevel", add_prefix_space: false, use_regex: false },
    ],
  },
  model: { type: "BPE", vocab: Object.fromEntries(kByteLetters.map((letter, byte) => [letter, byte])), merges: [] },
});

const inFolder = temporaryFolder();

test("random expressions", () => {
  const words = (ids: readonly number[]): string => Buffer.from(ids).toString();
  for (let i = 0; i < kExpressions; ++i) {
    const pattern = expression(2);
    const texts = Array.from({ length: kTexts }, () => many(14, () => pick(kCharacters)));
    mkdirSync(inFolder("model"), { recursive: true });
    writeFileSync(inFolder("model/tokenizer.json"), JSON.stringify(splitBy(pattern)));
    const input = texts.map((text) => JSON.stringify(text)).join("\n");
    const lines = succeeds(["tokens", "--model", inFolder("model"), "--json-lines"], { input }).trimEnd().split("\n");
    const tokenizer = makeTokenizer(splitBy(pattern));
    const ours = texts.map((text) => words(tokenizer.encode(text).ids));
    const theirs = lines.map((line) => words((JSON.parse(line) as { tokens: number[] }).tokens));
    expect({ pattern, split: ours }).toEqual({ pattern, split: theirs });
  }
});
