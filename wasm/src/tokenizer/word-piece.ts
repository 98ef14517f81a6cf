// SPDX-License-Identifier: Apache-2.0
import { show, wrong } from "../module/failures.js";
import { affixOf, type Field } from "./fields.js";
import type { Model } from "./model.js";
import type { Steps } from "./steps.js";
import { Vocabulary } from "./vocabulary.js";

const kMaxCharacters = 1000; // the longest word, since finding its tokens takes quadratic time
const kUsualCharacters = 100;

/** Models that know some words, and have one token for all others. */
class Words {
  readonly vocabulary: Vocabulary;
  readonly #unknown: string;

  constructor(field: Field) {
    this.#unknown = field.at("unk_token").text();
    this.vocabulary = Vocabulary.of(field.at("vocab"));
  }

  unknown(word: string): number {
    const expected = `words of model.vocab, which lacks model.unk_token, ${show(this.#unknown)}`;
    const id = this.vocabulary.find(this.#unknown);
    if (id === undefined) throw wrong("value", "text", show(word), expected, "has");
    return id;
  }
}

/** Takes the longest token that fits, from left to right (Schuster & Nakajima 2012, in BERT's version). */
export function makeWordPiece(field: Field): Model {
  const words = new Words(field);
  const { vocabulary } = words;
  const prefix = affixOf(field.at("continuing_subword_prefix"), "##");
  const most = field.at("max_input_chars_per_word");
  const maxCharacters = most.isNull ? kUsualCharacters : most.whole(0, kMaxCharacters);

  /** Returns the longest token with which `word` continues at `at`, and its end. */
  const longestAt = (word: string, at: number, steps: Steps): { id: number; end: number } | undefined => {
    const before = at > 0 ? prefix : "";
    for (let end = Math.min(word.length, at + vocabulary.longest - before.length); end > at; --end) {
      if ((word.charCodeAt(end) & 0xfc00) === 0xdc00) continue; // the middle of a character
      steps.takePass(end - at, 1);
      const id = vocabulary.find(before + word.slice(at, end));
      if (id !== undefined) return { id, end };
    }
    return undefined;
  };

  const piecesOf = (word: string, steps: Steps): number[] | undefined => {
    const pieces: number[] = [];
    if (word.length > 2 * maxCharacters || [...word].length > maxCharacters) return undefined;
    for (let at = 0; at < word.length;) {
      const next = longestAt(word, at, steps);
      if (!next) return undefined;
      pieces.push(next.id);
      at = next.end;
    }
    return pieces.length > 0 ? pieces : undefined;
  };
  return {
    vocabulary,
    encode: (word, ids, steps) => void ids.push(...piecesOf(word, steps) ?? [words.unknown(word)]),
  };
}

/** Takes whole words. */
export function makeWordLevel(field: Field): Model {
  const words = new Words(field);
  const { vocabulary } = words;
  return { vocabulary, encode: (word, ids) => void ids.push(vocabulary.find(word) ?? words.unknown(word)) };
}
