// SPDX-License-Identifier: Apache-2.0
/** The piece at each position: pieces that together give the text. Files that are wrong or hostile are refused, and hold nothing up. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { makeTokenizer } from "../../wasm/src/tokenizer/kinds.js";
import { charsmap } from "../native/tokenizers.js";
import { kPublishedTokenizers } from "../tokenizer_goldens.js";

/** GPT-2's letters for bytes, in the order of the bytes. */
function byteLetters(): string[] {
  const printable = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
}

function byteLevel(merges: [string, string][] = []): ReturnType<typeof makeTokenizer> {
  const names = ["<s>", ...byteLetters(), ...merges.map(([a, b]) => a + b)];
  return makeTokenizer({
    added_tokens: [{ id: 0, content: "<s>", special: true, normalized: false }],
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
    post_processor: {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      pair: [],
      special_tokens: { "<s>": { id: "<s>", ids: [0], tokens: ["<s>"] } },
    },
    decoder: { type: "ByteLevel" },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(names.map((name, id) => [name, id])),
      merges,
      ignore_merges: false,
    },
  });
}

describe("byte-level", () => {
  test("special tokens by name, pieces of the text as they stand", () => {
    const { ids, tokens } = byteLevel([
      ["c", "a"],
      ["ca", "t"],
      ["Ġ", "cat"],
    ]).encode("cat cat\n");
    expect(tokens).toEqual(["<s>", "cat", " cat", "\n"]);
    expect(ids).toEqual([0, 258, 259, 1 + 10]);
  });

  test("a character in one token shows as itself, one in several as its bytes", () => {
    expect(byteLevel([["Ã", "©"]]).encode("é").tokens).toEqual(["<s>", "é"]);
    expect(byteLevel().encode("é").tokens).toEqual(["<s>", "⟨C3⟩", "⟨A9⟩"]);
    expect(byteLevel([["a", "Ã"]]).encode("aé").tokens).toEqual(["<s>", "a⟨C3⟩", "⟨A9⟩"]);
    expect(byteLevel().encode("🐈").tokens).toEqual(["<s>", "⟨F0⟩", "⟨9F⟩", "⟨90⟩", "⟨88⟩"]);
  });

  test.each(["", "plain", " two  spaces ", "tab\tand\r\nline", "<b>&amp;</b>", "{{x}}", "\u0000\u0007", "\uFEFFmark"])(
    "%j joins back",
    (text) => {
      expect(
        byteLevel()
          .encode(text)
          .tokens.slice(1)
          .map((token) => token.replace(/⟨(..)⟩/g, (_, hex: string) => `%${hex}`))
          .join(""),
      ).toBe([...text].map((char) => ((char.codePointAt(0) ?? 0) < 128 ? char : encodeURIComponent(char))).join(""));
    },
  );

  test("ids given as such; one that no token has shows its number", () => {
    expect(byteLevel().pieces([0, 1 + 65, 999])).toEqual(["<s>", "A", "⟨999⟩"]);
  });
});

test("sentence pieces: ▁ is a space, the one put in front of the text is not shown, bytes by name", () => {
  const vocab = ["<unk>", "<s>", "▁the", "▁cat", "▁", "c", "a", "t", "<0xE2>", "<0x41>"];
  const tokenizer = makeTokenizer({
    added_tokens: [{ id: 1, content: "<s>", special: true, normalized: false }],
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" },
      ],
    },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: {
      type: "BPE",
      unk_token: "<unk>",
      byte_fallback: true,
      ignore_merges: true,
      vocab: Object.fromEntries(vocab.map((name, id) => [name, id])),
      merges: [],
    },
  });
  expect(tokenizer.pieces([1, 2, 3, 8, 9])).toEqual(["<s>", "the", " cat", "⟨E2⟩", "A"]);
});

const added = (id: number, content: string, more: object = {}): object =>
  ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });

/** A tokenizer that knows these words whole, and how to come to them. */
const words = (known: readonly string[], steps: object = {}): object => ({
  added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...steps,
  model: { type: "WordLevel", unk_token: "[UNK]", vocab: Object.fromEntries([...new Set(["[UNK]", ...known])].map((word, id) => [word, id])) },
});

const base = words(["a"]);
const pre = (pre_tokenizer: unknown): object => ({ ...base, pre_tokenizer });
const norm = (normalizer: unknown): object => ({ ...base, normalizer });
const split = (more: object): object => ({ type: "Split", pattern: { String: " " }, behavior: "Isolated", invert: false, ...more });
const regex = (pattern: string): object => pre(split({ pattern: { Regex: pattern } }));

describe("regular expressions in Oniguruma's syntax", () => {
  test.each<[string, string, string[]]>([
    // An interval with + repeats, \h is a hexadecimal digit, classes hold classes, $ ends lines.
    ["\\d{1,2}+", "a12345b", ["a", "12345", "b"]],
    ["x\\h+", "xBEEFy", ["xBEEF", "y"]],
    ["[^(\\s|[.,!?])]+", "ab.cd", ["ab", ".", "cd"]],
    ["b$", "ab\nb", ["a", "b", "\n", "b"]],
    ["^b", "b\nb\n", ["b", "\n", "b", "\n"]],
    ["\\Ab|b\\z|c\\Z", "bcbcb\n", ["b", "cbcb\n"]],
    ["c\\Z", "cc\n", ["c", "c", "\n"]],
    ["[[:digit:]]+|\\u0061", "ba12", ["b", "a", "12"]],
    ["[[:digit:]a-c-]+|[]x]", "1a-d]", ["1a-", "d", "]"]],
    ["(?i:Ä)", "xäX", ["x", "ä", "X"]],
    ["(?i)k|ſ|[à-ý]", "xKS\u212AÉ÷", ["x", "K", "S", "\u212A", "É", "÷"]],
    ["(?i)ı", "iIı", ["iI", "ı"]],
    ["a(?i)B|c", "abaBAbC", ["ab", "aB", "Ab", "C"]],
    ["{x}|,{,2}y", "{x},,y", ["{x}", ",,y"]],
    ["\\bcat\\b", "cat concat", ["cat", " concat"]],
    ["(?m:a.b)", "xa\nb", ["x", "a\nb"]],
    ["(?x: a  b # and\n c)", "xabc", ["x", "abc"]],
    ["\\w+", "é²_‿ !", ["é²_‿", " !"]],
    ["(?<!a)b|(?=c)", "abbcd", ["ab", "b", "cd"]],
    ["(?<=ab|c)d", "dabdcd", ["dab", "d", "c", "d"]],
    ["(?>a+)b|a++c|a+?", "aabaac", ["aab", "aac"]],
    ["(?:a|ab)(?:c|bcd)", "abcd", ["abcd"]],
    ["(?:a*)*b|(?:a?b??)+?c", "aaabaac", ["aaab", "aac"]],
    ["(?<word>a{2,3}?)(b|c){2}", "aaabcx", ["aaabc", "x"]],
    ["\\p{Han}+|\\p{^L}|\\P{greek}", "一二a1α", ["一二", "a", "1", "α"]],
    ["\\R|\\t", "a\r\n\tb", ["a", "\r\n", "\t", "b"]],
    ["[\u{1F600}-\u{1F64F}]|\\x{1F408}", "a😀🐈b", ["a", "😀", "🐈", "b"]],
    ["(?<=😀).", "😀🐈", ["😀", "🐈"]],
  ])("%s", (pattern, text, expected) => {
    const json = { ...words(expected), pre_tokenizer: split({ pattern: { Regex: pattern } }) };
    expect(makeTokenizer(json).encode(text).tokens).toEqual(expected);
  });
});

describe("what is wrong or unknown is refused by its field", () => {
  const bpe = { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: ["a b"] };
  const model = (more: object): object => ({ ...base, model: { ...bpe, ...more } });
  const only = (more: object): object => ({ ...base, model: more });
  const template = (more: object): object => ({
    ...base,
    post_processor: { type: "TemplateProcessing", single: [{ SpecialToken: { id: "<s>", type_id: 0 } }], pair: [], special_tokens: {}, ...more },
  });
  const precompiled = (precompiled_charsmap: unknown): object => norm({ type: "Precompiled", precompiled_charsmap });
  /** This table makes "x" of "a", with other numbers in some places. */
  const spoilt = (change: Parameters<typeof charsmap>[1], replacement: string | Uint8Array = "x"): object =>
    precompiled(charsmap(replacement, change));
  const nested = (depth: number): object => {
    let step: object = { type: "NFC" };
    for (let i = 0; i < depth; ++i) step = { type: "Sequence", normalizers: [step] };
    return norm(step);
  };

  test("the right ones are taken", () => {
    expect(makeTokenizer(model({ type: undefined, merges: [["a", "b"]] })).encode("ab").ids).toEqual([2]);
    expect(makeTokenizer(precompiled(charsmap("x"))).encode("a").ids).toEqual([0]);
    expect(makeTokenizer(words(["x"], { normalizer: { type: "Precompiled", precompiled_charsmap: charsmap("x") } })).encode("a").ids).toEqual([1]);
    expect(makeTokenizer(nested(32)).encode("a").ids).toEqual([1]);
  });

  test.each<[string, object, string]>([
    ["format", {}, "model is missing, expected an object"],
    ["format", { added_tokens: 1, model: 2, decoder: 3 }, "model is 2, expected an object"],
    ["unsupported", model({ type: "Foo" }), 'model.type is "Foo", expected one of BPE, Unigram, WordLevel, WordPiece'],
    ["unsupported", model({ type: "constructor" }), 'model.type is "constructor", expected one of'],
    ["format", model({ type: 3 }), "model.type is 3, expected a string"],
    ["format", only({ vocab: {} }), "model.type is missing, expected one of BPE"],
    ["format", model({ vocab: [] }), "model.vocab is [], expected an object"],
    ["format", model({ vocab: { a: "0" } }), 'model.vocab["a"] is "0", expected a whole number'],
    ["format", model({ vocab: { a: 1.5 } }), 'model.vocab["a"] is 1.5, expected a whole number'],
    ["format", model({ vocab: { a: -5 } }), 'model.vocab["a"] is -5, expected a whole number from 0 to 2147483647'],
    ["format", model({ vocab: { a: 2 ** 40 } }), 'model.vocab["a"] is 1099511627776, expected a whole number'],
    ["format", model({ merges: ["a"] }), 'model.merges[0] is "a", expected two tokens'],
    ["format", model({ merges: ["a b c"] }), 'model.merges[0] is "a b c", expected two tokens'],
    ["format", model({ merges: [3] }), "model.merges[0] is 3, expected two tokens"],
    ["format", model({ merges: [["a", 1]] }), "model.merges[0][1] is 1, expected a string"],
    ["format", model({ merges: null }), "model.merges is null, expected a list"],
    ["format", model({ merges: ["a x"] }), 'model.merges[0] needs "x", expected a token of model.vocab'],
    ["format", model({ merges: ["b a"] }), 'model.merges[0] needs "ba", expected a token of model.vocab'],
    ["format", model({ fuse_unk: "yes" }), 'model.fuse_unk is "yes", expected true or false'],
    ["unsupported", model({ continuing_subword_prefix: "#".repeat(1e5) }), "model.continuing_subword_prefix is \"#"],
    ["unsupported", model({ dropout: 0.1 }), "model.dropout is 0.1, expected none"],
    ["format", only({ type: "WordPiece", vocab: { a: 0 }, unk_token: "a", max_input_chars_per_word: 1e9 }), "max_input_chars_per_word is 1000000000"],
    ["format", only({ type: "Unigram", vocab: { a: 0 } }), "model.vocab is Object, expected a list"],
    ["format", only({ type: "Unigram", vocab: [] }), "model.vocab is [], expected a list of tokens"],
    ["format", only({ type: "Unigram", vocab: [["a", "b"]] }), 'model.vocab[0][1] is "b", expected a number'],
    ["unsupported", only({ type: "Unigram", vocab: [["a".repeat(257), 0]] }), "expected tokens of up to 256 bytes"],
    ["format", only({ type: "Unigram", vocab: [["a", 0]], unk_id: 1 }), "model.unk_id is 1, expected a whole number from 0 to 0"],
    ["format", { ...base, added_tokens: {} }, "added_tokens is Object, expected a list"],
    ["format", { ...base, added_tokens: [{ id: -5, content: "x" }] }, "added_tokens[0].id is -5, expected a whole number"],
    ["format", { ...base, added_tokens: [null] }, "added_tokens[0] is null, expected an object"],
    ["format", { ...base, added_tokens: [added(9, "a")] }, 'added_tokens[0].id is 9, expected 1, which model.vocab gives to "a"'],
    ["format", { ...base, added_tokens: [added(9, "x"), added(9, "y")] }, "added_tokens[1].id is 9, expected an id that no other"],
    ["unsupported", { ...base, added_tokens: [added(9, "x".repeat(1e6))] }, "expected tokens of up to 512 bytes"],
    ["format", template({}), 'post_processor.single[0].SpecialToken.id is "<s>", expected one of'],
    ["format", template({ special_tokens: { "<s>": { ids: ["y"] } } }), 'post_processor.special_tokens["<s>"].ids[0] is "y", expected a whole number'],
    ["format", template({ single: [{ Sequence: { id: "B", type_id: 0 } }] }), 'post_processor.single[0].Sequence.id is "B", expected "A"'],
    ["format", { ...base, post_processor: { type: "BertProcessing", cls: ["a"], sep: ["x", 1] } }, "post_processor.cls[1] is missing"],
    ["unsupported", norm({ type: "Transliterate" }), 'normalizer.type is "Transliterate", expected one of BertNormalizer'],
    ["format", norm({}), "normalizer.type is missing, expected a string"],
    ["unsupported", nested(50), "expected Sequences up to 32 deep"],
    ["unsupported", norm({ type: "Sequence", normalizers: Array(1000).fill({ type: "NFC" }) }), "expected up to 256 steps"],
    ["format", norm({ type: "Sequence", normalizers: [null] }), "normalizer.normalizers[0] is null, expected an object"],
    ["format", precompiled(null), "normalizer.precompiled_charsmap is null, expected a string"],
    ["format", precompiled("ab!="), 'precompiled_charsmap is "ab!=", expected Base64'],
    ["format", precompiled("abcde"), "expected Base64"],
    ["format", precompiled("ab==abcd"), "expected Base64"],
    ["format", precompiled(""), "expected the size of a trie, and a trie"],
    ["format", precompiled("AAAAAA=="), "expected a trie that is not empty"],
    ["format", spoilt({ size: 0xFFFFFFFC }), "expected a trie of 4294967292 bytes, a multiple of 4, as it says itself"],
    ["format", spoilt({ size: 2046 }), "expected a trie of 2046 bytes, a multiple of 4"],
    ["format", spoilt({ units: { 0: 512 << 10 } }), "nodes inside it; that of unit 0 has children outside"],
    ["format", spoilt({ units: { 353: 0x7FFFFE61 } }), "that of unit 353 has children outside"],
    ["format", spoilt({ units: { 1: 0x80000002 } }), "unit 1 has 2"],
    ["format", spoilt({ units: { 1: 0xFFFFFFFF } }), "unit 1 has 2147483647"],
    ["format", spoilt({ units: { 1: 0x80000001 } }, "é"), "unit 1 has 1"],
    ["format", spoilt({}, Uint8Array.of(0xC3)), "expected replacements in UTF-8"],
    ["unsupported", pre(split({ behavior: "Sideways" })), 'pre_tokenizer.behavior is "Sideways", expected Removed, Isolated'],
    ["format", pre(split({ pattern: {} })), "pre_tokenizer.pattern is Object, expected {"],
    ["format", pre(split({ pattern: { String: "" } })), 'pre_tokenizer.pattern.String is "", expected at least one character'],
    ["unsupported", pre({ type: "FixedLength", length: 0 }), 'pre_tokenizer.type is "FixedLength", expected one of BertPreTokenizer'],
    ["unsupported", pre({ type: "Metaspace", replacement: "▁", prepend_scheme: "sometimes" }), 'prepend_scheme is "sometimes"'],
    ["format", pre({ type: "Metaspace", replacement: "ab" }), 'replacement is "ab", expected one character'],
    ["unsupported", regex("a(b"), 'the regular expression "a(b" has a group without end at character 1, expected what this package knows'],
    ["unsupported", regex("a)"), "has a parenthesis that closes nothing at character 1"],
    ["unsupported", regex("[a"), "has a class without end"],
    ["unsupported", regex("*a"), "has a quantifier of nothing"],
    ["unsupported", regex("a**"), "has a quantifier after a quantifier"],
    ["unsupported", regex("a{3,2}"), "has an interval from more to less"],
    ["unsupported", regex("a{99999}"), "has an interval that is too large"],
    ["unsupported", regex("[b-a]"), "has a range of no characters"],
    ["unsupported", regex("\\p{Nonsense}"), 'has the unknown property "Nonsense"'],
    ["unsupported", regex("[\\w&&[^a]]"), "has an intersection of classes at character 3"],
    ["unsupported", regex("[a[^b]]"), "has such a class in a class"],
    ["unsupported", regex("(*LIMIT_MATCH=1)a"), 'has "(*" at character 0'],
    ["unsupported", regex("(?(1)a)"), "has a group of this kind"],
    ["unsupported", regex("\\C"), "has the escape"],
    ["unsupported", regex("(a)\\1"), "has the escape"],
    ["unsupported", regex("\\x{110000}"), "which is no character"],
    ["unsupported", regex(`a${"{1".repeat(30_000)}(`), "has a group without end"],
    ["unsupported", regex(`a{${"1".repeat(65_000)}(`), "has a group without end"],
    ["unsupported", regex("(?<=a*)b"), "has a look-behind of no fixed length"],
    ["unsupported", regex("(((((ab{1000}){1000}){1000}){1000}){1000})"), "has too many parts"],
    ["unsupported", regex("(((((){1000}){1000}){1000}){1000})"), "has too many parts"],
    ["unsupported", regex("(".repeat(1e6)), "has 1000000 characters, expected at most 65536"],
    ["unsupported", regex("(".repeat(1e4) + ")".repeat(1e4)), "has groups more than 250 deep"],
    ["unsupported", regex(Array.from({ length: 2000 }, (_, i) => `[${i}]`).join("")), "has more than 1024 classes"],
    ["unsupported", regex("(?i)[\\x{0}-\\x{10FFFF}]"), "has ranges of too many characters"],
  ])("$0: $2", (code, json, message) => {
    const begin = performance.now();
    const fault = thrown(() => makeTokenizer(json));
    expect(performance.now() - begin).toBeLessThan(5000);
    expect(fault).toMatchObject({ name: "HeadlensError", code });
    expect((fault as Error).message).toMatch(/^tokenizer\.json: .{1,1000}$/);
    expect((fault as Error).message).toContain(message);
  });
});

function thrown(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("hostile files hold nothing up", () => {
  const spaced = `${"a".repeat(10_000)}!`;
  const pattern = { Regex: "(a|aa)+(?=[bc])" };
  const doubled = { type: "Replace", pattern: { String: "a" }, content: "aa" };
  const bar = { added_tokens: [added(1, "|")] };
  const sequence = (count: number, step: object): object => ({ type: "Sequence", pretokenizers: Array(count).fill(step), normalizers: Array(count).fill(step) });
  test.each<[string, object, string, string]>([
    ["backtracking without end", regex("(a+)+$"), spaced, 'the regular expression "(a+)+$" gives up on the text: too many steps'],
    ["nested groups without end", regex("((a*)*)*[bc]"), spaced, "gives up on the text: too many steps"],
    ["choices without end", regex("(a|aa)+b"), spaced, "gives up on the text: too many steps"],
    ["atoms without end", regex("((?>a|aa)|a)+b"), spaced, "gives up on the text: too many steps"],
    ["lazy choices without end", regex("(a|a)*?b"), spaced, "gives up on the text: too many steps"],
    ["looking ahead from every place", regex("(?:(?=a+)a)*b"), spaced, "gives up on the text: too many steps"],
    ["looking back from every place", regex("(?<=a{5000})b|(?<=(?:a|a){3000})c"), spaced, "gives up on the text: too many steps"],
    ["stepping back from every place", regex(`(?<=${"ba".repeat(10)}[cd]{60000})c`), "a".repeat(200_000), "gives up on the text: too many steps"],
    ["a class of many properties", regex(`[${"\\p{Lu}\\p{Ll}\\p{Lt}\\p{Lm}\\p{Nd}\\p{Nl}\\p{Sc}\\p{Sk}\\p{Han}\\p{Greek}"}]|(.|..)+\\p{Cc}`), "\u{10FFFD}".repeat(5000),
      "gives up on the text: too many steps"],
    ["a long word of many pieces", {
      ...base, model: { type: "WordPiece", unk_token: "a", max_input_chars_per_word: 1000, vocab: { a: 0, "##a": 1, [`##${"a".repeat(999)}b`]: 2 } }, pre_tokenizer: { type: "WhitespaceSplit" },
    }, `${"a".repeat(1000)} `.repeat(10), "this tokenizer gives up on the text: too many steps"],
    ["scanning from every place", regex("a++[bc]"), spaced, "gives up on the text: too many steps"],
    ["either case", regex("(?i)(A|b|AA)+c"), spaced, "gives up on the text: too many steps"],
    ["many expressions", pre(sequence(256, split({ pattern }))), "a".repeat(24), "gives up on the text: too many steps"],
    ["many expressions and sections", { ...pre(sequence(256, split({ pattern }))), ...bar }, `${"a".repeat(20)}|`.repeat(47), "too many steps"],
    ["many replacements", { ...norm(sequence(256, { type: "Replace", pattern, content: "" })), ...bar }, `${"a".repeat(20)}|`.repeat(47), "too many steps"],
    ["a text that doubles with each step", norm(sequence(200, doubled)), "a", "this tokenizer gives up on the text: too many steps"],
    ["bytes that double with each step", norm(sequence(200, { type: "ByteLevel" })), "é", "too many steps"],
    ["a table that makes a character a megabyte", norm({ type: "Precompiled", precompiled_charsmap: charsmap("x".repeat(1 << 20)) }), spaced,
      "bytes, expected at most 16777216 when normalized"],
    ["a template that doubles with each step", {
      ...base, post_processor: { type: "Sequence", processors: Array(200).fill({ type: "TemplateProcessing", single: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }] }) },
    }, "a", "the template makes"],
    ["many copies by a template", {
      ...base, post_processor: { type: "Sequence", processors: [
        ...Array<object>(22).fill({ type: "TemplateProcessing", single: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }] }),
        ...Array<object>(200).fill({ type: "TemplateProcessing", single: [{ Sequence: { id: "A", type_id: 0 } }] }),
      ] },
    }, "a", "the template makes"],
    ["a text that is too long", base, "a".repeat(2 ** 24 + 1), "text has 16777217 bytes, expected at most 16777216"],
    ["a character that has no token", { ...base, model: { type: "BPE", vocab: { a: 0 }, merges: [], unk_token: "<unk>" } }, "b",
      'text has "b", expected characters of model.vocab, which lacks model.unk_token'],
    ["a word that has no token", { ...base, model: { type: "WordLevel", vocab: { a: 0 }, unk_token: "?" } }, "b", 'text has "b", expected words of model.vocab'],
    ["a character that has no likelihood", { ...base, model: { type: "Unigram", vocab: [["a", 0]] } }, "b", "since there is no model.unk_id"],
  ])("%s", (_, json, text, message) => {
    const tokenizer = makeTokenizer(json);
    const begin = performance.now();
    const fault = thrown(() => tokenizer.encode(text));
    expect(performance.now() - begin).toBeLessThan(5000);
    expect(fault).toMatchObject({ name: "HeadlensError" });
    expect((fault as Error).message).toContain(message);
  });

  test("a tokenizer that gave up on one text reads the next one", () => {
    const tokenizer = makeTokenizer(regex("(a+)+$"));
    expect(() => tokenizer.encode(spaced)).toThrow("too many steps");
    expect(tokenizer.encode("a").ids).toEqual([1]);
  });

  const named = (name: string): object => kPublishedTokenizers.find((golden) => golden.name === name)?.json ?? {};
  test.each(["gpt2", "gpt4o", "bert_uncased", "llama2", "unigram_bytes", "xlm_roberta"])("long texts take time in proportion: %s", (name) => {
    const tokenizer = makeTokenizer(named(name));
    // A word without end, words, spaces, lines and marks without end.
    for (const part of ["a", "the theory ", " ", "\n", "\u0301\u0316"]) {
      expect(tokenizer.encode(part.repeat((1 << 16) / part.length)).ids.length).toBeGreaterThan(0);
    }
  });
  test("marks in the wrong order are sorted", () => {
    const [above, below] = ["\u0301".repeat(1 << 15), "\u0316".repeat(1 << 15)] as const;
    const qwen = makeTokenizer(named("qwen2"));
    expect(qwen.encode(`q${above}${below}`).ids).toEqual(qwen.encode(`q${below}${above}`).ids);
    for (const form of ["NFC", "NFD", "NFKC", "NFKD"]) {
      const run = "q\u0307\u0323\u0903\u0345\uFF9E\u3099\u0334\u0301e\u0301".repeat(3).normalize("NFC");
      const marks = "\u0345\u0301\u0903\u0316\uFF9E\u0334\u0327\u05B4\u0338\u20DD\u3099\u0323".repeat(5);
      const expected = (run + marks).normalize(form);
      expect(makeTokenizer(words([expected], { normalizer: { type: form } })).encode(run + marks).ids).toEqual([1]);
    }
  });
  test("a word of a megabyte, and a vocabulary of a million tokens", () => {
    expect(makeTokenizer(named("gpt2")).encode("thethere".repeat(1 << 17)).ids.length).toBeGreaterThan(1000);
    const vocab = Array.from({ length: 1e6 }, (_, i) => [`${i}`.padStart(9, "0"), -i]);
    expect(makeTokenizer({ ...base, model: { type: "Unigram", vocab } }).encode("000000001000999999").ids).toEqual([1, 999_999]);
  });
});

test("half a character counts as U+FFFD, as in UTF-8", () => {
  const tiny = JSON.parse(readFileSync(new URL("../../web/models/tiny/tokenizer.json", import.meta.url), "utf8")) as object;
  const tokenizer = makeTokenizer(tiny);
  expect(tokenizer.encode("a\uD83Db\uDC08").ids).toEqual(tokenizer.encode("a\uFFFDb\uFFFD").ids);
});

test("two texts as their model joins them, and a text that goes on without special tokens", () => {
  const vocab = { "[CLS]": 0, "[SEP]": 1, a: 2, b: 3 };
  const ends = (type: string): object => ({ ...base, post_processor: { type, cls: ["[CLS]", 0], sep: ["[SEP]", 1] }, model: { type: "BPE", vocab, merges: [] } });
  const bert = makeTokenizer(ends("BertProcessing"));
  expect(bert.encodePair("a", "bb")).toMatchObject({ ids: [0, 2, 1, 3, 3, 1], segments: [0, 0, 0, 1, 1, 1] });
  expect(makeTokenizer(ends("RobertaProcessing")).encodePair("a", "b")).toMatchObject({ ids: [0, 2, 1, 1, 3, 1], segments: [0, 0, 0, 0, 0, 0] });
  expect(bert.encode("a").ids).toEqual([0, 2, 1]);
  expect(bert.encode("a", false).ids).toEqual([2]);
});
