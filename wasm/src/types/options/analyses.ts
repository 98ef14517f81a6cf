// SPDX-License-Identifier: Apache-2.0
/** These are the options of the analyses. */
import type { BooleanMask, Maybe, TensorLike } from "../tensors.js";
import type { MetricName } from "../vocabulary.js";
import type { MultiheadAttentionOptions } from "./layers.js";

/** These options say which cells of a map [T,S] count. The contents of rows that are padded or fully masked, such as NaN, reach nothing. */
export interface MapMasks {
  /** Query t is the token of key t + queryOffset, which is below 0 when queries come before the first key. The default is 0. */
  queryOffset?: Maybe<number>;
  /** No query may look at keys after itself. */
  isCausal?: Maybe<boolean>;
  /** A query looks at itself and the window − 1 keys before it; keys after it stay allowed unless `isCausal`. When absent, there is no window. */
  window?: Maybe<number>;
  /** [T,S] is false where a mask hides the key. */
  visible?: Maybe<BooleanMask>;
  /** T booleans are true for padding. */
  paddedQueries?: Maybe<readonly boolean[]>;
  /** S booleans are true for padding. */
  paddedKeys?: Maybe<readonly boolean[]>;
}

/** This is known of a map beside its weights [T,S]. Metrics that need what is not given have no value. */
export interface MapContext extends MapMasks {
  /** These are S token ids. When they are [s][s], or one token and then [s][s], that is the repeated sequence. */
  tokens?: Maybe<readonly number[]>;
  /** S booleans are true for BOS, CLS, SEP, EOS, punctuation, … */
  special?: Maybe<readonly boolean[]>;
  /** A sequence that stands twice in a row begins here. The default is 0. */
  repeatBegin?: Maybe<number>;
  /** That sequence has so many tokens, counted once. */
  repeatLength?: Maybe<number>;
  /** Of pictures, so many keys stand before the patches (CLS, …). The default is 0. */
  patchPrefix?: Maybe<number>;
  /** Of pictures, so many patches are in a row. */
  patchColumns?: Maybe<number>;
  /** Of pictures, a patch's side has so many pixels. The default is 1. */
  patchSize?: Maybe<number>;
}

export interface HeadMetricsOptions<M extends MetricName = MetricName> extends MapContext {
  /** Only these metrics are computed. When absent, all are. */
  metrics?: Maybe<readonly M[]>;
}

export interface HeadSimilarityOptions extends MapContext {
  /** Weights become (1 − smoothing)·A + smoothing/S first. The default is 0.001. */
  smoothing?: Maybe<number>;
}

/** Masks are those of every layer. A token whose row does not count keeps itself alone. */
export interface RolloutOptions extends MapMasks {
  /** The heads of a layer become one map in this way. The default is "mean". */
  fusion?: Maybe<"mean" | "max" | "min">;
  /** This fraction of each layer's fused weights, the smallest, counts as 0. Masked cells count among the smallest. The default is 0. */
  discardRatio?: Maybe<number>;
  /** Layers before it are left out. The default is 0. */
  startLayer?: Maybe<number>;
}

export interface FlowOptions extends Omit<RolloutOptions, "startLayer"> {
  /** More tokens are refused, as T² maximal flows take long. The default is 64. */
  maxTokens?: Maybe<number>;
}

export interface WeightedMapOptions extends MapMasks {
  /** With [D,H·dv], as out_proj.weight, norms are those of what the heads write instead of the values'. */
  outWeight?: Maybe<TensorLike>;
  /** Norms are divided by the largest (default). Without it they count themselves (Kobayashi et al. 2020). */
  normalize?: Maybe<boolean>;
}

export interface MixingOptions extends MapMasks {
  /** The layer's output is added to x [T,D]. */
  residual?: Maybe<TensorLike>;
  /** This is γ [D] of the layer norm after that. */
  layerNorm?: Maybe<TensorLike>;
  /** The layer norm adds this under its root. The default is 1e-5. */
  layerNormEps?: Maybe<number>;
}

export interface ValueZeroingOptions extends MapMasks {
  /** This is the bias [D] of the output projection. */
  bias?: Maybe<TensorLike>;
  /** The layer's output is added to x [T,D]. */
  residual?: Maybe<TensorLike>;
}

export interface CircuitsOptions extends Pick<MultiheadAttentionOptions, "numHeads" | "numKvHeads"> {
  /** This γ [D] of the norm before the layer is folded in. */
  norm?: Maybe<TensorLike>;
  /** The full circuits over the vocabulary need the token embeddings [V,D]. */
  embedding?: Maybe<TensorLike>;
  /** These rows [V,D] give the logits, the last norm's γ folded in, as `model.unembedding()` has it. The default is the embedding. */
  unembedding?: Maybe<TensorLike>;
}

export interface CompositionOptions extends Pick<MultiheadAttentionOptions, "numHeads" | "numKvHeads"> {
  /** This is γ [D] of the norm before the earlier layer. */
  earlierNorm?: Maybe<TensorLike>;
  /** This is γ [D] of the norm before the later layer. */
  laterNorm?: Maybe<TensorLike>;
}

export interface T5BucketOptions {
  /** There are so many buckets. The default is 32. */
  buckets?: Maybe<number>;
  /** Half of them are for keys ahead. The default is true. */
  bidirectional?: Maybe<boolean>;
  /** From this distance on the last bucket counts. The default is 128. */
  maxDistance?: Maybe<number>;
}
