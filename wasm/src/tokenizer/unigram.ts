// SPDX-License-Identifier: Apache-2.0
import { show, wrong } from "../module/failures.js";
import { byteName } from "./byte-letters.js";
import type { Field } from "./fields.js";
import type { Model } from "./model.js";
import { byteLength, codeAt, unitsOf } from "./unicode.js";
import { Vocabulary } from "./vocabulary.js";

const kMaxToken = 256; // in bytes; the time is the text's size times that of the longest token
const kUnknown = -1;
const kUnknownPenalty = 10; // below the least likely token

/** Some neighbours in a sorted list of tokens. */
interface Span {
  readonly begin: number;
  readonly end: number;
}

/** Tokens in the order of their units of UTF-16, so that those that begin alike are neighbours. */
class SortedTokens {
  readonly #tokens: readonly string[];

  constructor(vocabulary: Vocabulary) {
    this.#tokens = [...vocabulary.tokens()].sort();
  }

  get all(): Span {
    return { begin: 0, end: this.#tokens.length };
  }

  /** Returns the tokens of `span`, which have the same `length` units first, that go on with `unit`. */
  narrowed(span: Span, length: number, unit: number): Span {
    const begin = this.#firstFrom(span, length, unit);
    return { begin, end: this.#firstFrom({ begin, end: span.end }, length, unit + 1) };
  }

  /** Returns the first token that is no longer than `length`, which is the first of those that begin alike. */
  ofLength({ begin, end }: Span, length: number): string | undefined {
    const token = begin < end ? this.#tokens[begin] : undefined;
    return token?.length === length ? token : undefined;
  }

  #firstFrom({ begin, end }: Span, length: number, unit: number): number {
    let [low, high] = [begin, end];
    while (low < high) {
      const middle = (low + high) >> 1;
      const token = this.#tokens[middle] ?? "";
      if (token.length > length && token.charCodeAt(length) >= unit) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** The best tokenization of the text up to some place, given by its last token. */
interface Node {
  readonly id: number;
  readonly score: number;
  readonly begin: number;
}

type Offer = (id: number, score: number, end: number) => void;

/** Takes the most likely sequence of tokens (Kudo 2018). */
class Unigram implements Model {
  readonly vocabulary = new Vocabulary();
  readonly #scores: number[] = [];
  readonly #sorted: SortedTokens;
  readonly #unknown: number | undefined;
  readonly #unknownScore: number;
  readonly #bytes: readonly (number | undefined)[];

  constructor(field: Field) {
    const list = field.at("vocab");
    if (list.items().length === 0) list.fail("a list of tokens and their scores");
    for (let i = 0; i < list.items().length; ++i) this.#readToken(list.element(i));
    const unknown = field.at("unk_id");
    this.#unknown = unknown.isNull ? undefined : unknown.whole(0, this.#scores.length - 1);
    this.#unknownScore = this.#scores.reduce((least, score) => Math.min(least, score)) - kUnknownPenalty;
    this.#sorted = new SortedTokens(this.vocabulary);
    const hasBytes = field.at("byte_fallback").flag(false);
    this.#bytes = Array.from({ length: hasBytes ? 256 : 0 }, (_, byte) => this.vocabulary.find(byteName(byte)));
  }

  #readToken(entry: Field): void {
    const name = entry.element(0), score = entry.element(1);
    if (byteLength(name.text()) > kMaxToken) name.refuse(`tokens of up to ${kMaxToken} bytes`);
    if (!Number.isFinite(score.value)) score.fail("a number");
    this.vocabulary.add(name.text(), this.#scores.length);
    this.#scores.push(score.value as number);
  }

  encode(word: string, ids: number[]): void {
    const nodes = this.#bestPath(word);
    const path: { node: Node; end: number }[] = [];
    for (let end = word.length; end > 0;) {
      const node = nodes[end] as Node;
      path.push({ node, end });
      end = node.begin;
    }
    for (let i = path.length - 1; i >= 0; --i) {
      const { node } = path[i] as { node: Node };
      // Adjacent unknown characters form one unknown piece.
      while (node.id === kUnknown && i > 0 && path[i - 1]?.node.id === kUnknown) --i;
      if (node.id === kUnknown) this.#appendUnknown(word.slice(node.begin, path[i]?.end), ids);
      else ids.push(node.id);
    }
  }

  /** Finds the best tokenization (Viterbi's algorithm): nodes[end] is the best one up to there. */
  #bestPath(word: string): (Node | undefined)[] {
    const nodes: (Node | undefined)[] = new Array<Node | undefined>(word.length + 1);
    for (let at = 0; at < word.length;) {
      const units = unitsOf(codeAt(word, at));
      const before = nodes[at]?.score ?? 0;
      const offer: Offer = (id, score, end) => {
        const node = nodes[end];
        if (!node || before + score > node.score) nodes[end] = { id, score: before + score, begin: at };
      };
      if (!this.#offerTokens(word, at, at + units, offer)) offer(kUnknown, this.#unknownScore, at + units);
      at += units;
    }
    return nodes;
  }

  /** Offers all tokens that come next. Returns true when the character up to `characterEnd` is one of them. */
  #offerTokens(word: string, at: number, characterEnd: number, offer: Offer): boolean {
    let hasCharacter = false;
    let span = this.#sorted.all;
    for (let end = at; end < word.length;) {
      span = this.#sorted.narrowed(span, end - at, word.charCodeAt(end));
      if (span.begin === span.end) break;
      ++end;
      const token = this.#sorted.ofLength(span, end - at);
      if (token === undefined) continue;
      const id = this.vocabulary.find(token) as number;
      offer(this.#isUnknown(id) ? kUnknown : id, this.#scores[id] as number, end);
      hasCharacter ||= end === characterEnd;
    }
    return hasCharacter;
  }

  #isUnknown(id: number): boolean {
    return id === this.#unknown;
  }

  /** A run of unknown characters may be a token itself; otherwise its bytes are used. */
  #appendUnknown(piece: string, ids: number[]): void {
    const known = this.vocabulary.find(piece);
    if (known !== undefined) return void ids.push(known);
    const bytes = Array.from(new TextEncoder().encode(piece), (byte) => this.#bytes[byte]);
    const all = bytes.filter((id) => id !== undefined);
    if (all.length === bytes.length) {
      for (const id of all) ids.push(id);
    } else if (this.#unknown === undefined) {
      throw wrong("value", "text", show(piece), "tokens of model.vocab, since there is no model.unk_id", "has");
    } else {
      ids.push(this.#unknown);
    }
  }
}

export function makeUnigram(field: Field): Model {
  return new Unigram(field);
}
