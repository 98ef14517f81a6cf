// SPDX-License-Identifier: Apache-2.0
/** What each position shows: pieces that join to the text. The vocabularies are small, the tokenizing is the library's. */
import { describe, expect, test } from "vitest";
import { TextTokenizer } from "../../wasm/src/tokenizer.js";

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

test.each([[{}], [{ model: { type: "Nonsense" } }], [{ added_tokens: 1, model: 2, decoder: 3 }]])(
  "%j is refused as a tokenizer.json",
  (json) => {
    expect(() => new TextTokenizer(json)).toThrow(
      expect.objectContaining({
        code: "format",
        message: expect.stringMatching(/^tokenizer.json: /) as string,
      }) as Error,
    );
  },
);
