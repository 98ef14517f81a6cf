// SPDX-License-Identifier: Apache-2.0
/**
 * The piece at each position: pieces that together give the text. The vocabularies are small, and the library does the
 * tokenizing.
 */
import { describe, expect, test } from "vitest";
import { TextTokenizer } from "../../wasm/src/tokenizer/tokenizer.js";

/** GPT-2's letters for bytes, in the order of the bytes. */
function byteLetters(): string[] {
  const printable = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
}

function byteLevel(merges: [string, string][] = []): TextTokenizer {
  const names = ["<s>", ...byteLetters(), ...merges.map(([a, b]) => a + b)];
  return new TextTokenizer({
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
  const tokenizer = new TextTokenizer({
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

describe("what the library would ignore or trip over is refused by its field", () => {
  const right = {
    added_tokens: [{ id: 3, content: "<s>", special: true }],
    normalizer: { type: "Sequence", normalizers: [{ type: "NFC" }, { type: "Lowercase" }] },
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false },
    post_processor: {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
      pair: [],
      special_tokens: { "<s>": { id: "<s>", ids: [3], tokens: ["<s>"] } },
    },
    decoder: null,
    model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: ["a b"] },
  };
  const model = (more: object): object => ({ ...right, model: { ...right.model, ...more } });
  const only = (more: object): object => ({ ...right, model: more });
  const template = (more: object): object => ({ ...right, post_processor: { ...right.post_processor, ...more } });
  const split = (more: object): object =>
    ({ ...right, pre_tokenizer: { type: "Split", pattern: { String: " " }, behavior: "Isolated", invert: false, ...more } });

  test("the right ones are taken", () => {
    expect(new TextTokenizer(right).encode("AB").ids).toEqual([3, 2]);
    expect(new TextTokenizer(model({ type: undefined, merges: [["a", "b"]] })).encode("ab").ids).toEqual([3, 2]);
    expect(new TextTokenizer(split({ behavior: "Removed" })).encode("a b").ids).toEqual([3, 0, 1]);
    const words = { type: "WordLevel", vocab: { a: 0, "?": 1 }, unk_token: "?" };
    const plain = { ...right, pre_tokenizer: { type: "WhitespaceSplit" }, post_processor: undefined, model: words };
    expect(new TextTokenizer(plain).encode("a x a").ids).toEqual([0, 1, 0]);
  });

  let deep: object = { type: "NFC" };
  for (let i = 0; i < 50; ++i) deep = { type: "Sequence", normalizers: [deep] };

  test.each<[string, object, string]>([
    ["format", {}, "model is missing, expected an object"],
    ["format", { added_tokens: 1, model: 2, decoder: 3 }, "model is 2, expected an object"],
    ["unsupported", model({ type: "Foo" }), 'model.type is "Foo", expected one of BPE, Unigram, WordLevel, WordPiece'],
    ["unsupported", model({ type: "constructor" }), 'model.type is "constructor", expected one of'],
    ["format", model({ type: 3 }), "model.type is 3, expected a string"],
    ["format", only({ vocab: {} }), "model.type is missing, expected one of BPE"],
    ["format", model({ vocab: [] }), "model.vocab is [], expected an object"],
    ["format", model({ vocab: { a: -5 } }), 'model.vocab["a"] is -5, expected a whole number from 0 to 2147483647'],
    ["format", model({ vocab: { a: 2 ** 40 } }), 'model.vocab["a"] is 1099511627776, expected a whole number'],
    ["format", model({ merges: ["a"] }), 'model.merges[0] is "a", expected two tokens'],
    ["format", model({ merges: [3] }), "model.merges[0] is 3, expected two tokens"],
    ["format", model({ merges: null }), "model.merges is null, expected a list"],
    ["unsupported", model({ continuing_subword_prefix: "##" }), 'model.continuing_subword_prefix is "##", expected none'],
    ["unsupported", model({ dropout: 0.1 }), "model.dropout is 0.1, expected none"],
    ["format", only({ type: "WordPiece", vocab: { a: 0 }, unk_token: "a" }), "model.continuing_subword_prefix is missing"],
    ["format", only({ type: "Unigram", vocab: { a: 0 } }), "model.vocab is Object, expected a list"],
    ["format", only({ type: "Unigram", vocab: [["a"]] }), 'model.vocab[0] is ["a"], expected a token and its score'],
    ["format", only({ type: "Unigram", vocab: [["a", 0]], unk_id: 1 }), "model.unk_id is 1, expected a whole number from 0 to 0"],
    ["format", { ...right, added_tokens: [{ id: -5, content: "x" }] }, "added_tokens[0].id is -5, expected a whole number"],
    ["format", { ...right, added_tokens: [null] }, "added_tokens[0] is null, expected an object"],
    ["format", { ...right, added_tokens: [{ id: 9, content: "a" }] }, 'added_tokens[0].id is 9, expected 0, which the file gives to "a"'],
    ["unsupported", { ...right, added_tokens: [{ id: 9, content: "x", single_word: true }] }, "added_tokens[0].single_word is true"],
    ["format", template({ special_tokens: {} }), 'post_processor.single[0].SpecialToken.id is "<s>", expected one of'],
    ["format", template({ special_tokens: { "<s>": { ids: [4] } } }), 'post_processor.special_tokens["<s>"].ids[0] is 4, expected 3'],
    ["unsupported", template({ special_tokens: { "<s>": { ids: [3, 3] } } }), 'post_processor.special_tokens["<s>"].ids is [3,3]'],
    ["format", template({ single: [{ Sequence: { id: "B", type_id: 0 } }] }), 'post_processor.single[0].Sequence.id is "B", expected A'],
    ["format", { ...right, post_processor: { type: "BertProcessing", sep: ["x", 1], cls: ["a", 0] } }, 'post_processor.sep[0] is "x"'],
    ["unsupported", { ...right, normalizer: { type: "Precompiled" } }, 'normalizer.type is "Precompiled", expected Sequence, BertNormalizer'],
    ["unsupported", { ...right, normalizer: deep }, "expected Sequences up to 32 deep"],
    ["format", { ...right, normalizer: { type: "Sequence", normalizers: [null] } }, "normalizer.normalizers[0] is null, expected an object"],
    ["unsupported", split({ behavior: "MergedWithNext" }), 'pre_tokenizer.behavior is "MergedWithNext", expected Removed or Isolated'],
    ["format", split({ pattern: {} }), "pre_tokenizer.pattern is Object, expected {"],
    ["unsupported", split({ pattern: { Regex: "(" } }), "it cannot be used ("],
    ["unsupported", { ...right, pre_tokenizer: { type: "FixedLength", length: 0 } }, 'pre_tokenizer.type is "FixedLength", expected Sequence'],
  ])("%s: %j", (code, json, message) => {
    let thrown: unknown;
    try {
      new TextTokenizer(json);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ name: "HeadlensError", code });
    expect((thrown as Error).message).toContain(`tokenizer.json: ${message.startsWith("expected") ? "" : message}`);
    expect((thrown as Error).message).toContain(message);
  });
});
