// SPDX-License-Identifier: Apache-2.0
/**
 * Analyses describe heads in numbers, from their maps, from the values that their weights carry, or from their parameters. They look at one text at a
 * time, so a batch dimension must be 1. Values that are not defined are null, never NaN.
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
  /** Facts about the map that the metric needs in order to have a value, or the model. */
  needs: ("tokens" | "repeat" | "special" | "patches" | "model")[];
  formula: string;
  /** The publication or program that defined it. */
  source: string;
}

/** The importance of a head for its layer's output. */
export interface HeadImportance {
  /** ‖out − out without the head‖ / ‖out‖, by exact ablation. */
  outputChange: number | null;
  /** The norm of the head's contribution, divided by the sum of all heads' norms. */
  normShare: number | null;
  /** The cosine of the angle between the head's contribution and the layer's output. */
  cosine: number | null;
}

export interface PruningStep {
  /** The head that this step removes. */
  head: number;
  /** ‖out − out without all heads removed so far‖ / ‖out‖. */
  change: number;
}

export interface Spectrum {
  /** [real, imaginary] of d eigenvalues, the largest modulus first. In a full circuit at most min(d, V) of them are not 0, except for rounding. */
  eigenvalues: [number, number][];
  /** Σλ / Σ|λ|, from −1 to 1. For the full OV circuit, 1 means that the head copies. Null when all are 0. */
  copyingScore: number | null;
}

export interface Circuit extends Spectrum {
  /** The singular values that can be above 0, the largest first. */
  singularValues: number[];
}

/** The circuits of a head (Elhage et al. 2021): W_QK = W_Qᵀ W_K and W_OV = W_O W_V. The full circuits need `embedding`. */
export interface HeadCircuits {
  qk: Circuit;
  ov: Circuit;
  fullQk?: Spectrum;
  fullOv?: Spectrum;
}

/** The scores of every pair of heads, as [later head][earlier head], from 0 to 1; null where a circuit is 0. */
export interface CompositionScores {
  query: (number | null)[][];
  key: (number | null)[][];
  value: (number | null)[][];
}

export interface Analyses {
  /**
   * Lists all metrics with their formulas and sources.
   * @example
   * engine.metrics().find(({ name }) => name === "sharpness")?.formula // → "mean_i max_j A[i,j]"
   */
  metrics(): MetricInfo[];

  /**
   * Computes metrics of each head, with null for those that are not defined. Metrics that use entropy are null when some row does not sum to 1 (with
   * sinks, or "sigmoid"). `weights` is [H,T,S] or [T,S], and need not come from this engine.
   * @example
   * const weights = { data: [1, 0, 0, 1, 0, 0, 0, 1, 0], shape: [3, 3] }; // each token looks at the one before
   * const [head] = engine.headMetrics(weights, { isCausal: true, metrics: ["previous", "sharpness", "duplicateText"] });
   * head // → { previous: 1, sharpness: 1, duplicateText: null }
   */
  headMetrics<M extends MetricName = MetricName>(
    weights: TensorLike, options?: Maybe<HeadMetricsOptions<M>>,
  ): Record<M, number | null>[];

  /**
   * Returns the number of rows (or other terms) over which each of those values is the mean; 0 where there is no value.
   * @example
   * const weights = { data: [1, 0, 0, 1, 0, 0, 0, 1, 0], shape: [3, 3] };
   * engine.headMetricCounts(weights, { isCausal: true, metrics: ["self", "previous"] }) // → [{ self: 3, previous: 2 }]
   */
  headMetricCounts<M extends MetricName = MetricName>(
    weights: TensorLike, options?: Maybe<HeadMetricsOptions<M>>,
  ): Record<M, number>[];

  /**
   * Computes the Jensen–Shannon divergences between heads, in nats, summed over rows (Clark et al. 2019). Takes weights [H,T,S], returns [H,H].
   * @example
   * const weights = { data: [1, 0, 0, 1, 0, 1, 1, 0], shape: [2, 2, 2] }; // two heads that share nothing
   * const { data } = engine.headSimilarity(weights, { smoothing: 0 });
   * data // → [0, 1.3863, 1.3863, 0]
   */
  headSimilarity(weights: TensorLike, options?: Maybe<HeadSimilarityOptions>): Tensor;

  /**
   * Measures the importance of each head for a layer's output (Michel et al. 2019, by exact ablation). `contributions` is [H,T,D], as in the stage
   * headContributions; `output` is [T,D], by default their sum.
   * @example
   * const contributions = { data: [3, 0, 0, 4], shape: [2, 1, 2] };
   * const [first] = engine.headImportance(contributions);
   * first // → { outputChange: 0.6, normShare: 0.4286, cosine: 0.6 }
   */
  headImportance(contributions: TensorLike, output?: Maybe<TensorLike>): HeadImportance[];

  /**
   * Prunes greedily: each step removes the head whose loss changes the output least. Takes the same arguments, and returns H steps.
   * @example
   * const contributions = { data: [3, 0, 0, 4], shape: [2, 1, 2] };
   * engine.pruningCurve(contributions) // → [{ head: 0, change: 0.6 }, { head: 1, change: 1 }]
   */
  pruningCurve(contributions: TensorLike, output?: Maybe<TensorLike>): PruningStep[];

  /**
   * Computes attention rollout (Abnar & Zuidema 2020): how much each input token contributes to each token after all layers. Takes the weights
   * [H,T,T] of each layer, returns [T,T].
   * @example
   * const layer = { data: [1, 0, 0.5, 0.5], shape: [1, 2, 2] };
   * engine.rollout([layer, layer]).data // → [1, 0, 0.4375, 0.5625]
   */
  rollout(weights: readonly TensorLike[], options?: Maybe<RolloutOptions>): Tensor;

  /**
   * Computes attention flow (Abnar & Zuidema 2020), the maximal flow from each input token to each token. Arguments and result are as for `rollout`.
   * @example
   * const layer = { data: [1, 0, 0.5, 0.5], shape: [1, 2, 2] };
   * engine.flow([layer]).data // → [1, 0, 0.25, 0.75]
   */
  flow(weights: readonly TensorLike[], options?: Maybe<FlowOptions>): Tensor;

  /**
   * Computes maps that are weighted by the values' norms: A[i,j]·‖v_j‖, by default divided by the largest ‖v_j‖ of all keys that are not masked.
   * Takes weights [H,T,S] and values [G,S,dv] (the stage v), returns [H,T,S].
   * @example
   * const weights = { data: [0.5, 0.5], shape: [1, 1, 2] };
   * const values = { data: [3, 4, 0, 1], shape: [1, 2, 2] };
   * engine.weightedMap(weights, values).data // → [0.5, 0.1]
   */
  weightedMap(weights: TensorLike, values: TensorLike, options?: Maybe<WeightedMapOptions>): Tensor;

  /**
   * Computes the norms of the layer's summands over all heads (Kobayashi et al. 2020, §4.1). `outWeight` is [D,H·dv], as out_proj.weight. Returns
   * [T,S].
   * @example
   * const weights = { data: [0.5, 0.5], shape: [1, 1, 2] };
   * const values = { data: [3, 4, 0, 1], shape: [1, 2, 2] };
   * const outWeight = { data: [2, 0, 0, 2], shape: [2, 2] };
   * engine.layerNorms(weights, values, outWeight).data // → [5, 1]
   */
  layerNorms(weights: TensorLike, values: TensorLike, outWeight: TensorLike, options?: Maybe<MapMasks>): Tensor;

  /**
   * Measures how much of each token's vector comes from other tokens, from 0 to 1 (Kobayashi et al. 2021). Needs T = S.
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
   * Measures how much the direction of each token's output changes when the value of another token is set to 0 (Mohebbi et al. 2023). Returns [T,S],
   * whose rows sum to 1.
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
   * Computes the spectra and copying scores of each head's circuits from a layer's parameters alone. Biases do not belong to a circuit.
   * @example
   * const identity = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const state = { q_proj_weight: identity, k_proj_weight: identity, v_proj_weight: identity, "out_proj.weight": identity };
   * const [head] = engine.circuits(state, { numHeads: 1 });
   * head.ov // → { singularValues: [1, 1], eigenvalues: [[1, 0], [1, 0]], copyingScore: 1 }
   */
  circuits(state: StateDict, options: CircuitsOptions): HeadCircuits[];

  /**
   * Measures how strongly the heads of a later layer read the output of the heads of an earlier one (Elhage et al. 2021).
   * @example
   * const identity = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const state = { q_proj_weight: identity, k_proj_weight: identity, v_proj_weight: identity, "out_proj.weight": identity };
   * engine.compositionScores(state, state, { numHeads: 1 }).query // → [[0.7071]]
   */
  compositionScores(earlier: StateDict, later: StateDict, options: CompositionOptions): CompositionScores;

  /**
   * Returns the sines and cosines of positions (Vaswani et al. 2017, §3.5), [length,width]. Row 0 is position `offset`.
   * @example
   * engine.sinusoidalPositions(2, 2).data // → [0, 1, 0.8415, 0.5403]
   */
  sinusoidalPositions(length: number, width: number, offset?: Maybe<number>): Tensor;

  /**
   * Returns ALiBi's slopes (Press et al. 2022), [heads].
   * @example
   * engine.alibiSlopes(4).data // → [0.25, 0.0625, 0.0156, 0.0039]
   */
  alibiSlopes(heads: number): Tensor;

  /**
   * Returns T5's bucket for a distance, which is key position − query position (Raffel et al. 2020).
   * @example
   * engine.t5Bucket(-3) // → 3
   * engine.t5Bucket(200, { buckets: 32, bidirectional: true, maxDistance: 128 }) // → 31
   */
  t5Bucket(distance: number, options?: Maybe<T5BucketOptions>): number;
}
