// SPDX-License-Identifier: Apache-2.0
/**
 * Small tokenizer.json files with the structure of well-known models', and texts to try them on. The vocabularies are learned here from
 * the texts below, by plain byte-pair counting, so that merges, fallbacks and unknown characters all happen.
 */

export const kCorpus = `The quick brown fox jumps over the lazy dog, and the dog doesn't care. It's what they've said: "I'm sure we'll
see 12 foxes, 345 dogs and 6789 cats by 2024-05-01". Die Straße führt über Brücken; où est la bibliothèque? El niño comió piñas.
Привет, мир! Γειά σου κόσμε. 你好，世界。こんにちは世界。안녕하세요 세계. مرحبا بالعالم. नमस्ते दुनिया. function f(x) { return x * 2; }
    if (a == b) {\n\t\treturn   "indented";\n    }\n\n\nthe end of the theory then, there, these, those, thousands of thistles.`;

type Merge = readonly [string, string];

/** GPT-2's letters for bytes, in the order of the bytes. */
export const kByteLetters: readonly string[] = (() => {
  const printable = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
})();

const inByteLetters = (text: string): string => [...Buffer.from(text)].map((byte) => kByteLetters[byte] ?? "").join("");

/** The `count` most frequent pairs of neighbours in the words, each merged before the next is counted; ties by order of appearance. */
function learnMerges(words: readonly string[], count: number): Merge[] {
  let parts = words.map((word) => [...word]);
  const merges: Merge[] = [];
  while (merges.length < count) {
    const counts = new Map<string, number>();
    for (const word of parts) for (let i = 1; i < word.length; ++i) {
      const pair = `${word[i - 1]} ${word[i]}`;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
    const best = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0]);
    if (best[1] < 2) break;
    const [left = "", right = ""] = best[0].split(" ");
    merges.push([left, right]);
    parts = parts.map((word) => word.reduce<string[]>((done, part) => {
      if (part === right && done.at(-1) === left) done[done.length - 1] = left + right;
      else done.push(part);
      return done;
    }, []));
  }
  return merges;
}

const idsOf = (tokens: Iterable<string>): Record<string, number> =>
  Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id]));

const special = (id: number, content: string, more: object = {}): object =>
  ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });

const template = (single: readonly (string | null)[], ids: Record<string, number>): object => {
  const piece = (name: string | null): object =>
    name === null ? { Sequence: { id: "A", type_id: 0 } } : { SpecialToken: { id: name, type_id: 0 } };
  const names = single.filter((name) => name !== null);
  return {
    type: "TemplateProcessing", single: single.map(piece), pair: [],
    special_tokens: Object.fromEntries(names.map((name) => [name, { id: name, ids: [ids[name]], tokens: [name] }])),
  };
};

const kGpt2Words = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** GPT-2: byte-level, merges as strings, one special token that stands in texts. */
export function gpt2(addPrefixSpace = false): object {
  const merges = learnMerges((kCorpus.match(kGpt2Words) ?? []).map(inByteLetters), 400);
  const vocab = idsOf([...kByteLetters, ...merges.map(([a, b]) => a + b)]);
  const end = Object.keys(vocab).length;
  return {
    version: "1.0", truncation: null, padding: null,
    added_tokens: [special(end, "<|endoftext|>", { normalized: true })],
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: addPrefixSpace, trim_offsets: true },
    post_processor: { type: "ByteLevel", add_prefix_space: true, trim_offsets: false },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true },
    model: {
      type: "BPE", dropout: null, unk_token: "", continuing_subword_prefix: "", end_of_word_suffix: "", fuse_unk: false,
      vocab: { ...vocab, "<|endoftext|>": end, "": end + 1 }, merges: merges.map((pair) => pair.join(" ")),
    },
  };
}

/** RoBERTa: GPT-2's, with <s> … </s> by their own post-processor, and a mask that takes the space before it. */
export function roberta(): object {
  const base = gpt2() as { model: { vocab: Record<string, number> } };
  const first = Object.keys(base.model.vocab).length;
  return {
    ...base,
    added_tokens: [special(first, "<s>"), special(first + 1, "</s>"), special(first + 2, "<mask>", { lstrip: true })],
    post_processor: { type: "RobertaProcessing", sep: ["</s>", first + 1], cls: ["<s>", first], trim_offsets: true, add_prefix_space: true },
  };
}

/** BERT uncased or cased: WordPiece, words from its own normalizer and pre-tokenizer. */
export function bert(lowercase: boolean, processor: "template" | "bert" = "template"): object {
  const text = lowercase ? kCorpus.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "") : kCorpus;
  const words = text.match(/[\p{L}\p{M}]+|\p{N}+/gu) ?? [];
  const merges = learnMerges(words, 200);
  const letters = [...new Set(text.replace(/\s/g, ""))];
  const pieces = [...letters, ...merges.map(([a, b]) => a + b)];
  const specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
  const vocab = idsOf([...specials, ...pieces, ...pieces.map((piece) => `##${piece}`)]);
  return {
    version: "1.0", truncation: null, padding: null,
    added_tokens: specials.map((content, id) => special(id, content)),
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: processor === "bert" ? { type: "BertProcessing", sep: ["[SEP]", 3], cls: ["[CLS]", 2] } : template(["[CLS]", null, "[SEP]"], vocab),
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab },
  };
}

const kMark = "\u2581";
const kBytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);

/** Llama 2: SentencePiece's byte pairs, spaces as marks, bytes for what is not in the vocabulary. */
export function llama2(kind: "normalizer" | "metaspace" = "normalizer", byteFallback = true): object {
  const words = (kMark + kCorpus.replaceAll(" ", kMark)).match(/\u2581*[^\u2581\n]+/gu) ?? [];
  const merges = learnMerges(words, 300);
  // Some letters have no token of their own.
  const letters = [...new Set(kCorpus.replace(/[\s你世안नД]/gu, ""))];
  const known = new Set([kMark, ...letters]);
  const kept: Merge[] = [];
  for (const [a, b] of merges) {
    if (!known.has(a) || !known.has(b)) continue;
    kept.push([a, b]);
    known.add(a + b);
  }
  const vocab = idsOf(["<unk>", "<s>", "</s>", ...(byteFallback ? kBytes : []), ...known]);
  const marks = { type: "Replace", pattern: { String: " " }, content: kMark };
  return {
    version: "1.0", truncation: null, padding: null,
    added_tokens: [special(0, "<unk>"), special(1, "<s>"), special(2, "</s>")],
    normalizer: kind === "normalizer" ? { type: "Sequence", normalizers: [{ type: "Prepend", prepend: kMark }, marks] } : null,
    pre_tokenizer: kind === "normalizer" ? null : { type: "Metaspace", replacement: kMark, prepend_scheme: "first", split: false },
    post_processor: template(["<s>", null], vocab),
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: kMark }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: {
      type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: true,
      byte_fallback: byteFallback, vocab, merges: kept.map((pair) => pair.join(" ")),
    },
  };
}

export const kLlama3Words = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
export const kQwen2Words = kLlama3Words.replace("{1,3}", "");
/** gpt-4o's, with possessive quantifiers as tiktoken writes them. */
export const kO200kWords = [
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  "\\p{N}{1,3}", " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*", "\\s*[\\r\\n]+", "\\s+(?!\\S)", "\\s+",
].join("|");

/** Llama 3 and Qwen 2: a Split, then bytes without GPT-2's expression; whole words of the vocabulary are not merged. */
export function llama3(words = kLlama3Words, normalizer: object | null = null): object {
  const parts = kCorpus.match(new RegExp(words.replaceAll("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"), "gu")) ?? [];
  const merges = learnMerges(parts.map(inByteLetters), 400);
  // A word that the merges do not make.
  const vocab = idsOf([...kByteLetters, ...merges.map(([a, b]) => a + b), "\u0120unmergeable"]);
  const first = Object.keys(vocab).length;
  const names = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"];
  return {
    version: "1.0", truncation: null, padding: null,
    added_tokens: names.map((content, i) => special(first + i, content)),
    normalizer,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: words }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: {
      type: "Sequence",
      processors: [{ type: "ByteLevel", add_prefix_space: true, trim_offsets: false, use_regex: true },
        template(["<|begin_of_text|>", null], { "<|begin_of_text|>": first })],
    },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false,
      byte_fallback: false, ignore_merges: true, vocab, merges,
    },
  };
}

/** T5's and XLM-R's model, without SentencePiece's table of characters. */
export function unigram(): object {
  const words = (kMark + kCorpus.replaceAll(" ", kMark)).match(/\u2581*[^\u2581\n]+/gu) ?? [];
  const letters = [...new Set(kCorpus.replace(/[\s你世안न]/gu, ""))];
  const pieces = learnMerges(words, 200).map(([a, b]) => a + b).filter((piece) => !/[你世안न]/u.test(piece));
  // Scores that no two ways to a text share.
  const vocab = ["<pad>", "</s>", "<unk>", kMark, ...letters, ...pieces].map((token, i) =>
    [token, i < 3 ? 0 : -2 - Math.log(1 + i) - 3 / [...token].length - Math.sqrt(i) / 1e4]);
  return {
    version: "1.0", truncation: null, padding: null,
    added_tokens: [special(0, "<pad>"), special(1, "</s>"), special(2, "<unk>")],
    normalizer: null,
    pre_tokenizer: { type: "Metaspace", replacement: kMark, prepend_scheme: "always", split: false },
    post_processor: template([null, "</s>"], { "</s>": 1 }),
    decoder: { type: "Metaspace", replacement: kMark, prepend_scheme: "always", split: true },
    model: { type: "Unigram", unk_id: 2, vocab, byte_fallback: false },
  };
}

/**
 * SentencePiece's table of characters with one line, which replaces "a": its trie has the root at unit 0, the node of "a" at unit 353, and
 * its value at unit 1. `change` puts other numbers into some of the units, or another size before them.
 */
export function charsmap(
  replacement: string | Uint8Array, change: { size?: number; units?: Record<number, number> } = {},
): string {
  const [hasValue, isValue] = [1 << 8, 0x80000000] as const;
  const units = new Uint32Array(512);
  const all = { 0: 256 << 10, 353: 97 | hasValue | (352 << 10), 1: isValue, ...change.units };
  for (const [at, unit] of Object.entries(all)) units[Number(at)] = unit;
  const size = Uint32Array.of(change.size ?? units.byteLength);
  const text = typeof replacement === "string" ? Buffer.from(replacement) : replacement;
  return Buffer.concat([Buffer.from(size.buffer), Buffer.from(units.buffer), text, Buffer.of(0)]).toString("base64");
}

const kFixedTexts: readonly string[] = [
  "", " ", "  ", "\n", "\r\n", "\t", " \n ", "\n\n\n", "a", " a", "a ", "  a  b   c    ", "tab\tand\nline\r\nends\n",
  "Hello, world!", "The quick brown fox jumps over the lazy dog.", "the theory then, there, these", "unmergeable  unmergeable",
  "don't can't I'm you're they've she'll he'd it's IT'S DON'T YOU'RE", "'s 't're've", "''s", "o'clock's",
  "0", "12", "123", "1234", "1234567890", "3.14159", "1,000,000.00", "a1b2c3", "x²+y³=½", "Ⅷ ٣٤٥ ३४५",
  "foo_bar __init__ a-b-c (x) [y] {z} <w> \"q\" `t` ~!@#$%^&*()_+|\\", "https://example.org/a?b=c&d=e#f", "C++20 & C#", "$5 €6 £7 ¥8 ₹9",
  "naïve café résumé ÀÉÎÕÜ ß ẞ œ Æ ø", "nai\u0308ve cafe\u0301 re\u0301sume\u0301", "e\u0301\u0323 \u1EB9\u0301 q\u0323\u0307 q\u0307\u0323", "Å \u212B A\u030A", "ﬁ ﬂ ﬃ ① ㎏ ｆｕｌｌ",
  "Привет, мир! Ёлка", "Γειά σου κόσμε", "你好，世界。", "中文 mixed with English 和数字123", "こんにちは世界。カタカナ ｶﾀｶﾅ", "안녕하세요 세계", "\u1112\u1161\u11AB\u1100\u1173\u11AF",
  "مرحبا بالعالم", "السَّلَامُ عَلَيْكُمْ", "שָׁלוֹם עוֹלָם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "ភាសាខ្មែរ",
  "🐈", "🐈🐈", "a🐈b", "👨‍👩‍👧‍👦 family", "🏳️‍🌈 👍🏽 🇩🇪🇫🇷", "emoji 😀 in 😃 text", "☃️ ❤️", "𝒜𝓁𝑔𝑒𝒷𝓇𝒶 𝟘𝟙", "𠮷野家 𪚥",
  "zero\u200Bwidth\u200Cjoin\u200Der", "soft\u00ADhyphen", "nbsp\u00A0here\u2003em\u3000wide", "\u0000null\u0007bell\u001B", "\u2028line\u2029para", "a\uFFFDb", "\u202Ertl\u202C",
  "a".repeat(100), "a".repeat(101), "ab".repeat(300), "the".repeat(200), " ".repeat(300), "\n".repeat(64), "x".repeat(1000) + " y",
  "\u0301".repeat(50), "e" + "\u0301\u0316".repeat(30), "é".repeat(120), "世".repeat(50),
  "function f(x) {\n    return x * 2;\n}\n", "    if (a == b) {\n\t\treturn   \"indented\";\n    }", "SELECT * FROM t WHERE a='b';--", "<b>&amp;</b>", "{{x}} ${y}",
  "<s>", "</s>", "a <s> b", "<unk>x", "[CLS] a [SEP]", "[MASK]", "a[MASK]b", "<|endoftext|>", "one<|endoftext|>two", "<|end", "<|begin_of_text|> a <|eot_id|>", "a <mask> b", "<mask>",
  "\u2581", "\u2581a", "a\u2581b", "<0x41>", "<0xE2>", "\u0120", "Ġthe", "##ing",
];

/** A stream of numbers in [0, 1) that is the same in every run (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Texts of random parts of the above, and of single characters from all over Unicode's older half. */
function randomTexts(count: number): string[] {
  const random = randomNumbers(20260301);
  const below = (n: number): number => Math.floor(random() * n);
  const parts = [...kCorpus.split(/(?<=\s)/), ...kFixedTexts.filter((text) => text.length < 30)];
  const alphabet = [..."  \n\tabcdeABC'012.,;!?-_()\u00E9\u00DF\u0301\u0323жЖλ世界のか가각مرनि🐈👍"];
  return Array.from({ length: count }, () => Array.from({ length: 1 + below(12) }, () =>
    (random() < 0.5 ? parts[below(parts.length)] : Array.from({ length: 1 + below(6) }, () => alphabet[below(alphabet.length)]).join("")) ?? "").join(""));
}

export const kTexts: readonly string[] = [...kFixedTexts, ...randomTexts(300)];
