// SPDX-License-Identifier: Apache-2.0
/** Models, which turn words into tokens. */
import { type Field, type Kinds, make } from "./fields.js";
import type { Steps } from "./steps.js";
import type { Vocabulary } from "./vocabulary.js";

export interface Model {
  readonly vocabulary: Vocabulary;
  /** Appends the ids of a word's tokens. Throws when the vocabulary cannot express the word, and when it takes more than `steps`. */
  encode(word: string, ids: number[], steps: Steps): void;
}

/** The first versions of the library do not write a type. */
function kindOf(field: Field): string | undefined {
  if (!field.at("merges").isNull) return "BPE";
  if (Array.isArray(field.at("vocab").value)) return "Unigram";
  return field.at("continuing_subword_prefix").isNull ? undefined : "WordPiece";
}

/** Makes the model of tokenizer.json's "model", which is of one of these kinds. */
export function makeModel(field: Field, kinds: Kinds<Model>): Model {
  const kind = field.at("type").isNull ? kinds[kindOf(field) ?? ""] : undefined;
  if (kind) return kind(field);
  return field.at("type").isNull ? field.at("type").fail(`one of ${Object.keys(kinds).join(", ")}`) : make(kinds, field);
}
