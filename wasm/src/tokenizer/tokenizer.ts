// SPDX-License-Identifier: Apache-2.0
/**
 * Text becomes token ids, and ids become what each position shows, as Hugging Face's tokenizer.json describes. The steps are those of its
 * library: find added tokens, normalize the text between them, split it into words, turn each word into tokens with the model, and add
 * special tokens. Truncation and padding are left out. native/tokenizer does the same, in files of the same names.
 */
import { wrong } from "../module/failures.js";
import { AddedTokens, type Section } from "./added-tokens.js";
import { bytesOfLetters, byteOfName, hex } from "./byte-letters.js";
import { Field, type Kinds, stepsOf } from "./fields.js";
import { makeModel, type Model } from "./model.js";
import { makeNormalizer, type Normalizer } from "./normalizer.js";
import { makePostProcessor, type PostProcessor } from "./post-processor.js";
import { makePreTokenizer, type PreTokenizer } from "./pre-tokenizer.js";
import { kMaxText, Steps } from "./steps.js";
import { byteLength, characterAt, wellFormed } from "./unicode.js";

/** Returns the text of the bytes. A byte that belongs to a character shared with a neighbouring token shows as ⟨E2⟩. */
function visible(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const code = characterAt(bytes, at);
    text += code === undefined ? `⟨${hex(bytes[at] as number)}⟩` : String.fromCodePoint(code);
    at += code === undefined || code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return text;
}

export interface Encoded {
  readonly ids: number[];
  readonly tokens: string[];
  /** Each token is of the first (0) or of the second text (1). */
  readonly segments?: number[] | undefined;
}

/** The kinds of steps that a tokenizer may be made of. */
export interface StepKinds {
  readonly models: Kinds<Model>;
  readonly normalizers: Kinds<Normalizer>;
  readonly preTokenizers: Kinds<PreTokenizer>;
}

export class TextTokenizer {
  readonly #normalizer: Normalizer;
  readonly #preTokenizer: PreTokenizer;
  readonly #model: Model;
  readonly #postProcessor: PostProcessor;
  readonly #added: AddedTokens;
  readonly #isByteLevel: boolean;
  readonly #stripsFirstSpace: boolean;
  /** Parts of tokens that are not shown. */
  readonly #removed: readonly string[];
  /** The tokenizer of what a decoder with an encoder reads: that in the file's "target_tokenizer", or else this one. */
  readonly target: TextTokenizer;

  /**
   * `json` is the parsed tokenizer.json, or its field that is a tokenizer. Throws "format" and "unsupported" errors
   * that name the field.
   */
  constructor(json: object, kinds: StepKinds) {
    const root = json instanceof Field ? json : new Field(json);
    this.#normalizer = makeNormalizer(root.at("normalizer"), kinds.normalizers);
    this.#preTokenizer = makePreTokenizer(root.at("pre_tokenizer"), kinds.preTokenizers);
    this.#model = makeModel(root.at("model"), kinds.models);
    this.#postProcessor = makePostProcessor(root.at("post_processor"));
    this.#added = new AddedTokens(root.at("added_tokens"), this.#model.vocabulary, this.#normalizer);
    const steps = stepsOf(root.at("decoder"), "decoders");
    const decoders = steps.map((step) => step.at("type").text());
    this.#isByteLevel = decoders.includes("ByteLevel");
    this.#stripsFirstSpace = decoders.includes("Strip") || decoders.includes("Metaspace");
    this.#removed = steps
      .filter((step) => step.at("type").text() === "Replace" && step.at("content").text() === "")
      .map((step) => step.at("pattern").at("String").text(""));
    const target = root.at("target_tokenizer");
    if (json instanceof Field && !target.isNull) target.fail("none inside of another");
    this.target = target.isNull ? this : new TextTokenizer(target, kinds);
  }

  /** Encodes a text with the special tokens that the tokenizer's post-processor adds, unless the text continues an earlier one. */
  encode(text: string, isFirst = true): Encoded {
    const own = this.#idsOf(text);
    const ids = isFirst ? this.#postProcessor([own]).ids : own;
    return { ids, tokens: this.pieces(ids) };
  }

  /** Encodes two texts as the post-processor joins them. */
  encodePair(text: string, pair: string): Encoded {
    const { ids, segments } = this.#postProcessor([this.#idsOf(text), this.#idsOf(pair)]);
    return { ids, tokens: this.pieces(ids), segments };
  }

  #idsOf(given: string): number[] {
    const text = wellFormed(given);
    const bytes = byteLength(text);
    if (bytes > kMaxText) throw wrong("memory", "text", `${bytes} bytes`, `at most ${kMaxText}`, "has");
    const steps = new Steps(bytes);
    const ids: number[] = [];
    for (const section of this.#added.split({ text, isFirst: true }, false)) {
      if (section.id === undefined) this.#encodeSection(section, steps, ids);
      else ids.push(section.id);
    }
    return ids;
  }

  /** Encodes the text between two added tokens of the original text. */
  #encodeSection(section: Section, steps: Steps, ids: number[]): void {
    const { text, keepsFirst } = this.#normalizer(section.text, steps);
    for (const part of this.#added.split({ text, isFirst: section.isFirst && keepsFirst }, true)) {
      if (part.id !== undefined) {
        ids.push(part.id);
        continue;
      }
      for (const word of this.#preTokenizer([part], steps)) this.#model.encode(word.text, ids, steps);
    }
  }

  /** Returns what each id stands for: pieces that join to the text, special tokens by their names, and ⟨id⟩ for an id without a token. */
  pieces(ids: readonly number[]): string[] {
    const firstText = ids.findIndex((id) => this.#added.tokenOf(id) === undefined);
    return ids.map((id, i) => {
      const piece = this.piece(id);
      return i === firstText && this.#stripsFirstSpace && piece.length > 1 && piece.startsWith(" ") ? piece.slice(1) : piece;
    });
  }

  /** Returns what an id stands for in the middle of a text. */
  piece(id: number): string {
    const added = this.#added.tokenOf(id);
    if (added !== undefined) return added;
    const token = this.#model.vocabulary.tokenOf(id);
    return token === undefined ? `⟨${id}⟩` : this.#pieceOf(token);
  }

  #pieceOf(token: string): string {
    if (this.#isByteLevel) {
      const bytes = bytesOfLetters(token);
      return bytes ? visible(bytes) : token;
    }
    const byte = byteOfName(token);
    if (byte !== undefined) return visible(Uint8Array.of(byte));
    return this.#removed.reduce((piece, part) => piece.replaceAll(part, ""), token).replaceAll("▁", " ");
  }
}
