// SPDX-License-Identifier: Apache-2.0
/** The options of attention. */
import type { Conventions } from "../conventions.js";
import type { AttentionResult, Places } from "../results.js";
import type { AttentionMask, BooleanMask, IntegerTensor, Maybe, TensorLike } from "../tensors.js";
import type { Stage } from "../vocabulary.js";

/**
 * Which keys a query may look at: a key is hidden when any of these hides it, except as said. S counts past keys, too. Of inputs without
 * a batch, B is 1: layers then take what is [B,S] or [B,T] here (but for `validLens`) as [S] and [T] alone, scaledDotProductAttention as
 * [1,S] and [1,T] alone; what is [B] is [1] in both.
 */
export interface MaskOptions {
  /**
   * Additive floats, or booleans whose polarity `conventions` / `maskTrue` names. [T,S], [B·H,T,S], [H,T,S] or [B,H,T,S], each size as
   * it is or 1. One per sequence is [B,1,T,S]; [B,T,S] is taken where B = 1 or H = 1, and as one per head where B = H.
   */
  attnMask?: Maybe<AttentionMask>;
  /** [B,S] booleans, true = ignore that key. */
  keyPaddingMask?: Maybe<BooleanMask>;
  /** Number of valid keys: [B] for every query, or [B,T] per query, also of inputs without a batch ([1] or [1,T]). */
  validLens?: Maybe<IntegerTensor>;
  /** No query looks at a later position. */
  isCausal?: Maybe<boolean>;
  /** Where the last query stands when T ≠ S: "bottom_right" puts it at the last key. Default as `conventions` say. */
  causalAlignment?: Maybe<"top_left" | "bottom_right">;
  /** How many positions a query looks back, a whole number from 0; absent: as far as there is. */
  windowLeft?: Maybe<number>;
  /** How many positions a query looks ahead, a whole number from 0; absent: as far as there is. */
  windowRight?: Maybe<number>;
  /** A query looks at every dilation-th position, counted from its own. Default 1. */
  dilation?: Maybe<number>;
  /** [B] whole numbers: so many first keys are seen in spite of `isCausal`, which it needs (prefix language models). */
  prefixLens?: Maybe<IntegerTensor>;
  /** [B,S] booleans: tokens that every query sees and whose own queries see every key, in spite of windows and dilation. */
  globalTokens?: Maybe<BooleanMask>;
  /** [B,S] whole numbers: a query looks at keys of its own document only. */
  keyDocuments?: Maybe<IntegerTensor>;
  /** [B,T] whole numbers; absent: those of the keys, where T = S. */
  queryDocuments?: Maybe<IntegerTensor>;
}

/** How the masked scores of a row become its weights. */
export interface NormalizerOptions {
  /**
   * Default "softmax"; sparsemax (Martins & Astudillo 2016), entmax with α = 1.5 (Peters et al. 2019), each cell's sigmoid, softmax
   * of the `topK` largest, 1 for the largest.
   */
  normalizer?: Maybe<"softmax" | "sparsemax" | "entmax15" | "sigmoid" | "top_k" | "hard">;
  /** The masked scores are divided by it first. Above 0, default 1. */
  temperature?: Maybe<number>;
  /** One logit more in the denominators of softmax and top_k, without a column: 0 is "off by one". */
  sink?: Maybe<number>;
  /** [H]: such a logit for each head. */
  sinks?: Maybe<TensorLike>;
  /** How many scores of a row stay with "top_k", a whole number from 1; what equals the last of them stays too. */
  topK?: Maybe<number>;
  /** Added before "sigmoid". Default 0. */
  sigmoidBias?: Maybe<number>;
  /** What a query with no key to look at gets; zero unless said otherwise. */
  fullyMasked?: Maybe<"zero" | "nan" | "uniform">;
  /**
   * What a NaN or an infinity in a masked key or value does: nothing (default; but `fullyMasked: "uniform"` averages all values, masked
   * ones too, so that one of them does reach such a row's output), or what adding −∞ to its score and multiplying its value by 0 makes
   * of it, as PyTorch's scaled_dot_product_attention has it.
   */
  maskedNan?: Maybe<"blocked" | "spreads">;
}

/** Positions: biases on the scores, which add up, and rotated queries and keys. */
export interface PositionOptions {
  /** Adds −slope · distance with the slopes of Press et al. 2022, see `engine.alibiSlopes`. */
  alibi?: Maybe<boolean>;
  /** [H]: slopes of your own. */
  alibiSlopes?: Maybe<TensorLike>;
  /** [H,2R+1] or [1,2R+1]: entry R + query position − key position, clipped to ±R, is added. */
  relativeBias?: Maybe<TensorLike>;
  /** [buckets,H]: T5's relative_attention_bias.weight, see `engine.t5Bucket`. */
  t5Bias?: Maybe<TensorLike>;
  /** Half of T5's buckets are for keys ahead. Default true. */
  t5Bidirectional?: Maybe<boolean>;
  /** From this distance on T5's last bucket counts. Default 128. */
  t5MaxDistance?: Maybe<number>;
  /** Turns pairs of elements of q and k by their positions: "half" pairs i and i + r/2 (Llama), "interleaved" 2i and 2i + 1 (GPT-J). */
  rotary?: Maybe<"half" | "interleaved">;
  /** How many leading elements of a head are turned, an even number. Default all. */
  rotaryDim?: Maybe<number>;
  /** Default 10000. */
  rotaryBase?: Maybe<number>;
  /** Positions are divided by it (linear interpolation). Default 1. */
  rotaryScale?: Maybe<number>;
}

/** Options that every attention call shares. Absent options have PyTorch's default. */
export interface AttentionOptions extends MaskOptions, NormalizerOptions, PositionOptions {
  /** Bundles the points on which libraries disagree; the options override it one by one. */
  conventions?: Maybe<Conventions>;
  /** What true in a boolean attnMask means. */
  maskTrue?: Maybe<"ignore" | "keep">;
  /** Which key/value head a query head reads: ⌊h·G/H⌋ ("block", default) or h mod G. */
  gqaOrder?: Maybe<"block" | "interleaved">;
  /** Factor on q·kᵀ. Default 1/√d. */
  scale?: Maybe<number>;
  /** Scores become softcap · tanh(scores / softcap). 0 (default): not capped. */
  softcap?: Maybe<number>;
  /** Whether masks and biases are added after the cap (default) or before. */
  softcapOrder?: Maybe<"before_bias" | "after_bias">;
  /** [H] or [B,H] factors on the heads' weights after dropout: 0 takes a head out. */
  headMask?: Maybe<TensorLike>;
  /** [B,G,P,d]: keys that stand before those of this call, as `presentKey` gives them. */
  pastKey?: Maybe<TensorLike>;
  /** [B,G,P,dv]: their values. */
  pastValue?: Maybe<TensorLike>;
  /** Weights in the result. Default: true for MultiheadAttention, false for all else (as PyTorch). */
  needWeights?: Maybe<boolean>;
  /**
   * Weights are their mean over the heads [B,T,S] instead of [B,H,T,S]. Default as PyTorch: true for layers, false for
   * scaledDotProductAttention. The stage "weights" is those of each head, whatever the default; true beside it is an error.
   */
  averageAttnWeights?: Maybe<boolean>;
  /** Intermediate results to return, under their own names. None costs anything when not asked for. */
  stages?: Maybe<readonly Stage[]>;
  /** "simd" (default) or "reference": the fp64 twin. */
  backend?: Maybe<"simd" | "reference">;
  /**
   * Seed of the dropout on the weights, a whole number (counter-based: same seed, same mask). A decoder layer's attention
   * to its memory takes the next one.
   */
  seed?: Maybe<number>;
  /**
   * Where results go: arrays of a result's length by its name, such as those of an earlier result that is no longer needed, which are
   * written instead of new ones. New memory is a seventh of the time where maps are large. An array that no result fits is an error.
   * With a worker they move there and back: whether the call succeeds or not, afterwards only its result holds them. A cache is as it was
   * when they are refused.
   */
  out?: Maybe<Places<AttentionResult>>;
}

export interface ScaledDotProductAttentionOptions extends AttentionOptions {
  /** Each weight is dropped with this probability, the others divided by 1 − p. Default 0. */
  dropoutP?: Maybe<number>;
  /** Allow fewer key/value heads than query heads. */
  enableGqa?: Maybe<boolean>;
}
