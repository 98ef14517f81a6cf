// SPDX-License-Identifier: Apache-2.0
/**
 * Analyses put heads into numbers: what kind of head made a map, what its weights carry, what it does by its parameters. They are of one
 * text: where results of attention have a batch dimension, it must be 1. Values that are not defined are null, never NaN.
 */
import type {
  CircuitsOptions, CompositionOptions, FlowOptions, HeadMetricsOptions, HeadSimilarityOptions, MapMasks, MixingOptions,
  RolloutOptions, T5BucketOptions, ValueZeroingOptions, WeightedMapOptions,
} from "./options/analyses.js";
import type { StateDict } from "./state-dict.js";
import type { Maybe, Tensor, TensorLike } from "./tensors.js";
import type { MetricName, ModelMetricName } from "./vocabulary.js";

export interface MetricInfo {
  name: MetricName | ModelMetricName;
  /** This must be known of the map for it to have a value, or the model must be there. */
  needs: ("tokens" | "repeat" | "special" | "patches" | "model")[];
  formula: string;
  /** The work that defined it. */
  source: string;
}

/** This is lost without a head. */
export interface HeadImportance {
  /** This is ‖out − out without the head‖ / ‖out‖, an exact ablation. */
  outputChange: number | null;
  /** The norm of what the head adds, as a part of all heads' together. */
  normShare: number | null;
  /** The cosine of what the head adds with the layer's output. */
  cosine: number | null;
}

export interface PruningStep {
  /** This head is removed in this step. */
  head: number;
  /** This is ‖out − out without all heads removed so far‖ / ‖out‖. */
  change: number;
}

export interface Spectrum {
  /** [real, imaginary] of d eigenvalues, the largest modulus first. Of a full circuit at most min(d, V) are not 0, but for rounding. */
  eigenvalues: [number, number][];
  /** Σλ / Σ|λ|, −1 to 1; of the full OV circuit, 1 says that the head copies. Null when all are 0. */
  copyingScore: number | null;
}

export interface Circuit extends Spectrum {
  /** Those that can be above 0, the largest first. */
  singularValues: number[];
}

/** A head's circuits (Elhage et al. 2021) are W_QK = W_Qᵀ W_K and W_OV = W_O W_V. The full ones are there with `embedding` only. */
export interface HeadCircuits {
  qk: Circuit;
  ov: Circuit;
  fullQk?: Spectrum;
  fullOv?: Spectrum;
}

/** Every pair of heads has its scores, [later head][earlier head], 0 to 1, and null where a circuit is 0. */
export interface CompositionScores {
  query: (number | null)[][];
  key: (number | null)[][];
  value: (number | null)[][];
}

export interface Analyses {
  /**
   * Lists all metrics, with formula and source.
   * @example
   * engine.metrics().find(({ name }) => name === "sharpness")?.formula // → "mean_i max_j A[i,j]"
   */
  metrics(): MetricInfo[];

  /**
   * Computes metrics of each head, null where not defined: those made of its entropy are null where any row does not sum to 1 (sinks, "sigmoid").
   * `weights` are [H,T,S] or [T,S], computed here or from anywhere.
   * @example
   * const weights = { data: [1, 0, 0, 1, 0, 0, 0, 1, 0], shape: [3, 3] }; // each token looks at the one before
   * const [head] = engine.headMetrics(weights, { isCausal: true, metrics: ["previous", "sharpness", "duplicateText"] });
   * head // → { previous: 1, sharpness: 1, duplicateText: null }
   */
  headMetrics<M extends MetricName = MetricName>(
    weights: TensorLike, options?: Maybe<HeadMetricsOptions<M>>,
  ): Record<M, number | null>[];

  /**
   * Counts how many rows (or other terms) each of those values is the mean of, 0 where there is none.
   * @example
   * const weights = { data: [1, 0, 0, 1, 0, 0, 0, 1, 0], shape: [3, 3] };
   * engine.headMetricCounts(weights, { isCausal: true, metrics: ["self", "previous"] }) // → [{ self: 3, previous: 2 }]
   */
  headMetricCounts<M extends MetricName = MetricName>(
    weights: TensorLike, options?: Maybe<HeadMetricsOptions<M>>,
  ): Record<M, number>[];

  /**
   * Computes Jensen–Shannon divergences between heads, in nats, summed over rows (Clark et al. 2019). weights [H,T,S] → [H,H].
   * @example
   * const weights = { data: [1, 0, 0, 1, 0, 1, 1, 0], shape: [2, 2, 2] }; // two heads that share nothing
   * const { data } = engine.headSimilarity(weights, { smoothing: 0 });
   * data // → [0, 1.3863, 1.3863, 0]
   */
  headSimilarity(weights: TensorLike, options?: Maybe<HeadSimilarityOptions>): Tensor;

  /**
   * Measures what each head adds to a layer's output (Michel et al. 2019, by exact ablation). contributions [H,T,D], as the stage
   * headContributions; output [T,D], by default their sum.
   * @example
   * const contributions = { data: [3, 0, 0, 4], shape: [2, 1, 2] };
   * const [first] = engine.headImportance(contributions);
   * first // → { outputChange: 0.6, normShare: 0.4286, cosine: 0.6 }
   */
  headImportance(contributions: TensorLike, output?: Maybe<TensorLike>): HeadImportance[];

  /**
   * Prunes greedily: each step removes the head without which the output changes least. It takes the same, and gives H steps.
   * @example
   * const contributions = { data: [3, 0, 0, 4], shape: [2, 1, 2] };
   * engine.pruningCurve(contributions) // → [{ head: 0, change: 0.6 }, { head: 1, change: 1 }]
   */
  pruningCurve(contributions: TensorLike, output?: Maybe<TensorLike>): PruningStep[];

  /**
   * Computes attention rollout (Abnar & Zuidema 2020), which is what reaches each token from each input token. It takes the weights
   * [H,T,T] of each layer and gives [T,T].
   * @example
   * const layer = { data: [1, 0, 0.5, 0.5], shape: [1, 2, 2] };
   * engine.rollout([layer, layer]).data // → [1, 0, 0.4375, 0.5625]
   */
  rollout(weights: readonly TensorLike[], options?: Maybe<RolloutOptions>): Tensor;

  /**
   * Computes attention flow (Abnar & Zuidema 2020), the maximal flow from each input token to each token. It takes and gives the same.
   * @example
   * const layer = { data: [1, 0, 0.5, 0.5], shape: [1, 2, 2] };
   * engine.flow([layer]).data // → [1, 0, 0.25, 0.75]
   */
  flow(weights: readonly TensorLike[], options?: Maybe<FlowOptions>): Tensor;

  /**
   * Computes maps that count the values, too: A[i,j]·‖v_j‖, by default over max ‖v_j‖ of all keys that are not masked.
   * weights [H,T,S], values [G,S,dv] (the stage v) → [H,T,S].
   * @example
   * const weights = { data: [0.5, 0.5], shape: [1, 1, 2] };
   * const values = { data: [3, 4, 0, 1], shape: [1, 2, 2] };
   * engine.weightedMap(weights, values).data // → [0.5, 0.1]
   */
  weightedMap(weights: TensorLike, values: TensorLike, options?: Maybe<WeightedMapOptions>): Tensor;

  /**
   * Computes the norms of all heads' summands together (Kobayashi et al. 2020, §4.1). outWeight [D,H·dv] as out_proj.weight → [T,S].
   * @example
   * const weights = { data: [0.5, 0.5], shape: [1, 1, 2] };
   * const values = { data: [3, 4, 0, 1], shape: [1, 2, 2] };
   * const outWeight = { data: [2, 0, 0, 2], shape: [2, 2] };
   * engine.layerNorms(weights, values, outWeight).data // → [5, 1]
   */
  layerNorms(weights: TensorLike, values: TensorLike, outWeight: TensorLike, options?: Maybe<MapMasks>): Tensor;

  /**
   * Measures how much of each token's vector comes from other tokens, 0 to 1 (Kobayashi et al. 2021). T = S.
   * @example
   * const weights = { data: [1, 0, 0.5, 0.5], shape: [1, 2, 2] };
   * const values = { data: [1, 1], shape: [1, 2, 1] };
   * const outWeight = { data: [1], shape: [1, 1] };
   * engine.mixingRatio(weights, values, outWeight) // → [0, 0.5]
   */
  mixingRatio(
    weights: TensorLike, values: TensorLike, outWeight: TensorLike, options?: Maybe<MixingOptions>,
  ): (number | null)[];

  /**
   * Measures how much each token's output turns when another one's value is zeroed, rows of sum 1 (Mohebbi et al. 2023) → [T,S].
   * @example
   * const weights = { data: [1, 0, 0.5, 0.5], shape: [1, 2, 2] };
   * const values = { data: [1, 0, 0, 1], shape: [1, 2, 2] };
   * const outWeight = { data: [1, 0, 0, 1], shape: [2, 2] };
   * engine.valueZeroing(weights, values, outWeight).data // → [1, 0, 0.5, 0.5]
   */
  valueZeroing(
    weights: TensorLike, values: TensorLike, outWeight: TensorLike, options?: Maybe<ValueZeroingOptions>,
  ): Tensor;

  /**
   * Computes spectra and copying scores of each head's circuits, out of a layer's parameters alone. Biases are no part of them.
   * @example
   * const identity = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const state = { q_proj_weight: identity, k_proj_weight: identity, v_proj_weight: identity, "out_proj.weight": identity };
   * const [head] = engine.circuits(state, { numHeads: 1 });
   * head.ov // → { singularValues: [1, 1], eigenvalues: [[1, 0], [1, 0]], copyingScore: 1 }
   */
  circuits(state: StateDict, options: CircuitsOptions): HeadCircuits[];

  /**
   * Measures how strongly heads of a later layer read what heads of an earlier one wrote (Elhage et al. 2021).
   * @example
   * const identity = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const state = { q_proj_weight: identity, k_proj_weight: identity, v_proj_weight: identity, "out_proj.weight": identity };
   * engine.compositionScores(state, state, { numHeads: 1 }).query // → [[0.7071]]
   */
  compositionScores(earlier: StateDict, later: StateDict, options: CompositionOptions): CompositionScores;

  /**
   * Gives sines and cosines of positions (Vaswani et al. 2017, §3.5): [length,width], where row 0 is position `offset`.
   * @example
   * engine.sinusoidalPositions(2, 2).data // → [0, 1, 0.8415, 0.5403]
   */
  sinusoidalPositions(length: number, width: number, offset?: Maybe<number>): Tensor;

  /**
   * Gives ALiBi's slopes (Press et al. 2022): [heads].
   * @example
   * engine.alibiSlopes(4).data // → [0.25, 0.0625, 0.0156, 0.0039]
   */
  alibiSlopes(heads: number): Tensor;

  /**
   * Gives T5's bucket of a distance, key position − query position (Raffel et al. 2020).
   * @example
   * engine.t5Bucket(-3) // → 3
   * engine.t5Bucket(200, { buckets: 32, bidirectional: true, maxDistance: 128 }) // → 31
   */
  t5Bucket(distance: number, options?: Maybe<T5BucketOptions>): number;
}
