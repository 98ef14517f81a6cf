// SPDX-License-Identifier: Apache-2.0
/** Tokenizers of all kinds. */
import { makeBpe } from "./bpe.js";
import { kNormalizers } from "./normalizers.js";
import { kPreTokenizers } from "./pre-tokenizers.js";
import { type StepKinds, TextTokenizer } from "./tokenizer.js";
import { makeUnigram } from "./unigram.js";
import { makeWordLevel, makeWordPiece } from "./word-piece.js";

const kAll: StepKinds = {
  models: { BPE: makeBpe, Unigram: makeUnigram, WordLevel: makeWordLevel, WordPiece: makeWordPiece },
  normalizers: kNormalizers,
  preTokenizers: kPreTokenizers,
};

/** Makes the tokenizer of a parsed tokenizer.json. Throws "format" and "unsupported" errors that name the field. */
export function makeTokenizer(json: object): TextTokenizer {
  return new TextTokenizer(json, kAll);
}
