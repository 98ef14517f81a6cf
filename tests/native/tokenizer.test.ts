// SPDX-License-Identifier: Apache-2.0
/**
 * The program's own reading of tokenizer.json, held to Hugging Face's library (huggingface/tokenizers, in Rust), to what that documents, and
 * to the package's on tokenizers of many structures.
 */
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { makeTokenizer } from "../../wasm/src/tokenizer/kinds.js";
import { kRoot } from "../compare.js";
import { fails, succeeds, temporaryFolder } from "./support.js";
import { differences, kGoldenLines, kPublishedTokenizers, kSingleSteps } from "../tokenizer_goldens.js";
import { bert, charsmap, gpt2, kO200kWords, kQwen2Words, kTexts, llama2, llama3, roberta, unigram } from "./tokenizers.js";

const inFolder = temporaryFolder();
const kTiny = `${kRoot}web/models/tiny`;

interface Tokens {
  readonly tokens: number[];
  readonly pieces: string[];
}

/** A folder with this tokenizer.json. */
function folderOf(json: object | string | Uint8Array): string {
  mkdirSync(inFolder("model"), { recursive: true });
  writeFileSync(inFolder("model/tokenizer.json"), typeof json === "string" || json instanceof Uint8Array ? json : JSON.stringify(json));
  return inFolder("model");
}

/** The tokens that the program makes of each text. */
function tokensOf(model: string, texts: readonly string[]): Tokens[] {
  const input = texts.map((text) => JSON.stringify(text)).join("\n");
  const lines = succeeds(["tokens", "--model", model, "--json-lines"], { input }).trimEnd().split("\n");
  expect(lines).toHaveLength(texts.length);
  return lines.map((line) => JSON.parse(line) as Tokens);
}

const bytesTokens = (model: string, bytes: Uint8Array): Tokens => {
  writeFileSync(inFolder("text"), bytes);
  return JSON.parse(succeeds(["tokens", "--model", model, "--text-file", inFolder("text")])) as Tokens;
};

const kTokenizers: readonly (readonly [name: string, json: object])[] = [
  ["the built-in model's", JSON.parse(readFileSync(`${kTiny}/tokenizer.json`, "utf8")) as object],
  ["GPT-2's", gpt2()],
  ["GPT-2's with a space before the text", gpt2(true)],
  ["RoBERTa's", roberta()],
  ["BERT's, uncased", bert(true)],
  ["BERT's, cased, with its own post-processor", bert(false, "bert")],
  ["Llama 2's", llama2()],
  ["Llama 2's as newer files have it", llama2("metaspace")],
  ["Llama 2's without bytes", llama2("normalizer", false)],
  ["Llama 3's", llama3()],
  ["Qwen 2's", llama3(kQwen2Words, { type: "NFC" })],
  ["gpt-4o's", llama3(kO200kWords)],
  ["Unigram", unigram()],
];

describe("ids and pieces are those of the package", () => {
  test.each(kTokenizers)("%s", (_, json) => {
    const ours = makeTokenizer(json);
    expect(kTexts.length).toBeGreaterThan(400);
    for (const [i, found] of tokensOf(folderOf(json), kTexts).entries()) {
      const { ids, tokens } = ours.encode(kTexts[i] ?? "");
      expect({ text: kTexts[i], ...found }).toEqual({ text: kTexts[i], tokens: ids, pieces: tokens });
    }
  });
});

describe("ids are those of the tokenizers library, in Rust", () => {
  const idsOf = (json: object): number[][] => tokensOf(folderOf(json), kGoldenLines.lines).map(({ tokens }) => tokens);
  test("there are thousands of lines, and the families that the program opens", () => {
    expect(kGoldenLines.lines.length).toBeGreaterThan(2500);
    expect(kPublishedTokenizers.map(({ name }) => name)).toEqual(expect.arrayContaining([
      "gpt2", "gpt_neox", "llama2", "llama3", "mistral", "qwen2", "qwen3", "gemma2", "phi3", "olmo2", "bert_uncased", "bert_cased", "roberta", "xlm_roberta",
    ]));
  });
  test.each(kPublishedTokenizers)("$name", ({ name, json }) => { expect(differences(name, idsOf(json))).toBe(""); });
  test.each(kSingleSteps)("$name", ({ name, json }) => { expect(differences(name, idsOf(json))).toBe(""); });

  test("bytes that are no UTF-8, in one text", () => {
    const broken = Object.entries(kGoldenLines.broken);
    const bytes = Buffer.concat(broken.flatMap(([, hex]) => [Buffer.from(hex, "hex"), Buffer.from("\n")]));
    const text = broken.map(([line]) => `${kGoldenLines.lines[Number(line)]}\n`).join("");
    const model = folderOf(gpt2());
    expect(bytesTokens(model, bytes)).toEqual(tokensOf(model, [text])[0]);
  });
});

describe("what the texts above ask of the tokenizers", () => {
  test("merges, bytes, unknown and added tokens all happen", () => {
    const seen = (json: object): string[] =>
      [...new Set(tokensOf(folderOf(json), kTexts).flatMap(({ pieces }) => pieces))];
    expect(seen(llama2())).toEqual(expect.arrayContaining([" the", "⟨E4⟩", "<s>", "</s>"]));
    expect(seen(llama2("normalizer", false))).toEqual(expect.arrayContaining(["<unk>"]));
    expect(seen(bert(true))).toEqual(expect.arrayContaining(["[UNK]", "[MASK]", "##s", "the"]));
    expect(seen(llama3())).toEqual(expect.arrayContaining([" unmergeable", "<|eot_id|>", " the"]));
  });
});

const added = (id: number, content: string, more: object = {}): object =>
  ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });

/** A tokenizer that knows these words whole, and how to come to them. */
const words = (known: readonly string[], steps: object): object => ({
  added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...steps,
  model: { type: "WordLevel", unk_token: "[UNK]", vocab: Object.fromEntries([...new Set(["[UNK]", ...known])].map((word, id) => [word, id])) },
});

/** The text becomes these words, by these steps. */
function becomes(text: string, expected: readonly string[], steps: object): void {
  const [found] = tokensOf(folderOf(words(expected, steps)), [text]);
  expect(found?.pieces).toEqual(expected.map((word) => word.replaceAll("\u2581", " ")));
}

describe("pre-tokenizers", () => {
  const split = (behavior: string, invert = false): object => ({ type: "Split", pattern: { String: "-" }, behavior, invert });
  const regex = (pattern: string): object => ({ type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false });
  const sequence = (...pretokenizers: object[]): object => ({ type: "Sequence", pretokenizers });
  test.each([
    // The table of the reference's documentation.
    [split("Removed"), "the-final--countdown", ["the", "final", "countdown"]],
    [split("Isolated"), "the-final--countdown", ["the", "-", "final", "-", "-", "countdown"]],
    [split("MergedWithPrevious"), "the-final--countdown", ["the-", "final-", "-", "countdown"]],
    [split("MergedWithNext"), "the-final--countdown", ["the", "-final", "-", "-countdown"]],
    [split("Contiguous"), "the-final--countdown", ["the", "-", "final", "--", "countdown"]],
    [split("Removed", true), "the-final--countdown", ["-", "-", "-"]],
    [{ type: "Whitespace" }, "Hey man! Où es-tu? 東京 12", ["Hey", "man", "!", "Où", "es", "-", "tu", "?", "東京", "12"]],
    [{ type: "WhitespaceSplit" }, " Hey,\tman!\u0085x\u3000y ", ["Hey,", "man!", "x", "y"]],
    [{ type: "BertPreTokenizer" }, "Hey friend!     How-are $5?", ["Hey", "friend", "!", "How", "-", "are", "$", "5", "?"]],
    [{ type: "Punctuation" }, "a!?b «c»", ["a", "!", "?", "b ", "«", "c", "»"]],
    [{ type: "Punctuation", behavior: "Contiguous" }, "a!?b", ["a", "!?", "b"]],
    [{ type: "Digits", individual_digits: false }, "a123b٣٤Ⅷ½", ["a", "123", "b", "٣٤Ⅷ½"]],
    [{ type: "Digits", individual_digits: true }, "a12", ["a", "1", "2"]],
    [{ type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true }, "Hey   friend!", ["▁Hey", "▁", "▁", "▁friend!"]],
    [{ type: "Metaspace", replacement: "▁", prepend_scheme: "never" }, "Hey friend!", ["Hey", "▁friend!"]],
    [{ type: "Metaspace", replacement: "▁", add_prefix_space: false }, "Hey friend!", ["Hey", "▁friend!"]],
    [sequence({ type: "WhitespaceSplit" }, { type: "Metaspace", replacement: "▁", prepend_scheme: "first" }), "Hey you", ["▁Hey", "you"]],
    [sequence({ type: "WhitespaceSplit" }, { type: "Metaspace", replacement: "▁", prepend_scheme: "always" }), "Hey you", ["▁Hey", "▁you"]],
    [sequence({ type: "Punctuation" }, { type: "Digits", individual_digits: true }), "a.12", ["a", ".", "1", "2"]],
    // Oniguruma's expressions: an interval with + repeats, \h is a hexadecimal digit, classes hold classes, $ ends lines.
    [regex("\\d{1,2}+"), "a12345b", ["a", "12345", "b"]],
    [regex("x\\h+"), "xBEEFy", ["xBEEF", "y"]],
    [regex("[^(\\s|[.,!?])]+"), "ab.cd", ["ab", ".", "cd"]],
    [regex("b$"), "ab\nb", ["a", "b", "\n", "b"]],
    [regex("[[:digit:]]+|\\u0061"), "ba12", ["b", "a", "12"]],
    [regex("(?i:Ä)"), "xäX", ["x", "ä", "X"]],
    [regex("{x}|,{,2}y"), "{x},,y", ["{x}", ",,y"]],
    [regex("\\bcat\\b"), "cat concat", ["cat", " concat"]],
    [regex("(?m:a.b)"), "xa\nb", ["x", "a\nb"]],
    [regex("\\w+"), "é²_‿ !", ["é²_‿", " !"]],
    [regex("(?<!a)b|(?=c)"), "abbcd", ["ab", "b", "cd"]],
  ])("%j", (pre_tokenizer, text, expected) => { becomes(text, expected, { pre_tokenizer }); });
});

describe("normalizers", () => {
  const sequence = (...normalizers: object[]): object => ({ type: "Sequence", normalizers });
  test.each([
    [{ type: "NFC" }, "e\u0301\u212B\u1112\u1161\u11AB", "\u00E9\u00C5\uD55C"],
    [{ type: "NFD" }, "\u00E9\uD55C", "e\u0301\u1112\u1161\u11AB"],
    [{ type: "NFKC" }, "ﬁ①ｆ\u1E9B\u0323", "fi1f\u1E69"],
    [{ type: "NFKD" }, "ﬁ\u1E9B\u0323", "fis\u0323\u0307"],
    // Marks in their canonical order; the character by itself, so no final sigma; one capital becomes two characters.
    [{ type: "NFD" }, "q\u0307\u0323", "q\u0323\u0307"],
    [{ type: "Lowercase" }, "ΟΔΟΣ İ ẞ Ǆ", "οδοσ i\u0307 ß ǆ"],
    [{ type: "StripAccents" }, "e\u0301\u0903x\u20DD", "ex"],
    [sequence({ type: "NFD" }, { type: "StripAccents" }, { type: "Lowercase" }), "Café", "cafe"],
    [{ type: "Strip", strip_left: true, strip_right: true }, "\u0085\u3000 a \n", "a"],
    [{ type: "Strip", strip_left: false, strip_right: true }, " a ", " a"],
    [{ type: "Strip", strip_left: true, strip_right: false }, " a ", "a "],
    [{ type: "Prepend", prepend: "_" }, "a", "_a"],
    [{ type: "Replace", pattern: { Regex: "\\s+" }, content: "_" }, "a  b\tc", "a_b_c"],
    [{ type: "Replace", pattern: { String: "." }, content: "" }, "a.b.", "ab"],
    [{ type: "ByteLevel" }, "é ", "\u00C3\u00A9\u0120"],
    [{ type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true }, "\u0000ÀΣ\u200D\t世𠮷\uFFFD", "aσ  世  𠮷 "],
    [{ type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: false }, "À", "À"],
    [{ type: "BertNormalizer", clean_text: false, handle_chinese_chars: false, strip_accents: true, lowercase: false }, "À\u0000世", "A\u0000世"],
  ])("%j of %j", (normalizer, text, expected) => { becomes(text, [expected], { normalizer }); });
});

describe("added tokens", () => {
  const vocab = (tokens: readonly object[], steps: object = {}): object =>
    words([], { added_tokens: tokens, pre_tokenizer: { type: "Whitespace" }, ...steps });
  const pieces = (json: object, text: string): string[] => tokensOf(folderOf(json), [text])[0]?.pieces ?? [];

  test("the longest wins", () => {
    expect(pieces(vocab([added(1, "<a>"), added(2, "<a><b>")]), "<a><b><a>")).toEqual(["<a><b>", "<a>"]);
  });
  test("single words only, by Unicode's letters", () => {
    expect(pieces(vocab([added(1, "cat", { single_word: true })]), "cat concat éat cat! écat caté")).toEqual(
      ["cat", "[UNK]", "[UNK]", "cat", "[UNK]", "[UNK]", "[UNK]"]);
  });
  test("spaces beside them", () => {
    const metaspace = { pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "never", split: false } };
    const count = (more: object): number => pieces(vocab([added(1, "<m>", more)], metaspace), "   <m>   ").length;
    const both = { lstrip: true, rstrip: true };
    expect([{}, { lstrip: true }, { rstrip: true }, both].map(count)).toEqual([3, 2, 2, 1]);
  });
  test("in the text as written, or as it is normalized", () => {
    const normalizer = { type: "Lowercase" };
    const normalized = vocab([added(1, "Day", { normalized: true, special: false })], { normalizer });
    expect(pieces(normalized, "a DAY b")).toEqual(["[UNK]", "Day", "[UNK]"]);
    expect(pieces(vocab([added(1, "Day", { normalized: false })], { normalizer }), "DAY Day")).toEqual(["[UNK]", "Day"]);
  });
  test("a text after one is not the first", () => {
    const first = { pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: true } };
    const json = words(["▁a", "a"], { added_tokens: [added(9, "<s>")], ...first });
    expect(pieces(json, "a<s>a")).toEqual([" a", "<s>", "a"]);
  });
});

describe("byte pairs", () => {
  const bpe = (model: object, steps: object = {}): object => ({
    added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...steps,
    model: { type: "BPE", vocab: {}, merges: [], ...model },
  });
  const pieces = (json: object, text: string): string[] => tokensOf(folderOf(json), [text])[0]?.pieces ?? [];
  const vocab = (...tokens: string[]): Record<string, number> =>
    Object.fromEntries(tokens.map((token, id) => [token, id]));

  test("prefixes inside and suffixes at the end of words", () => {
    const inside = { vocab: vocab("a", "##b", "##c", "ab", "##bc"), merges: ["a ##b", "##b ##c"], continuing_subword_prefix: "##" };
    expect(pieces(bpe(inside), "abc")).toEqual(["ab", "##c"]);
    const ends = { vocab: vocab("a", "b", "b</w>", "ab</w>", "ab"), merges: ["a b</w>", "a b"], end_of_word_suffix: "</w>" };
    expect(pieces(bpe(ends), "abab")).toEqual(["ab", "ab</w>"]);
  });
  test("unknown characters, each or together", () => {
    const model = { vocab: vocab("<unk>", "a"), unk_token: "<unk>" };
    expect(pieces(bpe(model), "xyaz")).toEqual(["<unk>", "<unk>", "a", "<unk>"]);
    expect(pieces(bpe({ ...model, fuse_unk: true }), "xyaz")).toEqual(["<unk>", "a", "<unk>"]);
    expect(pieces(bpe({ vocab: vocab("a") }), "xyaz")).toEqual(["a"]);
  });
  test("of a pair that is listed twice, the later rank counts", () => {
    const model = { vocab: vocab("a", "b", "c", "ab", "bc"), merges: [["a", "b"], ["b", "c"], ["a", "b"]] };
    expect(pieces(bpe(model), "abc")).toEqual(["a", "bc"]);
  });
});

describe("bytes that are no UTF-8 count as U+FFFD, as browsers read them", () => {
  const kBroken: readonly (readonly number[])[] = [
    [0xFF], [0x61, 0x80, 0x62], [0xC3], [0xC3, 0x28], [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xF0, 0x9F, 0x90],
    [0xF0, 0x9F, 0x90, 0x41], [0xED, 0xA0, 0x80], [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xF4, 0x90, 0x80, 0x80],
    [0xF5, 0x80], [0xEF, 0xBB, 0xBF, 0x61],
  ];
  test.each(kBroken)("%#", (...bytes) => {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
    expect(bytesTokens(kTiny, Uint8Array.from(bytes))).toEqual(tokensOf(kTiny, [text])[0]);
  });
});

describe("long texts take time in proportion", () => {
  /** Repeats `pattern` until it has about this many bytes. */
  const long = (pattern: string, bytes: number): Buffer =>
    Buffer.from(pattern.repeat(Math.floor(bytes / Buffer.byteLength(pattern))));
  const kTypes: readonly (readonly [string, object])[] = [
    ["GPT-2", gpt2()], ["BERT", bert(true)], ["Llama 2", llama2()], ["gpt-4o", llama3(kO200kWords)], ["Unigram", unigram()],
    ["XLM-RoBERTa", kPublishedTokenizers.find(({ name }) => name === "xlm_roberta")?.json ?? {}],
  ];
  // A word without end, words, spaces, lines and marks without end.
  test.each(kTypes)("%s", (_, json) => {
    const model = folderOf(json);
    for (const pattern of ["a", "the theory ", " ", "\n", "\u0301\u0316"]) {
      expect(bytesTokens(model, long(pattern, 1 << 17)).tokens.length).toBeGreaterThan(0);
    }
  });
  test("a word of a megabyte", () => {
    expect(bytesTokens(folderOf(gpt2()), long("thethere", 1 << 20)).tokens.length).toBeGreaterThan(1000);
  });
  test("tokens that take the same spaces, one after the other", () => {
    const json = words([], { added_tokens: [added(1, "\n", { lstrip: true, rstrip: true }), added(2, "a", { rstrip: true })] });
    expect(bytesTokens(folderOf(json), long("\n", 1 << 20)).tokens).toEqual([1]);
    const right = words([], { added_tokens: [added(1, "\n", { rstrip: true })] });
    expect(bytesTokens(folderOf(right), long("\n", 1 << 18)).tokens).toHaveLength(1 << 18);
  });
  test("marks in the wrong order are sorted", () => {
    const [above, below] = ["\u0301".repeat(1 << 16), "\u0316".repeat(1 << 16)] as const;
    const model = folderOf(llama3(kQwen2Words, { type: "NFC" }));
    expect(bytesTokens(model, Buffer.from(above + below))).toEqual(bytesTokens(model, Buffer.from(below + above)));
  });
});

describe("refuses", () => {
  const base = words(["a"], {}) as { model: object };
  const pre = (pre_tokenizer: unknown): object => ({ ...base, pre_tokenizer });
  const regex = (pattern: string): object => pre({ type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false });
  const norm = (normalizer: unknown): object => ({ ...base, normalizer });
  const model = (more: object): object => ({ ...base, model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: [], ...more } });
  const nested = (depth: number): object => {
    let step: object = { type: "Lowercase" };
    for (let i = 0; i < depth; ++i) step = { type: "Sequence", normalizers: [step] };
    return norm(step);
  };
  const tiny = readFileSync(`${kTiny}/tokenizer.json`, "utf8");
  const precompiled = (precompiled_charsmap: unknown): object => norm({ type: "Precompiled", precompiled_charsmap });
  /** A normalizer that makes "x" of "a", with other numbers in some places. */
  const spoilt = (change: Parameters<typeof charsmap>[1], replacement: string | Uint8Array = "x"): object =>
    precompiled(charsmap(replacement, change));

  test.each<readonly [string, object | string | Uint8Array, RegExp]>([
    ["no bytes", "", /tokenizer\.json: format error: the file is "", expected a JSON object/],
    ["a file cut short", tiny.slice(0, tiny.length / 2), /expected a JSON object/],
    ["a list", "[]", /expected a JSON object/],
    ["bytes that are no UTF-8", Uint8Array.of(0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D), /expected a JSON object/],
    ["lists a million deep", "[".repeat(1e6), /the file is nested deeper, expected at most 2048 levels/],
    ["a value nested a million deep", `{"model":${"[".repeat(1e6)}${"]".repeat(1e6)}}`, /the file is nested deeper, expected at most 2048 levels/],
    ["no model", { ...base, model: undefined }, /model is missing, expected an object/],
    ["an unknown model", { ...base, model: { type: "Oracle" } }, /model\.type is "Oracle", supported is BPE, Unigram, WordLevel, WordPiece/],
    ["a type with control characters", { ...base, model: { type: "a\n\u001b[31m" } }, /model\.type is "a\?\?\[31m"/],
    ["a type of a megabyte", { ...base, model: { type: "x".repeat(1e6) } }, /^.{1,300}\n$/],
    ["no vocabulary", model({ vocab: undefined }), /model\.vocab is missing, expected an object of tokens and their ids/],
    ["a vocabulary that is a list", model({ vocab: ["a"] }), /model\.vocab is \["a"\], expected an object/],
    ["an id that is no number", model({ vocab: { a: "0" } }), /model\.vocab\["a"\] is "0", expected a whole number/],
    ["an id that is no whole number", model({ vocab: { a: 1.5 } }), /model\.vocab.* is 1\.5/],
    ["a negative id", model({ vocab: { a: -1 } }), /model\.vocab\["a"\] is -1, expected a whole number/],
    ["an id beyond all numbers", JSON.stringify(model({})).replace('"ab":2', '"ab":99999999999999999999'), /model\.vocab.* is 1e\+20/],
    ["an id beyond 31 bits", model({ vocab: { a: 2 ** 31 } }), /is 2147483648, expected a whole number from 0 to 2147483647/],
    ["merges that are no list", model({ merges: {} }), /model\.merges is \{\}, expected a list/],
    ["a merge of three", model({ merges: ["a b c"] }), /model\.merges\[0\] is "a b c", expected two tokens/],
    ["a merge of one", model({ merges: [["a"]] }), /model\.merges\[0\] is \["a"\], expected a string/],
    ["a merge of numbers", model({ merges: [[1, 2]] }), /model\.merges\[0\]\[0\] is 1, expected a string/],
    ["a merge of what is no token", model({ merges: ["a x"] }), /model\.merges\[0\] needs "x", expected a token of model\.vocab/],
    ["a merge to what is no token", model({ merges: ["b a"] }), /needs "ba", expected a token/],
    ["an option of the wrong type", model({ fuse_unk: "yes" }), /model\.fuse_unk is "yes", expected true or false/],
    ["a prefix without end", model({ continuing_subword_prefix: "#".repeat(1e5) }), /continuing_subword_prefix is "#+…", supported is up to 16 bytes/],
    ["words without end", { ...base, model: { type: "WordPiece", unk_token: "a", vocab: { a: 0 }, max_input_chars_per_word: 1e9 } }, /max_input_chars_per_word is 1000000000/],
    ["a Unigram score that is no number", { ...base, model: { type: "Unigram", vocab: [["a", "b"]] } }, /model\.vocab\[0\]\[1\] is "b", expected a number/],
    ["an empty Unigram vocabulary", { ...base, model: { type: "Unigram", vocab: [] } }, /model\.vocab is \[\], expected a list of tokens/],
    ["an unknown token beyond the vocabulary", { ...base, model: { type: "Unigram", unk_id: 5, vocab: [["a", 0]] } }, /model\.unk_id is 5/],
    ["an unknown normalizer", norm({ type: "Transliterate" }), /unsupported error: normalizer\.type is "Transliterate", supported is BertNormalizer/],
    ["no table of characters", precompiled(null), /normalizer\.precompiled_charsmap is missing, expected a string/],
    ["a table of characters that is no Base64", precompiled("ab!="), /precompiled_charsmap is "ab!=", expected Base64/],
    ["Base64 that is cut off", precompiled("abcde"), /expected Base64/],
    ["padding in the middle", precompiled("ab==abcd"), /expected Base64/],
    ["a table without bytes", precompiled(""), /precompiled_charsmap is "", expected the size of a trie, and a trie/],
    ["a trie of no units", precompiled("AAAAAA=="), /expected a trie that is not empty/],
    ["a trie of 4 GB", spoilt({ size: 0xFFFFFFFC }), /expected a trie of 4294967292 bytes, a multiple of 4, as it says itself/],
    ["a trie of half units", spoilt({ size: 2046 }), /expected a trie of 2046 bytes, a multiple of 4/],
    ["a trie whose root leads outside", spoilt({ units: { 0: 512 << 10 } }), /nodes inside it; that of unit 0 has children outside/],
    ["a trie that leads far outside", spoilt({ units: { 353: 0x7FFFFE61 } }), /that of unit 353 has children outside/],
    ["a replacement outside", spoilt({ units: { 1: 0x80000002 } }), /places of characters of the replacements; unit 1 has 2/],
    ["a replacement far outside", spoilt({ units: { 1: 0xFFFFFFFF } }), /unit 1 has 2147483647/],
    ["a replacement inside a character", spoilt({ units: { 1: 0x80000001 } }, "é"), /unit 1 has 1/],
    ["replacements that are no UTF-8", spoilt({}, Uint8Array.of(0xC3)), /expected replacements in UTF-8/],
    ["a normalizer without a type", norm({}), /normalizer\.type is missing, expected a string/],
    ["a normalizer that is a number", norm(1), /normalizer is 1, expected an object/],
    ["a Sequence without steps", norm({ type: "Sequence" }), /normalizer\.normalizers is missing, expected a list/],
    ["a step in a Sequence", norm({ type: "Sequence", normalizers: [{ type: "NFC" }, { type: "NFX" }] }), /normalizer\.normalizers\[1\]\.type is "NFX"/],
    ["Sequences in Sequences without end", nested(500), /Sequences up to 32 deep/],
    ["a thousand steps", norm({ type: "Sequence", normalizers: Array(1000).fill({ type: "NFC" }) }), /up to 256 steps/],
    ["an empty text to replace", norm({ type: "Replace", pattern: { String: "" }, content: "x" }), /pattern\.String is "", expected at least one character/],
    ["an unknown pattern", norm({ type: "Replace", pattern: { Glob: "*" }, content: "x" }), /pattern is \{"Glob":"\*"\}, expected \{"String": …\} or/],
    ["an unknown pre-tokenizer", pre({ type: "UnicodeScripts" }), /pre_tokenizer\.type is "UnicodeScripts"/],
    ["an unknown behavior", pre({ type: "Split", pattern: { String: "a" }, behavior: "Sideways", invert: false }), /behavior is "Sideways", supported is Removed/],
    ["an unknown scheme", pre({ type: "Metaspace", replacement: "▁", prepend_scheme: "sometimes" }), /prepend_scheme is "sometimes"/],
    ["a replacement of two characters", pre({ type: "Metaspace", replacement: "ab" }), /replacement is "ab", expected one character/],
    ["a regular expression that is none", regex("a(b"), /regular expression "a\(b" cannot be read: missing closing parenthesis/],
    ["a property that Unicode does not have", regex("\\p{Nonsense}"), /cannot be read: unknown property/],
    ["an intersection of classes", regex("[\\w&&[^a]]"), /has an intersection of classes at byte \d+, expected what this program knows/],
    ["a negated class in a class", regex("[a[^b]]"), /class in a class/],
    ["verbs", regex("(*LIMIT_MATCH=1)a"), /has "\(\*" at byte 0/],
    ["single bytes", regex("\\C"), /the escape "\\C"/],
    ["an expression that grows", regex("(((((a{1000}){1000}){1000}){1000}){1000}"), /cannot be read/],
    ["groups a million deep", regex("(".repeat(1e6)), /has 1000000 bytes, expected at most 65536/],
    ["groups ten thousand deep", regex("(".repeat(1e4) + ")".repeat(1e4)), /cannot be read: parentheses are too deeply nested/],
    ["an unknown post-processor", { ...base, post_processor: { type: "Stamp" } }, /post_processor\.type is "Stamp"/],
    ["a template of unknown tokens", { ...base, post_processor: { type: "TemplateProcessing", single: [{ SpecialToken: { id: "x", type_id: 0 } }], special_tokens: {} } }, /SpecialToken\.id is "x", expected one of post_processor\.special_tokens/],
    ["a special token of a megabyte", { ...base, post_processor: { type: "TemplateProcessing", single: [{ SpecialToken: { id: "x".repeat(1e6), type_id: 0 } }], special_tokens: { ["x".repeat(1e6)]: { ids: ["y"] } } } }, /^.*special_tokens\["x{80}…"\]\.ids\[0\] is "y", expected a whole number.{1,50}\n$/],
    ["a template of the second text", { ...base, post_processor: { type: "TemplateProcessing", single: [{ Sequence: { id: "B", type_id: 0 } }] } }, /is "B", expected "A"/],
    ["BERT's tokens without ids", { ...base, post_processor: { type: "BertProcessing", cls: ["a"], sep: ["b", 1] } }, /post_processor\.cls\[1\] is missing/],
    ["added tokens that are no list", { ...base, added_tokens: {} }, /added_tokens is \{\}, expected a list/],
    ["an added token without an id", { ...base, added_tokens: [{ content: "x" }] }, /added_tokens\[0\]\.id is missing/],
    ["an added token with another id than the vocabulary's", { ...base, added_tokens: [added(7, "a")] }, /added_tokens\[0\]\.id is 7, expected 1, which model\.vocab gives to "a"/],
    ["two added tokens with one id", { ...base, added_tokens: [added(7, "x"), added(7, "y")] }, /added_tokens\[1\]\.id is 7, expected an id that no other/],
    ["an added token of a megabyte", { ...base, added_tokens: [added(7, "x".repeat(1e6))] }, /tokens of up to 512 bytes/],
  ])("%s", (_, json, message) => {
    fails(["tokens", "--model", folderOf(json), "--text", "a b"], 2, message);
  });

  const spaced = "a".repeat(30_000);
  test.each<readonly [string, object, string, RegExp]>([
    ["backtracking without end", regex("(a+)+$|(a|aa)+b|a*a*a*a*a*b"), `${spaced}!`, /gives up on the text: too many steps/],
    ["scanning from every place", regex("a++[bc]"), "a".repeat(1 << 20), /gives up on the text/],
    ["nested groups without end", regex("((a*)*)*[bc]"), spaced, /gives up on the text/],
    ["recursion without end", regex("(?<x>a\\g<x>?b?)+c"), spaced, /tokenizer\.json: |gives up on the text/],
    ["a text that grows with each step", norm({ type: "Sequence", normalizers: Array(200).fill({ type: "Replace", pattern: { String: "a" }, content: "a".repeat(8192) }) }), "a", /memory error: the text grows to \d+ bytes, expected at most 16777216 when normalized/],
    ["a table that makes a character a megabyte", precompiled(charsmap("x".repeat(1 << 20))), "a".repeat(1 << 20), /memory error: the text grows to \d+ bytes, expected at most 16777216 when normalized/],
    ["a template that doubles with each step", {
      ...base, post_processor: { type: "Sequence", processors: Array(200).fill({ type: "TemplateProcessing", single: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }] }) },
    }, "a", /the template makes \d+ tokens, expected at most 16777216/],
    ["a character that has no token", model({ vocab: { a: 0 }, unk_token: "<unk>" }), "b", /--text: value error: the text has "b", expected characters of model\.vocab, which lacks model\.unk_token/],
    ["a word that has no token", { ...base, model: { type: "WordLevel", unk_token: "[UNK]", vocab: { a: 0 } } }, "b", /the text has "b", expected words of model\.vocab, which lacks model\.unk_token, "\[UNK\]"/],
    ["a character that has no likelihood", { ...base, model: { type: "Unigram", vocab: [["a", 0]] } }, "b", /the text has "b", expected tokens of model\.vocab, since there is no model\.unk_id/],
  ])("%s, when it meets a text", (_, json, text, message) => {
    if (text.length < 1e5) {
      fails(["tokens", "--model", folderOf(json), "--text", text], 2, message);
    } else {
      writeFileSync(inFolder("text"), text);
      fails(["tokens", "--model", folderOf(json), "--text-file", inFolder("text")], 2, message);
    }
  });

  // Each of them a budget of its own would bring to minutes.
  const hostile = { Regex: "(a|aa)+(?=[bc])" };
  const split = { type: "Split", pattern: hostile, behavior: "Isolated", invert: false };
  const replace = { type: "Replace", pattern: hostile, content: "" };
  const doubled = { type: "Replace", pattern: { String: "a" }, content: "aa" };
  const many = pre({ type: "Sequence", pretokenizers: Array(256).fill(split) });
  const bar = { added_tokens: [added(1, "|")] };
  test.each<readonly [string, object, string]>([
    ["many expressions", many, "a".repeat(24)],
    ["many expressions and sections", { ...many, ...bar }, `${"a".repeat(20)}|`.repeat(47)],
    ["many words", pre({ type: "Sequence", pretokenizers: [{ type: "WhitespaceSplit" }, ...Array<object>(255).fill(split)] }), `${"a".repeat(20)} `.repeat(47)],
    ["a normalizer", { ...norm({ type: "Sequence", normalizers: Array(256).fill(replace) }), ...bar }, `${"a".repeat(20)}|`.repeat(47)],
    ["sections that grow", { ...norm({ type: "Sequence", normalizers: Array(20).fill(doubled) }), ...bar }, "a|".repeat(500)],
    ["sections without end", { ...pre({ type: "Sequence", pretokenizers: Array(256).fill({ ...split, pattern: { Regex: "b" } }) }), ...bar }, "a|".repeat(50_000)],
    ["normalized added tokens", { ...norm({ type: "Sequence", normalizers: Array(256).fill(replace) }), added_tokens: Array.from({ length: 50 }, (_, id) => added(9 + id, `${"a".repeat(20)}${id}`, { normalized: true })) }, "a"],
  ])("too many steps for one text: %s", (_, json, text) => {
    writeFileSync(inFolder("text"), text);
    fails(["tokens", "--model", folderOf(json), "--text-file", inFolder("text")], 2, /gives up on the text: too many steps/, { timeout: 5000 });
  });

  test("a text that is too long, missing or no JSON string", () => {
    const model = folderOf(base);
    writeFileSync(inFolder("text"), "");
    truncateSync(inFolder("text"), 2 ** 24 + 1);
    fails(["tokens", "--model", model, "--text-file", inFolder("text")], 2, /memory error: the text has 16777217 bytes, expected at most 16777216/);
    fails(["tokens", "--model", model], 2, /--text, --text-file or --json-lines is missing, expected a text/);
    fails(["tokens", "--model", model, "--json-lines"], 2, /line 1 of the standard input is "a", expected a JSON string/, { input: "a" });
    fails(["tokens", "--model", inFolder("nowhere"), "--text", "a"], 2, /nowhere\/tokenizer\.json: No such file/);
  });
});
