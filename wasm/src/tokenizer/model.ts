// SPDX-License-Identifier: Apache-2.0
/** Models, which turn words into tokens. */
import { makeBpe } from "./bpe.js";
import { type Field, type Kinds, make } from "./fields.js";
import { makeUnigram } from "./unigram.js";
import type { Steps } from "./steps.js";
import type { Vocabulary } from "./vocabulary.js";
import { makeWordLevel, makeWordPiece } from "./word-piece.js";

export interface Model {
  readonly vocabulary: Vocabulary;
  /** Appends the ids of a word's tokens. Throws when the vocabulary cannot express the word, and when it takes more than `steps`. */
  encode(word: string, ids: number[], steps: Steps): void;
}

const kKinds: Kinds<Model> = { BPE: makeBpe, Unigram: makeUnigram, WordLevel: makeWordLevel, WordPiece: makeWordPiece };

/** Makes the model of tokenizer.json's "model". */
export function makeModel(field: Field): Model {
  if (!field.at("type").isNull) return make(kKinds, field);
  // The first versions of the library do not write a type.
  if (!field.at("merges").isNull) return makeBpe(field);
  if (Array.isArray(field.at("vocab").value)) return makeUnigram(field);
  if (!field.at("continuing_subword_prefix").isNull) return makeWordPiece(field);
  return field.at("type").fail(`one of ${Object.keys(kKinds).join(", ")}`);
}
