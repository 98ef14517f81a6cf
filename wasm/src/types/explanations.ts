// SPDX-License-Identifier: Apache-2.0
/**
 * Explanations of a run: why a head looks where it looks, what it writes, and what each part of the model adds to a logit.
 *
 * Before each layer, the residual stream of a token is a sum of parts: its embeddings, and what every earlier head and feed-forward network wrote.
 * With the norms' divisions frozen at their actual values, scores, outputs and logits are exact sums over these parts (Elhage et al. 2021, "A
 * Mathematical Framework for Transformer Circuits").
 */
import type { PatchOptions } from "./options/explanations.js";
import type { Tensor } from "./tensors.js";

/** A part of a residual stream. */
export interface StreamPart {
  /**
   * - `token`, `position`, `segment`: the embeddings; for a patch, its projection without the bias.
   * - `head`, `feedForward`: what an earlier layer wrote, without biases of the layer.
   * - `cross`: what an earlier head of an encoder–decoder's cross-attention wrote into the decoder's stream.
   * - `bias`: what the biases of all earlier layers wrote.
   * - `norm`: the shifts β of the norms.
   * - `projection`: the bias of the projection that is looked at, of queries, keys, values or logits.
   */
  kind: "token" | "position" | "segment" | "head" | "cross" | "feedForward" | "bias" | "norm" | "projection";
  /** The layer of a head, of either attention, or of a feed-forward network. */
  layer?: number;
  head?: number;
}

/** The stages after the scaled score, in their order. */
export type ScoreStep = "cappedScores" | "biasedScores" | "maskedScores" | "weights";

/** The score of one cell, or how much it exceeds that of another key of its row: then all numbers are differences. */
export interface CellExplanation {
  /** scale · q·k, before soft cap, biases and masks. */
  score: number;
  /** [queryParts, keyParts]: scale · (part of the query) · (part of the key), after rotation in models that rotate. They sum to the score. */
  terms: Tensor;
  queryParts: StreamPart[];
  keyParts: StreamPart[];
  /** The values that the score takes on its way to the weight. Masked scores are -Infinity. */
  steps: Record<ScoreStep, number>;
}

/** The scores of one row. */
export interface RowExplanation {
  /** [T]: scale · q·k for each key, before soft cap, biases and masks. */
  scores: Tensor;
  /** [queryParts, T]; each column sums to the key's score. */
  byQuery: Tensor;
  /** [keyParts, T]; each column sums to the key's score. */
  byKey: Tensor;
  queryParts: StreamPart[];
  keyParts: StreamPart[];
  /** [T] each. */
  steps: Record<ScoreStep, Tensor>;
}

/** The parts of keys that a head copies. */
export interface OutputExplanation {
  parts: StreamPart[];
  /** [D]: what the head writes for the query. */
  written: Tensor;
  /** [parts, T]: how far each part of each key moves the output in the direction of what is written. They sum to its length. */
  terms: Tensor;
}

/** The parts that a head's queries and keys are made of, and those that it copies, over a whole text. */
export interface HeadSources {
  queryParts: StreamPart[];
  keyParts: StreamPart[];
  valueParts: StreamPart[];
  /** [queryParts]: how much a part raises the scores of the keys that are looked at above those of all visible keys, summed over the queries. */
  query: Tensor;
  /** [keyParts]: the same for the parts of keys. */
  key: Tensor;
  /** [valueParts]: the sums of the terms of `explainOutput`. */
  value: Tensor;
}

export interface TokenLogit {
  id: number;
  /** The token's text; for a classifier of pictures the label's name, or its number where it has none. */
  token: string;
  logit: number;
}

export interface Prediction extends TokenLogit {
  probability: number;
}

/** The tokens that a head makes likelier and less likely by what it adds directly to the logits, with the final norm's division frozen. */
export interface WrittenTokens {
  likelier: TokenLogit[];
  lessLikely: TokenLogit[];
}

export interface LogitContributions {
  /** The tokens whose logits are explained. */
  tokens: TokenLogit[];
  parts: StreamPart[];
  /** [parts, tokens]; each column sums to the logit. */
  terms: Tensor;
}

/** A head of a model. */
export interface HeadPlace {
  layer: number;
  head: number;
}

/** A path of two heads: the later one reads what the earlier one wrote (composition, Elhage et al. 2021). */
export interface HeadPath {
  earlier: HeadPlace;
  later: HeadPlace;
  /** The later head reads it with these. */
  kind: "query" | "key" | "value";
  /** The earlier head's part of `sources` of the later head, divided by the sum over all parts; null when that is 0. */
  share: number | null;
  /** The composition score of the two heads, from their weights alone (`engine.compositionScores`); null when one writes nothing. */
  weights: number | null;
  /** For paths ranked as induction circuits: the metric `previous` of the earlier head, `inductionText` of the later one, and previous · induction · share. */
  previous?: number;
  induction?: number;
  score?: number;
}

/** A token whose probability differs between two runs. */
export interface PredictionChange {
  id: number;
  token: string;
  /** ln p of the second run less ln p of the first. */
  change: number;
  before: number;
  after: number;
}

/** The tokens whose probability grew and fell most. */
export interface PredictionChanges {
  likelier: PredictionChange[];
  lessLikely: PredictionChange[];
}

/** Outputs that take the place of a head's own (activation patching, Vig et al. 2020). */
export interface HeadPatch {
  layer: number;
  head: number;
  /** The head's attention, in an encoder–decoder. Default "decoder". */
  attention?: "decoder" | "encoder" | "cross";
  /** The tokens at which outputs are replaced, which of the encoder's heads are those of the source. */
  positions: readonly number[];
  /** [positions, d]: outputs before the output projection. */
  output: Tensor;
}

/** A head of a run, whose outputs make a patch. */
export interface PatchSource<Attention> extends PatchOptions {
  /** The run that the outputs come from. It has kept its parts (`keepParts`). */
  from: Attention;
}
