// SPDX-License-Identifier: Apache-2.0
/** These are the options of attention. */
import type { Conventions } from "../conventions.js";
import type { AttentionResult, Places } from "../results.js";
import type { AttentionMask, BooleanMask, IntegerTensor, Maybe, TensorLike } from "../tensors.js";
import type { Stage } from "../vocabulary.js";

/**
 * These options say which keys a query may look at: a key is hidden when any of them hides it, except as said. S counts past keys, too.
 * Of inputs without a batch, B is 1: layers then take what is [B,S] or [B,T] here (but for `validLens`) as [S] and [T] alone,
 * scaledDotProductAttention as [1,S] and [1,T] alone. What is [B] is [1] in both.
 */
export interface MaskOptions {
  /**
   * The mask has additive floats, or booleans whose polarity `conventions` / `maskTrue` names. It is [T,S], [B·H,T,S], [H,T,S] or
   * [B,H,T,S], each size as it is or 1. One per sequence is [B,1,T,S]; [B,T,S] is taken where B = 1 or H = 1, and as one per head where B = H.
   */
  attnMask?: Maybe<AttentionMask>;
  /** [B,S] booleans are true for keys to be ignored. */
  keyPaddingMask?: Maybe<BooleanMask>;
  /** The number of valid keys is [B] for every query, or [B,T] per query, also of inputs without a batch ([1] or [1,T]). */
  validLens?: Maybe<IntegerTensor>;
  /** No query looks at a later position. */
  isCausal?: Maybe<boolean>;
  /** When T ≠ S, the last query stands at key T − 1, or with "bottom_right" at the last key. The default is as `conventions` say. */
  causalAlignment?: Maybe<"top_left" | "bottom_right">;
  /** A query looks back so many positions, a whole number from 0. When absent, it looks as far as there is. */
  windowLeft?: Maybe<number>;
  /** A query looks ahead so many positions, a whole number from 0. When absent, it looks as far as there is. */
  windowRight?: Maybe<number>;
  /** A query looks at every dilation-th position, counted from its own. The default is 1. */
  dilation?: Maybe<number>;
  /** [B] has whole numbers: so many first keys are seen in spite of `isCausal`, which it needs (prefix language models). */
  prefixLens?: Maybe<IntegerTensor>;
  /** [B,S] booleans mark tokens that every query sees and whose own queries see every key, in spite of windows and dilation. */
  globalTokens?: Maybe<BooleanMask>;
  /** [B,S] whole numbers name documents. A query looks at keys of its own document only. */
  keyDocuments?: Maybe<IntegerTensor>;
  /** [B,T] whole numbers are the documents of the queries. When absent, they are those of the keys, where T = S. */
  queryDocuments?: Maybe<IntegerTensor>;
}

/** These options say how the masked scores of a row become its weights. */
export interface NormalizerOptions {
  /**
   * The default is "softmax". The others are sparsemax (Martins & Astudillo 2016), entmax with α = 1.5 (Peters et al. 2019), each cell's
   * sigmoid, softmax of the `topK` largest, and 1 for the largest.
   */
  normalizer?: Maybe<"softmax" | "sparsemax" | "entmax15" | "sigmoid" | "top_k" | "hard">;
  /** The masked scores are divided by it first. It is above 0, and the default is 1. */
  temperature?: Maybe<number>;
  /** The denominators of softmax and top_k have this one logit more, without a column. 0 is "off by one". */
  sink?: Maybe<number>;
  /** [H] has such a logit for each head. */
  sinks?: Maybe<TensorLike>;
  /** So many scores of a row stay with "top_k", a whole number from 1. What equals the last of them stays too. */
  topK?: Maybe<number>;
  /** It is added before "sigmoid". The default is 0. */
  sigmoidBias?: Maybe<number>;
  /** A query with no key to look at gets this, zero unless said otherwise. */
  fullyMasked?: Maybe<"zero" | "nan" | "uniform">;
  /**
   * A NaN or an infinity in a masked key or value does nothing (default; but `fullyMasked: "uniform"` averages all values, masked
   * ones too, so that one of them does reach such a row's output), or does what adding −∞ to its score and multiplying its value by 0
   * makes of it, as PyTorch's scaled_dot_product_attention has it.
   */
  maskedNan?: Maybe<"blocked" | "spreads">;
}

/** Positions are biases on the scores, which add up, and rotations of queries and keys. */
export interface PositionOptions {
  /** Adds −slope · distance with the slopes of Press et al. 2022, see `engine.alibiSlopes`. */
  alibi?: Maybe<boolean>;
  /** [H] has slopes of your own. */
  alibiSlopes?: Maybe<TensorLike>;
  /** Of [H,2R+1] or [1,2R+1] the entry R + query position − key position, clipped to ±R, is added. */
  relativeBias?: Maybe<TensorLike>;
  /** [buckets,H] is T5's relative_attention_bias.weight, see `engine.t5Bucket`. */
  t5Bias?: Maybe<TensorLike>;
  /** Half of T5's buckets are for keys ahead. The default is true. */
  t5Bidirectional?: Maybe<boolean>;
  /** From this distance on T5's last bucket counts. The default is 128. */
  t5MaxDistance?: Maybe<number>;
  /** Turns pairs of elements of q and k by their positions: "half" pairs i and i + r/2 (Llama), "interleaved" 2i and 2i + 1 (GPT-J). */
  rotary?: Maybe<"half" | "interleaved">;
  /** So many leading elements of a head are turned, an even number. The default is all. */
  rotaryDim?: Maybe<number>;
  /** The base of the rotation's angles. The default is 10000. */
  rotaryBase?: Maybe<number>;
  /** Positions are divided by it (linear interpolation). The default is 1. */
  rotaryScale?: Maybe<number>;
}

/** Every attention call shares these options. Absent options have PyTorch's default. */
export interface AttentionOptions extends MaskOptions, NormalizerOptions, PositionOptions {
  /** Bundles the points on which libraries disagree; the options override it one by one. */
  conventions?: Maybe<Conventions>;
  /** True in a boolean attnMask means that a key is ignored, or that it is kept. */
  maskTrue?: Maybe<"ignore" | "keep">;
  /** A query head h reads the key/value head ⌊h·G/H⌋ ("block", default) or h mod G. */
  gqaOrder?: Maybe<"block" | "interleaved">;
  /** The factor on q·kᵀ. The default is 1/√d. */
  scale?: Maybe<number>;
  /** Scores become softcap · tanh(scores / softcap). 0 (default): not capped. */
  softcap?: Maybe<number>;
  /** Masks and biases are added after the cap (default) or before. */
  softcapOrder?: Maybe<"before_bias" | "after_bias">;
  /** [H] or [B,H] has factors on the heads' weights after dropout: 0 takes a head out. */
  headMask?: Maybe<TensorLike>;
  /** [B,G,P,d] has keys that stand before those of this call, as `presentKey` gives them. */
  pastKey?: Maybe<TensorLike>;
  /** [B,G,P,dv] has their values. */
  pastValue?: Maybe<TensorLike>;
  /** The result has weights. The default is true for MultiheadAttention and false for all else (as PyTorch). */
  needWeights?: Maybe<boolean>;
  /**
   * Weights are their mean over the heads [B,T,S] instead of [B,H,T,S]. The default is as PyTorch: true for layers, false for
   * scaledDotProductAttention. The stage "weights" is those of each head, whatever the default; true beside it is an error.
   */
  averageAttnWeights?: Maybe<boolean>;
  /** These intermediate results are returned, under their own names. None costs anything when not asked for. */
  stages?: Maybe<readonly Stage[]>;
  /** The backend is "simd" (default) or "reference", the fp64 twin. */
  backend?: Maybe<"simd" | "reference">;
  /**
   * The seed of the dropout on the weights is a whole number (counter-based: same seed, same mask). A decoder layer's attention
   * to its memory takes the next one.
   */
  seed?: Maybe<number>;
  /**
   * Results go to these arrays, each of a result's length and by its name, such as those of an earlier result that is no longer needed.
   * They are written instead of new ones. New memory is a seventh of the time where maps are large. An array that no result fits is an error.
   * With a worker they move there and back: whether the call succeeds or not, afterwards only its result holds them. A cache is as it was
   * when they are refused.
   */
  out?: Maybe<Places<AttentionResult>>;
}

export interface ScaledDotProductAttentionOptions extends AttentionOptions {
  /** Each weight is dropped with this probability, the others divided by 1 − p. The default is 0. */
  dropoutP?: Maybe<number>;
  /** There may be fewer key/value heads than query heads. */
  enableGqa?: Maybe<boolean>;
}
