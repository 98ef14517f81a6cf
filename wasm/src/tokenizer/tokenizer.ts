// SPDX-License-Identifier: Apache-2.0
/** Text becomes token ids, and ids become what each position shows. Hugging Face's library does the tokenizing itself. */
import { Tokenizer } from "@huggingface/tokenizers";
import { kFiles } from "../files/names.js";
import { messageOf, wrong } from "../module/failures.js";
import { HeadlensError } from "../types/errors.js";
import { checkTokenizer } from "./tokenizer-json.js";

interface DecoderJson {
  readonly type?: string;
  readonly decoders?: readonly DecoderJson[];
}

function steps(decoder: DecoderJson | null | undefined): string[] {
  if (!decoder) return [];
  return decoder.type === "Sequence" ? (decoder.decoders ?? []).flatMap(steps) : [decoder.type ?? ""];
}

/** Byte-level vocabularies write each byte as one printable character: itself if it is printable in Latin-1, else the next from U+0100. */
const kByteOf: ReadonlyMap<string, number> = (() => {
  const map = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; ++byte) {
    const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    map.set(String.fromCodePoint(isPrintable ? byte : next++), byte);
  }
  return map;
})();

const kUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the length of the UTF-8 sequence that starts at `bytes[at]`, and 0 when none does. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  const length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  const rest = bytes.subarray(at + 1, at + length);
  return rest.length === length - 1 && rest.every((byte) => (byte & 0xc0) === 0x80) ? length : 0;
}

/** Returns the text of the bytes. A byte that belongs to a character shared with a neighbouring token shows as ⟨E2⟩. */
function visible(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    try {
      if (length === 0) throw new RangeError("not a whole character");
      text += kUtf8.decode(bytes.subarray(at, at + length));
      at += length;
    } catch {
      text += byteMark(bytes[at++] ?? 0);
    }
  }
  return text;
}

function byteMark(byte: number): string {
  return `⟨${byte.toString(16).toUpperCase().padStart(2, "0")}⟩`;
}

export interface Encoded {
  readonly ids: number[];
  readonly tokens: string[];
  /** Each token is of the first (0) or of the second text (1). */
  readonly segments?: number[] | undefined;
}

/** Turns exceptions of the library into errors of ours, such as one about a regular expression that JavaScript cannot read. */
function usable<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const [argument, expected] = [kFiles.tokenizer, "one that @huggingface/tokenizers reads"];
    throw new HeadlensError("unsupported", `${argument}: it cannot be used (${messageOf(error)})`, { cause: error, argument, expected });
  }
}

export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #added: ReadonlyMap<number, string>;
  readonly #isByteLevel: boolean;
  readonly #stripsFirstSpace: boolean;

  /** `json` is the parsed tokenizer.json. */
  constructor(json: object) {
    const { file, config } = checkTokenizer(json);
    this.#tokenizer = usable(() => new Tokenizer(file, config));
    this.#added = new Map([...this.#tokenizer.get_added_tokens_decoder()].map(([id, token]) => [id, token.content]));
    const decoders = steps((json as { decoder?: DecoderJson }).decoder);
    this.#isByteLevel = decoders.includes("ByteLevel");
    this.#stripsFirstSpace = decoders.includes("Strip") || decoders.includes("Metaspace");
  }

  /** Encodes a text with the special tokens that the tokenizer's post-processor adds, unless the text continues an earlier one. */
  encode(text: string, isFirst = true): Encoded {
    return this.#checked(usable(() => this.#tokenizer.encode(text, { add_special_tokens: isFirst })).ids);
  }

  /** Encodes two texts as the post-processor joins them. */
  encodePair(text: string, pair: string): Encoded {
    const options = { text_pair: pair, return_token_type_ids: true };
    const { ids, token_type_ids } = usable(() => this.#tokenizer.encode(text, options));
    return { ...this.#checked(ids), segments: token_type_ids };
  }

  #checked(ids: number[]): Encoded {
    const at = ids.findIndex((id) => !Number.isInteger(id));
    if (at >= 0) throw wrong("value", "text", `token ${at} outside the vocabulary`, "tokens of the vocabulary, which has none for unknown words", "has");
    return { ids, tokens: this.pieces(ids) };
  }

  /** Returns what each id stands for: pieces that join to the text, special tokens by their names, and ⟨id⟩ for an id without a token. */
  pieces(ids: readonly number[]): string[] {
    const firstText = ids.findIndex((id) => !this.#added.has(id));
    return ids.map((id, i) => {
      const piece = this.piece(id);
      return i === firstText && this.#stripsFirstSpace && piece.length > 1 && piece.startsWith(" ") ? piece.slice(1) : piece;
    });
  }

  /** Returns what an id stands for in the middle of a text. */
  piece(id: number): string {
    const token = this.#added.get(id) ?? this.#tokenizer.id_to_token(id);
    if (token === undefined) return `⟨${id}⟩`;
    return this.#added.has(id) ? token : this.#piece(token);
  }

  #piece(token: string): string {
    if (this.#isByteLevel) {
      const bytes = [...token].map((char) => kByteOf.get(char));
      return bytes.includes(undefined) ? token : visible(Uint8Array.from(bytes as number[]));
    }
    return token.replaceAll("▁", " ").replace(/^<0x([0-9A-F]{2})>$/, (_, hex: string) => visible(Uint8Array.of(parseInt(hex, 16))));
  }
}
