// SPDX-License-Identifier: Apache-2.0
/** The options of the analyses. */
import type { BooleanMask, Maybe, TensorLike } from "../tensors.js";
import type { MetricName } from "../vocabulary.js";
import type { MultiheadAttentionOptions } from "./layers.js";

/** Which cells of a map [T,S] count. What rows that are padded or fully masked hold, NaN say, reaches nothing. */
export interface MapMasks {
  /** Query t is the token of key t + queryOffset; below 0 when queries come before the first key. Default 0. */
  queryOffset?: Maybe<number>;
  /** No query may look at keys after itself. */
  isCausal?: Maybe<boolean>;
  /** A query looks at itself and the window − 1 keys before it; keys after it stay allowed unless `isCausal`. Absent: no window. */
  window?: Maybe<number>;
  /** [T,S]; false where a mask hides the key. */
  visible?: Maybe<BooleanMask>;
  /** T booleans, true = padding. */
  paddedQueries?: Maybe<readonly boolean[]>;
  /** S booleans, true = padding. */
  paddedKeys?: Maybe<readonly boolean[]>;
}

/** What is known of a map beside its weights [T,S]. Metrics that need what is not given have no value. */
export interface MapContext extends MapMasks {
  /** S token ids. When they are [s][s], or one token and then [s][s], that is the repeated sequence. */
  tokens?: Maybe<readonly number[]>;
  /** S booleans, true = BOS, CLS, SEP, EOS, punctuation, … */
  special?: Maybe<readonly boolean[]>;
  /** Where a sequence that stands twice in a row begins. Default 0. */
  repeatBegin?: Maybe<number>;
  /** How long it is, once. */
  repeatLength?: Maybe<number>;
  /** Of pictures: keys before the patches (CLS, …). Default 0. */
  patchPrefix?: Maybe<number>;
  /** Of pictures: patches in a row. */
  patchColumns?: Maybe<number>;
  /** Of pictures: pixels of a patch's side. Default 1. */
  patchSize?: Maybe<number>;
}

export interface HeadMetricsOptions<M extends MetricName = MetricName> extends MapContext {
  /** Only these; absent: all. */
  metrics?: Maybe<readonly M[]>;
}

export interface HeadSimilarityOptions extends MapContext {
  /** Weights are (1 − smoothing)·A + smoothing/S first. Default 0.001. */
  smoothing?: Maybe<number>;
}

/** Masks are those of every layer; a token whose row does not count keeps itself alone. */
export interface RolloutOptions extends MapMasks {
  /** How the heads of a layer become one map. Default "mean". */
  fusion?: Maybe<"mean" | "max" | "min">;
  /** This fraction of each layer's fused weights, the smallest, counts as 0; masked cells count among the smallest. Default 0. */
  discardRatio?: Maybe<number>;
  /** Layers before it are left out. Default 0. */
  startLayer?: Maybe<number>;
}

export interface FlowOptions extends Omit<RolloutOptions, "startLayer"> {
  /** More tokens are refused: T² maximal flows take long. Default 64. */
  maxTokens?: Maybe<number>;
}

export interface WeightedMapOptions extends MapMasks {
  /** [D,H·dv], as out_proj.weight: norms of what the heads write instead of the values'. */
  outWeight?: Maybe<TensorLike>;
  /** Divide by the largest norm (default); without it the norms themselves (Kobayashi et al. 2020). */
  normalize?: Maybe<boolean>;
}

export interface MixingOptions extends MapMasks {
  /** x [T,D], which the layer's output is added to. */
  residual?: Maybe<TensorLike>;
  /** γ [D] of the layer norm after that. */
  layerNorm?: Maybe<TensorLike>;
  /** Default 1e-5. */
  layerNormEps?: Maybe<number>;
}

export interface ValueZeroingOptions extends MapMasks {
  /** [D] of the output projection. */
  bias?: Maybe<TensorLike>;
  /** x [T,D], which the layer's output is added to. */
  residual?: Maybe<TensorLike>;
}

export interface CircuitsOptions extends Pick<MultiheadAttentionOptions, "numHeads" | "numKvHeads"> {
  /** γ [D] of the norm before the layer, folded in. */
  norm?: Maybe<TensorLike>;
  /** Token embeddings [V,D], for the full circuits over the vocabulary. */
  embedding?: Maybe<TensorLike>;
  /** Rows that give the logits [V,D], the last norm's γ folded in, as `model.unembedding()` has it. Default the embedding. */
  unembedding?: Maybe<TensorLike>;
}

export interface CompositionOptions extends Pick<MultiheadAttentionOptions, "numHeads" | "numKvHeads"> {
  /** γ [D] of the norm before the earlier layer. */
  earlierNorm?: Maybe<TensorLike>;
  /** γ [D] of the norm before the later layer. */
  laterNorm?: Maybe<TensorLike>;
}

export interface T5BucketOptions {
  /** Default 32. */
  buckets?: Maybe<number>;
  /** Half of them are for keys ahead. Default true. */
  bidirectional?: Maybe<boolean>;
  /** From here on the last bucket counts. Default 128. */
  maxDistance?: Maybe<number>;
}
