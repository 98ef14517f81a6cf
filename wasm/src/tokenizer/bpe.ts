// SPDX-License-Identifier: Apache-2.0
import { kFiles } from "../files/names.js";
import { show, wrong } from "../module/failures.js";
import { byteName } from "./byte-letters.js";
import { affixOf, type Field } from "./fields.js";
import type { Model } from "./model.js";
import { Vocabulary } from "./vocabulary.js";

/** A pair of tokens becomes one. In each word, the pair with the lowest rank is merged first. */
interface Merge {
  readonly rank: number;
  readonly merged: number; // the place of a token in the vocabulary, as all tokens are given here
}

const kNone = -1;
const kMaxSymbols = 2 ** 26; // no text has as many

/** Numbers, of which the smallest comes out first. */
class Queue {
  readonly #heap: number[] = [];

  push(value: number): void {
    const heap = this.#heap;
    let at = heap.push(value) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as number) <= value) break;
      heap[at] = heap[parent] as number;
      at = parent;
    }
    heap[at] = value;
  }

  pop(): number | undefined {
    const heap = this.#heap;
    const [top, last] = [heap[0], heap.pop()];
    if (last !== undefined && heap.length > 0) this.#sink(last);
    return top;
  }

  #sink(value: number): void {
    const heap = this.#heap;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) ++child;
      if ((heap[child] as number) >= value) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = value;
  }
}

/** Byte-pair encoding (Sennrich et al. 2016): merges pairs in the order of the list. */
class Bpe implements Model {
  readonly vocabulary: Vocabulary;
  readonly #prefix: string;
  readonly #suffix: string;
  readonly #fusesUnknown: boolean;
  readonly #ignoresMerges: boolean;
  readonly #unknown: string | undefined;
  readonly #bytes: readonly (number | undefined)[];
  readonly #merges = new Map<number, Merge>();

  constructor(field: Field) {
    this.#prefix = affixOf(field.at("continuing_subword_prefix"), "");
    this.#suffix = affixOf(field.at("end_of_word_suffix"), "");
    this.#fusesUnknown = field.at("fuse_unk").flag(false);
    this.#ignoresMerges = field.at("ignore_merges").flag(false);
    const dropout = field.at("dropout");
    if (!dropout.isNull && dropout.value !== 0) dropout.refuse("none");
    this.vocabulary = Vocabulary.of(field.at("vocab"));
    const unknown = field.at("unk_token");
    this.#unknown = unknown.isNull ? undefined : unknown.text();
    const hasBytes = field.at("byte_fallback").flag(false);
    this.#bytes = Array.from({ length: hasBytes ? 256 : 0 }, (_, byte) => this.vocabulary.placeOf(byteName(byte)));
    const merges = field.at("merges");
    for (let rank = 0; rank < merges.items().length; ++rank) this.#readMerge(merges.element(rank), rank);
  }

  /** Reads "left right" or ["left", "right"]. A pair that is listed twice has the rank of its last place. */
  #readMerge(pair: Field, rank: number): void {
    const parts: unknown = typeof pair.value === "string" ? pair.value.split(" ", 3) : pair.value;
    if (!Array.isArray(parts) || parts.length !== 2) return pair.fail('two tokens: "a b" or ["a", "b"]');
    const [left, right] = (parts as unknown[]).map((part, i) => typeof part === "string" ? part : pair.element(i).text());
    if (left === undefined || !right?.startsWith(this.#prefix)) {
      return pair.fail(`a second token that starts with ${show(this.#prefix)}`);
    }
    const key = this.#key(this.#placeIn(pair, left), this.#placeIn(pair, right));
    this.#merges.set(key, { rank, merged: this.#placeIn(pair, left + right.slice(this.#prefix.length)) });
  }

  #placeIn(pair: Field, token: string): number {
    const place = this.vocabulary.placeOf(token);
    if (place !== undefined) return place;
    throw wrong("format", `${kFiles.tokenizer}: ${pair.name}`, show(token), "a token of model.vocab", "needs");
  }

  #key(left: number, right: number): number {
    return left * this.vocabulary.size + right;
  }

  encode(word: string, ids: number[]): void {
    const whole = this.#ignoresMerges ? this.vocabulary.find(word) : undefined;
    if (whole === undefined) this.#mergeAll(this.#symbolsOf(word), ids);
    else ids.push(whole);
  }

  #unknownOf(character: string): number {
    const place = this.vocabulary.placeOf(this.#unknown ?? "");
    if (place !== undefined) return place;
    throw wrong("value", "text", show(character), "characters of model.vocab, which lacks model.unk_token", "has");
  }

  /**
   * Makes one symbol for each character. A character that is not in the vocabulary becomes its bytes or the unknown token; without either it
   * is left out, as in Hugging Face's library.
   */
  #symbolsOf(word: string): number[] {
    const symbols: number[] = [];
    let unknown = ""; // a character whose unknown token still has to be added
    let end = 0;
    for (const character of word) {
      const start = end;
      end += character.length;
      const token = `${start > 0 ? this.#prefix : ""}${character}${end === word.length ? this.#suffix : ""}`;
      const place = this.vocabulary.placeOf(token);
      const bytes = place === undefined ? this.#bytesOf(token) : undefined;
      if (place !== undefined) {
        if (unknown !== "") symbols.push(this.#unknownOf(unknown));
        unknown = "";
        symbols.push(place);
      } else if (bytes) {
        symbols.push(...bytes);
      } else if (this.#unknown !== undefined) {
        if (unknown !== "" && !this.#fusesUnknown) symbols.push(this.#unknownOf(unknown));
        unknown = character;
      }
    }
    if (unknown !== "") symbols.push(this.#unknownOf(unknown));
    return symbols;
  }

  /** Returns the tokens of all bytes, if the vocabulary has them. */
  #bytesOf(token: string): number[] | undefined {
    const bytes = Array.from(new TextEncoder().encode(token), (byte) => this.#bytes[byte]);
    const all = bytes.filter((place) => place !== undefined);
    return all.length === bytes.length ? all : undefined;
  }

  /** Merges pairs in O(n log n): each merge removes one symbol and adds at most two candidates. */
  #mergeAll(symbols: number[], ids: number[]): void {
    const next = symbols.map((_, i) => i + 1 < symbols.length ? i + 1 : kNone);
    const previous = symbols.map((_, i) => i - 1);
    const mergeAt = (at: number): Merge | undefined => {
      const right = at < 0 ? kNone : next[at] as number;
      return right < 0 ? undefined : this.#merges.get(this.#key(symbols[at] as number, symbols[right] as number));
    };
    const queue = new Queue();
    const consider = (at: number): void => {
      const merge = mergeAt(at);
      if (merge) queue.push(merge.rank * kMaxSymbols + at);
    };
    symbols.forEach((_, at) => consider(at));
    for (let top = queue.pop(); top !== undefined; top = queue.pop()) {
      const at = top % kMaxSymbols;
      const merge = symbols[at] === kNone ? undefined : mergeAt(at);
      if (merge?.rank !== Math.floor(top / kMaxSymbols)) continue; // a symbol has changed since
      const right = next[at] as number, after = next[right] as number;
      symbols[at] = merge.merged;
      symbols[right] = kNone;
      next[at] = after;
      if (after >= 0) previous[after] = at;
      consider(previous[at] as number);
      consider(at);
    }
    for (const place of symbols) if (place !== kNone) ids.push(this.vocabulary.idAt(place));
  }
}

export function makeBpe(field: Field): Model {
  return new Bpe(field);
}
