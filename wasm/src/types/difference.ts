// SPDX-License-Identifier: Apache-2.0
/** The differences of two runs. */
import type { PredictionChanges } from "./explanations.js";
import type { DifferenceMapOptions, PredictionChangesOptions } from "./options/explanations.js";
import type { Maybe, Tensor } from "./tensors.js";

/**
 * The differences of two runs a and b: of two texts, of one text before and after a change, or of two models that read the same tokens. Tokens of the
 * one correspond to tokens of the other along a longest common subsequence. It outlives both runs.
 */
export interface Difference extends Disposable {
  /** The positions [in a, in b] of tokens that are the same. */
  readonly pairs: readonly (readonly [number, number])[];
  /** The same of the sources, where both runs are of encoder–decoders; `pairs` are those of their targets then. */
  readonly sourcePairs?: readonly (readonly [number, number])[];
  /**
   * Returns the weights of b less those of a, [rows, pairs], where the query of row i and the key of column j are pairs i and j. Of an encoder–decoder's
   * heads, keys of the cross-attention, and queries and keys of the encoder, are in `sourcePairs`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const a = model.attend("The cat sat on the mat."), b = model.attend("The dog sat on the mat.");
   * engine.difference(a, b).map(1, 3).shape // → [7, 7]
   */
  map(layer: number, head: number, options?: Maybe<DifferenceMapOptions>): Tensor;
  /**
   * Returns KL(a ‖ b) of the next-token predictions at each pair, in nats: how surprised b would be by what a expects. One number for classifiers of
   * pictures.
   * @example
   * const model = await engine.loadModel("tiny");
   * const a = model.attend("The cat sat on the mat."), b = model.attend("The dog sat on the mat.");
   * const { data } = engine.difference(a, b).divergences();
   * data[0] === 0 && data[2] > 0 // → true
   */
  divergences(): Tensor;
  /**
   * Lists the tokens whose probability grew and fell most at one pair.
   * @example
   * const model = await engine.loadModel("tiny");
   * const a = model.attend("The cat sat on the mat."), b = a.again({ temperature: 2 });
   * const { likelier } = engine.difference(a, b).predictionChanges({ pair: 3, top: 5 });
   * likelier.length === 5 && likelier[0].after > likelier[0].before // → true
   */
  predictionChanges(options?: Maybe<PredictionChangesOptions>): PredictionChanges;
  dispose(): void;
}
