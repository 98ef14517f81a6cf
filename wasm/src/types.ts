// SPDX-License-Identifier: Apache-2.0
/// <reference lib="esnext.disposable" preserve="true" />
/** The public vocabulary: PyTorch's words in camelCase. B batch, H heads, G key/value heads, T queries, S keys, d head width, D model width. */

import type { Analyses, HeadMetricsOptions } from "./analysis-types.js";
import type { MemoryStage, MetricName, ModelMetricName, Stage } from "./types/vocabulary.js";
import type { AbortSignal, File, URL } from "./types/web.js";

export type * from "./analysis-types.js";
export type { MemoryStage, MetricName, ModelMetricName, Stage } from "./types/vocabulary.js";

/** A dense row-major result; the array is the caller's own. */
export interface Tensor {
  data: Float32Array;
  shape: number[];
}

/** An option, or nothing: in every call `undefined` and `null`, as settings read from JSON have it, are as good as an option not named. */
export type Maybe<T> = T | null | undefined;

/** Ours, or any object with `dims` such as the tensors of other runtimes. */
type Shaped<Data> =
  | { readonly data: Data; readonly shape: readonly number[] }
  | { readonly data: Data; readonly dims: readonly number[] };

/**
 * A dense row-major input, or any object with `dims` such as the tensors of other runtimes. It is copied, never kept or changed.
 * Numbers become 32-bit floats: what is beyond their range (±3.4e38) becomes ±Infinity, which is not refused everywhere.
 */
export type TensorLike = Shaped<Float32Array | Float64Array | Int32Array | readonly number[]>;

/** A boolean mask: data of booleans, or Uint8Array. */
export type BooleanMask = Shaped<Uint8Array | readonly boolean[]>;

/** A mask by its data: booleans or bytes say which cells, floats are added to the scores. */
export type AttentionMask = Shaped<Float32Array | Float64Array | Uint8Array | readonly number[] | readonly boolean[]>;

/** Ids, lengths and the like: whole numbers of 32 bits. Arrays of floats are refused, whatever they hold. */
export type IntegerTensor = Shaped<Int32Array | readonly number[]>;

/**
 * Libraries disagree on some points, and each of these names stands for the choices of one. `maskTrue` says whether a true in a boolean mask
 * keeps a key or has it ignored, `causalAlignment` which corner the diagonal starts from when T ≠ S, `fullyMasked` what a row gets that
 * sees no key, and `maskedNan` whether a NaN behind a mask stays there.
 *
 * |                  | maskTrue | causalAlignment | fullyMasked                       | maskedNan |
 * |------------------|----------|-----------------|-----------------------------------|-----------|
 * | "torch-mha"      | ignore   | top_left        | nan, where by default it is zeros | blocked   |
 * | "torch-sdpa"     | keep     | top_left        | zero                              | spreads   |
 * | "onnx", "flash"  | keep     | bottom_right    | zero                              | blocked   |
 * | "keras"          | keep     | top_left        | zero                              | blocked   |
 * | "jax"            | keep     | top_left        | uniform: the mean of all values   | blocked   |
 *
 * Without any, layers have the maskTrue and causalAlignment of "torch-mha", scaledDotProductAttention those of "torch-sdpa", and both
 * fullyMasked zero and maskedNan blocked.
 */
export type Conventions = "torch-mha" | "torch-sdpa" | "onnx" | "keras" | "jax" | "flash";

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

/** Results are written to these, by their names. */
export type Places<Result> = { readonly [Name in keyof Result]?: Maybe<Tensor> };

/** These options say which results there are: weights (W), and stages (S). Where one is absent, the default of the call holds. */
export interface Asked<W extends boolean, S extends readonly (Stage | MemoryStage)[]> {
  needWeights?: Maybe<W>;
  stages?: Maybe<S>;
}

/** The names of the results that are sure to be there: `Weights` when they are needed, and the stages of every list that S may be. */
type Sure<Name extends string, Weights extends Name, W extends boolean, S extends readonly string[]> =
  | ([W] extends [true] ? Weights : never)
  | Name & keyof (S extends unknown ? Record<number extends S["length"] ? never : S[number], true> : never);

/**
 * `output`; `weights` where needed, [B,T,S] when averaged (a layer's are, unless said otherwise) and else [B,H,T,S]; and the stages asked
 * for: [B,H,T,S] but for q [B,H,T,d], k and v [B,G,S,d], lse [B,H,T], headOutputs [B,H,T,dv], headContributions [B,H,T,D], presentKey
 * [B,G,S,d], presentValue [B,G,S,dv]. Inputs without B or H give results without. What the options ask for is no `undefined`.
 */
export type AttentionResult<W extends boolean = boolean, S extends readonly Stage[] = readonly Stage[]> =
  { output: Tensor } & Partial<Record<Stage, Tensor>> & Record<Sure<Stage, "weights", W, S>, Tensor>;

export interface MultiheadAttentionOptions {
  /** D, a multiple of numHeads. */
  embedDim: number;
  /** H. */
  numHeads: number;
  /** G, which must divide numHeads (grouped-query attention). Default numHeads. */
  numKvHeads?: Maybe<number>;
  /** Width of the keys. Default embedDim. */
  kdim?: Maybe<number>;
  /** Width of the values. Default embedDim. */
  vdim?: Maybe<number>;
  /** Of all projections. Default true. */
  bias?: Maybe<boolean>;
  /** One learned key and value more, at the end. */
  addBiasKv?: Maybe<boolean>;
  /** One key and value of zeros more, at the end. */
  addZeroAttn?: Maybe<boolean>;
  /** Default false: [T,B,D], as PyTorch. */
  batchFirst?: Maybe<boolean>;
  /** Of the attention weights. Default 0. */
  dropoutP?: Maybe<number>;
}

/** A tensor of a file, in memory of the caller's own. F16 and BF16 have become floats; BOOL is 0 or 1. */
export type SafetensorsTensor =
  | { dtype: "F32" | "F16" | "BF16"; data: Float32Array; shape: number[] }
  | { dtype: "F64"; data: Float64Array; shape: number[] }
  | { dtype: "I32"; data: Int32Array; shape: number[] }
  | { dtype: "I64"; data: BigInt64Array; shape: number[] }
  | { dtype: "U8" | "BOOL"; data: Uint8Array; shape: number[] };

export interface SafetensorsFile {
  /** By their names, in the order of the file. `loadStateDict` takes them as they are. */
  tensors: Map<string, SafetensorsTensor>;
  metadata: Record<string, string>;
}

/**
 * An object, or a Map or other pairs, of parameters under PyTorch's names (`in_proj_weight`, `q_proj_weight`, `in_proj_bias`, `bias_k`,
 * `bias_v`, `out_proj.weight`, `out_proj.bias`). Parameters are floats: integers of 64 bits and bytes of a file are refused by their names.
 */
export type StateDict =
  | Readonly<Record<string, TensorLike>> | Iterable<readonly [name: string, tensor: TensorLike | SafetensorsTensor]>;

/** What has parameters, which are to be loaded before the first `forward`. */
export interface Parametrized extends Disposable {
  /**
   * All parameters at once: a name that is missing or unexpected, or a shape that does not fit, is an error, and leaves those before.
   * @example
   * const embedding = engine.embedding();
   * embedding.loadStateDict({ weight: { data: [1, 2, 3, 4], shape: [2, 2] } });
   * embedding.forward({ data: [1], shape: [1] }).output.data // → [3, 4]
   */
  loadStateDict(state: StateDict): void;
  dispose(): void;
}

export interface Layer extends Parametrized {
  /** As PyTorch counts them: 4·D² + 4·D for multi-head attention with biases. */
  readonly parameterCount: number;
}

export interface DecodingOptions {
  /** In what keys and values are kept: "float32" (default), or rounded to the nearest "bfloat16", in half the memory. */
  dtype?: Maybe<"float32" | "bfloat16">;
}

export interface CacheOptions extends DecodingOptions {
  /** A query looks at so many of the latest tokens, itself included, and no more are kept (a rolling window). Default 0: all. */
  window?: Maybe<number>;
}

/** The keys and values of the tokens so far. A call that fails leaves it as it was. */
export interface AttentionCache extends Disposable {
  /** Tokens seen so far. */
  readonly length: number;
  /**
   * Forgets all tokens.
   * @example
   * const cache = engine.cachedAttention();
   * const token = { data: [1, 0], shape: [1, 2] };
   * cache.forward(token, token, token);
   * cache.reset();
   * cache.length // → 0
   */
  reset(): void;
  dispose(): void;
}

/** Of a cache's call: masks and S count the kept keys, too. `isCausal` is true unless said otherwise. */
export type CachedOptions<O> = Omit<O, "pastKey" | "pastValue">;

export interface CachedAttention extends AttentionCache {
  /**
   * Appends k and v and attends to all that are kept; the shapes of scaledDotProductAttention. A q of no rows (T = 0) only appends: that is
   * how keys and values from elsewhere get here.
   * @example
   * const cache = engine.cachedAttention();
   * const token = (data) => ({ data, shape: [1, 2] });
   * cache.forward({ data: [], shape: [0, 2] }, token([1, 0]), token([1, 0])).output.shape // → [0, 2]
   * cache.forward(token([0, 1]), token([0, 1]), token([0, 1]), { needWeights: true }).weights.data // → [0.3302, 0.6698]
   */
  forward<W extends boolean = false, const S extends readonly Stage[] = []>(
    q: TensorLike, k: TensorLike, v: TensorLike,
    options?: Maybe<CachedOptions<ScaledDotProductAttentionOptions> & Asked<W, S>>,
  ): AttentionResult<W, S>;
}

/** Of a layer whose `forward` takes the options O, and gives weights by default (N) or not. */
export interface LayerCache<O, N extends boolean = false> extends AttentionCache {
  /**
   * The layer's self-attention of the next tokens x: [T,B,D], [B,T,D] with batchFirst, or [T,D].
   * @example
   * const mha = engine.multiheadAttention({ embedDim: 2, numHeads: 1, bias: false });
   * mha.loadStateDict({
   *   in_proj_weight: { data: [1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1], shape: [6, 2] },
   *   "out_proj.weight": { data: [1, 0, 0, 1], shape: [2, 2] },
   * });
   * const x = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const cache = mha.startCache();
   * cache.forward(x).weights.data // → [1, 0, 0.3302, 0.6698]
   */
  forward<W extends boolean = N, const S extends readonly Stage[] = []>(
    x: TensorLike, options?: Maybe<CachedOptions<O> & Asked<W, S>>,
  ): AttentionResult<W, S>;
}

export interface MultiheadAttention extends Layer {
  /**
   * Starts step-by-step decoding with this layer.
   * @example
   * const mha = engine.multiheadAttention({ embedDim: 2, numHeads: 1, bias: false });
   * mha.loadStateDict({
   *   in_proj_weight: { data: [1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1], shape: [6, 2] },
   *   "out_proj.weight": { data: [1, 0, 0, 1], shape: [2, 2] },
   * });
   * const x = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const cache = mha.startCache();
   * cache.forward({ data: [1, 0], shape: [1, 2] });
   * cache.forward({ data: [0, 1], shape: [1, 2] }).weights.data // → [0.3302, 0.6698]
   * cache.length // → 2
   */
  startCache(options?: Maybe<CacheOptions>): LayerCache<AttentionOptions, true>;
  /**
   * key defaults to query, value to key. Shapes as PyTorch: [T,B,D], [B,T,D] with batchFirst, or [T,D].
   * @example
   * const mha = engine.multiheadAttention({ embedDim: 2, numHeads: 1, bias: false });
   * mha.loadStateDict({
   *   in_proj_weight: { data: [1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1], shape: [6, 2] },
   *   "out_proj.weight": { data: [1, 0, 0, 1], shape: [2, 2] },
   * });
   * const x = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const { output, weights } = mha.forward(x, { isCausal: true });
   * weights.data // → [1, 0, 0.3302, 0.6698]
   * output.shape // → [2, 2]
   */
  forward<W extends boolean = true, const S extends readonly Stage[] = []>(
    query: TensorLike, options?: Maybe<AttentionOptions & Asked<W, S>>,
  ): AttentionResult<W, S>;
  forward<W extends boolean = true, const S extends readonly Stage[] = []>(
    query: TensorLike, key: TensorLike, options?: Maybe<AttentionOptions & Asked<W, S>>,
  ): AttentionResult<W, S>;
  forward<W extends boolean = true, const S extends readonly Stage[] = []>(
    query: TensorLike, key?: Maybe<TensorLike>, value?: Maybe<TensorLike>,
    options?: Maybe<AttentionOptions & Asked<W, S>>,
  ): AttentionResult<W, S>;
}

/** As nn.TransformerEncoderLayer and nn.TransformerDecoderLayer; dropout is on the attention weights only. */
export interface TransformerLayerOptions
  extends Pick<MultiheadAttentionOptions, "embedDim" | "numHeads" | "numKvHeads" | "bias" | "batchFirst" | "dropoutP"> {
  /** F. Default 2048. */
  dimFeedforward?: Maybe<number>;
  /** Default "relu"; "gelu_tanh" is GELU's approximation; "swiglu" has linear1.weight [2F,D], the gate's rows first. */
  activation?: Maybe<"relu" | "gelu" | "gelu_tanh" | "swiglu">;
  /** Default "layer_norm"; norms of "rms_norm" have no bias. */
  norm?: Maybe<"layer_norm" | "rms_norm">;
  /** Of the norm, whichever it is. Default 1e-5. */
  layerNormEps?: Maybe<number>;
  /** Normalise before each block instead of after its residual. Default false. */
  normFirst?: Maybe<boolean>;
}

/** Weights only when `needWeights`. */
export interface EncoderLayerOptions extends Omit<AttentionOptions, "attnMask" | "keyPaddingMask"> {
  /** As attnMask. */
  srcMask?: Maybe<AttentionMask>;
  /** [B,S] booleans, true = ignore that key. */
  srcKeyPaddingMask?: Maybe<BooleanMask>;
}

/**
 * How scores become weights (`normalizer` with its options, `scale`, `softcap`, `fullyMasked`, `maskedNan`, `conventions`, …) and
 * `causalAlignment` hold for both attentions. Windows, `dilation`, `validLens`, `prefixLens`, `globalTokens`, documents, positions
 * (`alibi`, `relativeBias`, `t5Bias`, `rotary`), `headMask` and past keys concern self-attention alone: the memory has its own masks.
 * Weights only when `needWeights`.
 */
export interface DecoderLayerOptions
  extends Omit<AttentionOptions, "attnMask" | "keyPaddingMask" | "isCausal" | "stages" | "out"> {
  /** Of self-attention, and of the attention over the memory. */
  stages?: Maybe<readonly (Stage | MemoryStage)[]>;
  /** As for every call; memory stages, too. */
  out?: Maybe<Places<DecoderLayerResult>>;
  /** As attnMask. */
  tgtMask?: Maybe<AttentionMask>;
  /** [B,T] booleans, true = ignore that key. */
  tgtKeyPaddingMask?: Maybe<BooleanMask>;
  /** As isCausal. */
  tgtIsCausal?: Maybe<boolean>;
  /** As attnMask, over the memory's S. */
  memoryMask?: Maybe<AttentionMask>;
  /** [B,S] booleans, true = ignore that key. */
  memoryKeyPaddingMask?: Maybe<BooleanMask>;
  /** As isCausal. */
  memoryIsCausal?: Maybe<boolean>;
}

export interface TransformerEncoderLayer extends Layer {
  /**
   * src [T,B,D], [B,T,D] with batchFirst, or [T,D]; the output has its shape.
   * @example
   * const layer = engine.transformerEncoderLayer({ embedDim: 2, numHeads: 1, dimFeedforward: 1, norm: "rms_norm", bias: false });
   * const zeros = { data: [0, 0, 0, 0], shape: [2, 2] }; // attention and feed-forward add nothing: the layer only normalises
   * layer.loadStateDict({
   *   "self_attn.in_proj_weight": { data: new Float32Array(12), shape: [6, 2] }, "self_attn.out_proj.weight": zeros,
   *   "linear1.weight": { data: [0, 0], shape: [1, 2] }, "linear2.weight": { data: [0, 0], shape: [2, 1] },
   *   "norm1.weight": { data: [1, 1], shape: [2] }, "norm2.weight": { data: [1, 1], shape: [2] },
   * });
   * layer.forward({ data: [3, 4], shape: [1, 2] }).output.data // → [0.8485, 1.1314]
   */
  forward<W extends boolean = false, const S extends readonly Stage[] = []>(
    src: TensorLike, options?: Maybe<EncoderLayerOptions & Asked<W, S>>,
  ): AttentionResult<W, S>;
  /**
   * Starts step-by-step decoding with this layer.
   * @example
   * const layer = engine.transformerEncoderLayer({ embedDim: 2, numHeads: 1, dimFeedforward: 1, norm: "rms_norm", bias: false });
   * const zeros = { data: [0, 0, 0, 0], shape: [2, 2] }; // attention and feed-forward add nothing: the layer only normalises
   * layer.loadStateDict({
   *   "self_attn.in_proj_weight": { data: new Float32Array(12), shape: [6, 2] }, "self_attn.out_proj.weight": zeros,
   *   "linear1.weight": { data: [0, 0], shape: [1, 2] }, "linear2.weight": { data: [0, 0], shape: [2, 1] },
   *   "norm1.weight": { data: [1, 1], shape: [2] }, "norm2.weight": { data: [1, 1], shape: [2] },
   * });
   * const cache = layer.startCache({ window: 16 });
   * cache.forward({ data: [3, 4], shape: [1, 2] }).output.data // → [0.8485, 1.1314]
   */
  startCache(options?: Maybe<CacheOptions>): LayerCache<EncoderLayerOptions>;
}

/** Weights and stages are those of self-attention; what begins with "memory" is of the attention over the memory. */
export type DecoderLayerResult<
  W extends boolean = boolean, S extends readonly (Stage | MemoryStage)[] = readonly (Stage | MemoryStage)[],
> = { output: Tensor } & Partial<Record<Stage | MemoryStage, Tensor>>
  & Record<Sure<Stage | MemoryStage, "weights" | "memoryWeights", W, S>, Tensor>;

export interface DecoderLayerCache extends AttentionCache {
  /**
   * The layer's output for the next tokens tgt, with the whole memory: shapes as the layer's `forward`.
   * @example
   * const layer = engine.transformerDecoderLayer({ embedDim: 2, numHeads: 1, dimFeedforward: 1, bias: false });
   * const zeros = (...shape) => ({ data: new Float32Array(shape[0] * (shape[1] ?? 1)), shape });
   * const norm = { data: [1, 1], shape: [2] };
   * layer.loadStateDict({
   *   "self_attn.in_proj_weight": zeros(6, 2), "self_attn.out_proj.weight": zeros(2, 2),
   *   "multihead_attn.in_proj_weight": zeros(6, 2), "multihead_attn.out_proj.weight": zeros(2, 2),
   *   "linear1.weight": zeros(1, 2), "linear2.weight": zeros(2, 1),
   *   "norm1.weight": norm, "norm2.weight": norm, "norm3.weight": norm,
   * });
   * const memory = { data: [1, 2, 3, 4], shape: [2, 2] };
   * const cache = layer.startCache();
   * const token = { data: [5, 7], shape: [1, 2] };
   * cache.forward(token, memory);
   * const { weights, memoryWeights } = cache.forward(token, memory, { needWeights: true });
   * [weights.shape, memoryWeights.shape] // → [[1, 2], [1, 2]]
   */
  forward<W extends boolean = false, const S extends readonly (Stage | MemoryStage)[] = []>(
    tgt: TensorLike, memory: TensorLike, options?: Maybe<CachedOptions<DecoderLayerOptions> & Asked<W, S>>,
  ): DecoderLayerResult<W, S>;
}

export interface TransformerDecoderLayer extends Layer {
  /**
   * tgt [T,B,D] and memory [S,B,D], [B,T,D] and [B,S,D] with batchFirst, or [T,D] and [S,D]; the output has tgt's shape.
   * @example
   * const layer = engine.transformerDecoderLayer({ embedDim: 2, numHeads: 1, dimFeedforward: 1, bias: false });
   * const attention = { in_proj_weight: { data: new Float32Array(12), shape: [6, 2] }, "out_proj.weight": { data: [0, 0, 0, 0], shape: [2, 2] } };
   * const norm = { data: [1, 1], shape: [2] };
   * layer.loadStateDict({
   *   "self_attn.in_proj_weight": attention.in_proj_weight, "self_attn.out_proj.weight": attention["out_proj.weight"],
   *   "multihead_attn.in_proj_weight": attention.in_proj_weight, "multihead_attn.out_proj.weight": attention["out_proj.weight"],
   *   "linear1.weight": { data: [0, 0], shape: [1, 2] }, "linear2.weight": { data: [0, 0], shape: [2, 1] },
   *   "norm1.weight": norm, "norm2.weight": norm, "norm3.weight": norm,
   * });
   * const memory = { data: [1, 2, 3, 4], shape: [2, 2] };
   * layer.forward({ data: [5, 7], shape: [1, 2] }, memory, { needWeights: true }).memoryWeights.data // → [0.5, 0.5]
   */
  forward<W extends boolean = false, const S extends readonly (Stage | MemoryStage)[] = []>(
    tgt: TensorLike, memory: TensorLike, options?: Maybe<DecoderLayerOptions & Asked<W, S>>,
  ): DecoderLayerResult<W, S>;
  /**
   * Starts step-by-step decoding with this layer; the memory's keys and values are computed anew in each step.
   * @example
   * const layer = engine.transformerDecoderLayer({ embedDim: 2, numHeads: 1 });
   * layer.startCache().length // → 0
   */
  startCache(options?: Maybe<CacheOptions>): DecoderLayerCache;
}

export interface EmbeddingOptions {
  /** What is added to the rows: nothing (default), sines and cosines (Vaswani et al. 2017), or the parameter `position_embeddings`. */
  positions?: Maybe<"none" | "sinusoidal" | "learned">;
  /** Multiply the rows by √D before positions are added. Default false. */
  scaleEmbeddings?: Maybe<boolean>;
}

export interface EmbeddingCallOptions {
  /** Position of the first token. Default 0. */
  positionOffset?: Maybe<number>;
  /** "simd" (default) or "reference": the same numbers, as rows are only looked up. */
  backend?: Maybe<"simd" | "reference">;
}

/** Token embeddings. Parameters: `weight` [V,D], and `position_embeddings` [L,D] when positions are "learned". */
export interface Embedding extends Parametrized {
  /**
   * ids [T] or [B,T], whole numbers below V (no array of floats) → output [T,D] or [B,T,D].
   * @example
   * const embedding = engine.embedding({ positions: "sinusoidal" });
   * embedding.loadStateDict({ weight: { data: [1, 2, 3, 4], shape: [2, 2] } });
   * embedding.forward({ data: [1, 0], shape: [2] }).output.data // → [3, 5, 1.8415, 2.5403]
   */
  forward(ids: IntegerTensor, options?: Maybe<EmbeddingCallOptions>): { output: Tensor };
}

export interface Image {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

export interface ColorOptions {
  /** "sequential" (default) for weights, "diverging" for signed values. */
  colormap?: Maybe<"sequential" | "diverging">;
  /** Which background the picture is for: low values fade into it. */
  theme?: Maybe<"light" | "dark">;
  /** Value range; from the data when absent. */
  min?: Maybe<number>;
  max?: Maybe<number>;
  /** Cells above the diagonal are masked: transparent. */
  causal?: Maybe<boolean>;
}

/** Of a model's map: the model itself says whether it is causal. */
export type PixelsOptions = Omit<ColorOptions, "causal">;

export type ColorbarOptions = Pick<ColorOptions, "colormap" | "theme">;

export interface ModelInfo {
  name: string;
  family: "bert" | "gpt2" | "llama" | "vit";
  /** Each token looks only at itself and at what came before. */
  causal: boolean;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  embedDim: number;
  /** 0 for a model that reads pictures. */
  vocabSize: number;
  /** Most tokens, or patches and CLS together. */
  maxPositions: number;
  /** Kinds of segments (token types) there are; 0: the model has none. */
  segments: number;
  /** A token looks at the last `window` ones only; 0: at all. */
  window: number;
  /** Width of the logits; 0: the model has none. */
  logits: number;
  /** Of models that read pictures: pixels a side, pixels a patch's side, channels. */
  image?: { size: number; patchSize: number; channels: number };
}

/**
 * A built-in model's name, the URL of a Hugging Face folder, or its files: config.json, model.safetensors (or its shards, with or without
 * model.safetensors.index.json), and tokenizer.json (a model of pictures: preprocessor_config.json if there is one).
 */
export type ModelSource = "tiny" | (string & {}) | URL | readonly File[];

export interface LoadModelOptions {
  signal?: Maybe<AbortSignal>;
  /** Called with loaded and total bytes (total 0 when unknown). What it throws ends the loading, which then rejects with that. */
  onProgress?: Maybe<(loaded: number, total: number) => void>;
}

export interface MapOptions {
  /** Half-open range of query rows; default all. */
  rows?: Maybe<readonly [number, number]>;
  /** Mean-pooled down to at most [rows, cols]. */
  pool?: Maybe<readonly [number, number]>;
}

export interface AttendOptions {
  /** Of a text with more tokens than the model has positions, read only the beginning; without it that is an error. Default false. */
  truncate?: Maybe<boolean>;
  /** A second text, behind the first, for models with segments (BERT). */
  textPair?: Maybe<string>;
  /** With token ids: the segment of each; default all 0. */
  segments?: Maybe<readonly number[]>;
  /** With token ids: true where a token is padding, at which nobody looks. */
  paddingMask?: Maybe<readonly boolean[]>;
  /** [layers, heads]: multiplies each head's weights; 0 ablates the head. */
  headMask?: Maybe<TensorLike>;
  /** Value zeroing: this token's value vectors are 0, in every layer or in `zeroedLayer` only. */
  zeroedToken?: Maybe<number>;
  /** Needs `zeroedToken`. */
  zeroedLayer?: Maybe<number>;
  /** Keep the stream before each layer, for `hidden`. Default false. */
  keepHidden?: Maybe<boolean>;
  /** Keep the value vectors of each layer, for `values`. Default false. */
  keepValues?: Maybe<boolean>;
}

/** A picture's pixels, as a canvas gives them: RGBA bytes, row by row. */
export interface ImageLike {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** What a model reads: a text or its token ids; or a picture, which is resized and normalised, or a tensor [channels, size, size] that is. */
export type ModelInput = string | readonly number[] | ImageLike | TensorLike;

export interface RankOptions<M extends MetricName | ModelMetricName = MetricName | ModelMetricName> {
  /** Heads are ranked by the first. Default inductionText, previous, duplicateText, entropyNormalized, distance, sink. */
  metrics?: Maybe<readonly M[]>;
  /** The smallest values first. Default false. */
  ascending?: Maybe<boolean>;
  /** Ids that the metrics on special tokens count. */
  specialTokens?: Maybe<readonly number[]>;
  signal?: Maybe<AbortSignal>;
  /** Called with the part that is done, above 0 to 1. What it throws ends the call, which then rejects with that. */
  onProgress?: Maybe<(done: number) => void>;
}

/** A metric of one head over all texts. */
export interface HeadScore {
  /** Over the texts where it has a value, each counting alike; null without any. */
  mean: number | null;
  /** How many those are. */
  texts: number;
  /** Rows (or other terms) of all of them together. */
  nValid: number;
}

export interface RankedHead<M extends MetricName | ModelMetricName = MetricName | ModelMetricName> {
  layer: number;
  head: number;
  scores: Record<M, HeadScore>;
}

/** What a layer's heads are made of. */
export interface LayerWeights {
  /** q_proj_weight [H·d,D], k_proj_weight and v_proj_weight [G·d,D], out_proj.weight [D,H·d], as `engine.circuits` takes them. */
  state: Record<"q_proj_weight" | "k_proj_weight" | "v_proj_weight" | "out_proj.weight", Tensor>;
  /** γ [D] of the norm that the layer's attention reads through; absent where it reads the stream itself (BERT). */
  norm?: Tensor;
}

export interface Model extends Disposable {
  readonly info: ModelInfo;
  /**
   * Runs the model; maps are computed when asked for, never all held. A text is split by the patterns in tokenizer.json: see `loadModel`.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * seen.tokens // → ["<s>", "The", " cat", " sat", " on", " the", " mat", "."]
   */
  attend(input: ModelInput, options?: Maybe<AttendOptions>): ModelAttention;
  /**
   * Starts a text that grows token by token; earlier keys and values are kept. Only for causal models.
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat").tokens // → ["<s>", "The", " cat"]
   */
  startDecoding(options?: Maybe<DecodingOptions>): Decoding;
  /**
   * A layer's weights, as floats.
   * @example
   * const model = await engine.loadModel("tiny");
   * const { state, norm } = model.layerWeights(1);
   * const tables = { embedding: model.embedding(), unembedding: model.unembedding() };
   * const heads = engine.circuits(state, { numHeads: model.info.heads, norm, ...tables });
   * heads[4].fullOv.copyingScore > 0 // → true
   */
  layerWeights(layer: number): LayerWeights;
  /**
   * The table of tokens [V,D]; undefined for a model of pictures.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.embedding().shape // → [2048, 128]
   */
  embedding(): Tensor | undefined;
  /**
   * U·diag(γ) [V,D]: what makes the logits of the last stream, with the γ of the last norm folded in (only its centring and its division
   * by the stream's size are left out). With it `engine.circuits` has the copying scores of `rankHeads`. Undefined where there are no
   * logits or more lies between (BERT).
   * @example
   * const model = await engine.loadModel("tiny");
   * model.unembedding().shape // → [2048, 128]
   */
  unembedding(): Tensor | undefined;
  /**
   * Scores every head over texts, or pictures, and ranks them; one map at a time is in memory. Lets the page live meanwhile.
   * @example
   * const model = await engine.loadModel("tiny");
   * const texts = ["The cat sat on the mat. The cat sat on the mat.", "One two three, one two three."];
   * const [best] = await model.rankHeads(texts, { metrics: ["inductionText", "ablationLoss"] });
   * best.layer // → 1
   * best.scores.inductionText.mean > 0.3 // → true
   */
  rankHeads<M extends MetricName | ModelMetricName>(
    inputs: readonly ModelInput[], options?: Maybe<RankOptions<M>>,
  ): Promise<RankedHead<M>[]>;
  dispose(): void;
}

export interface LogitsOptions {
  /** Half-open range of rows; default all. */
  rows?: Maybe<readonly [number, number]>;
}

/** What one step of decoding read. */
export interface DecodingStep {
  ids: number[];
  tokens: string[];
  /** Tokens so far, these included. */
  length: number;
  /** The first token that is still kept: columns of the step's maps are the tokens [firstKey, length). */
  firstKey: number;
  /** [vocabSize] scores of the token that comes next. */
  logits: Tensor;
}

export interface Decoding extends Disposable {
  /**
   * Reads what comes next: one token, or many at once. A text is tokenized by itself; special tokens only go before the first.
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat");
   * const { length, logits } = decoding.step(" sat");
   * length // → 4
   * logits.shape // → [2048]
   */
  step(input: string | readonly number[]): DecodingStep;
  /**
   * One head's weights in the last step: [its tokens, tokens kept].
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat");
   * decoding.step(" sat");
   * decoding.map(1, 3).shape // → [1, 4]
   */
  map(layer: number, head: number): Tensor;
  /**
   * Forgets all tokens.
   * @example
   * const model = await engine.loadModel("tiny");
   * const decoding = model.startDecoding();
   * decoding.step("The cat");
   * decoding.reset();
   * decoding.step("The").length // → 2
   */
  reset(): void;
  dispose(): void;
}

export interface ModelAttention extends Disposable {
  /**
   * What each position shows: its piece of the text, or a special token's name. The pieces join to the text, but for a character that
   * is split over several tokens: each of those shows its bytes as ⟨E2⟩. Of a picture: "[CLS]", then "row,column" of each patch.
   */
  readonly tokens: readonly string[];
  /** Empty for a picture. */
  readonly ids: readonly number[];
  /** Of a picture: rows and columns of patches. */
  readonly patches?: readonly [number, number];
  /** Tokens of the whole text: more than `tokens` holds when it was truncated. */
  readonly tokenCount: number;
  /**
   * One head's weights [rows, T].
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * seen.map(1, 3).shape // → [8, 8]
   * seen.map(1, 3, { rows: [7, 8] }).shape // → [1, 8]
   */
  map(layer: number, head: number, options?: Maybe<MapOptions>): Tensor;
  /**
   * One head's whole map, one pixel a cell, masked cells transparent.
   * @example
   * const model = await engine.loadModel("tiny");
   * const { width, height, data } = model.attend("The cat sat on the mat.").pixels(1, 3);
   * [width, height, data.length] // → [8, 8, 256]
   */
  pixels(layer: number, head: number, options?: Maybe<PixelsOptions>): Image;
  /**
   * The same of all heads, [layer][head]: what a page draws at once is one call, which matters when it goes to a worker.
   * @example
   * const model = await engine.loadModel("tiny");
   * const images = model.attend("The cat sat on the mat.").allPixels();
   * [images.length, images[1].length, images[1][3].width] // → [4, 8, 8]
   */
  allPixels(options?: Maybe<PixelsOptions>): Image[][];
  /**
   * [T, vocabSize], or the one row [1, labels] of a classifier. Computed when asked for; an error where the model has none.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * seen.logits({ rows: [7, 8] }).shape // → [1, 2048]
   */
  logits(options?: Maybe<LogitsOptions>): Tensor;
  /**
   * The residual stream [T,D] before a layer, when `keepHidden: true` was asked for; with the number of layers, after the last one.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.", { keepHidden: true });
   * seen.hidden(0).shape // → [8, 128]
   * seen.hidden(model.info.layers).shape // → [8, 128]
   */
  hidden(layer: number): Tensor;
  /**
   * A layer's queries [H,T,d], rotated where the model rotates.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.").queries(0).shape // → [8, 8, 16]
   */
  queries(layer: number): Tensor;
  /**
   * A layer's keys [G,T,d], rotated where the model rotates.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.").keys(0).shape // → [8, 8, 16]
   */
  keys(layer: number): Tensor;
  /**
   * A layer's values [G,T,d], when `keepValues: true` was asked for.
   * @example
   * const model = await engine.loadModel("tiny");
   * model.attend("The cat sat on the mat.", { keepValues: true }).values(0).shape // → [8, 8, 16]
   */
  values(layer: number): Tensor;
  dispose(): void;
}

export interface EngineInfo {
  version: string;
  /** Which build runs. */
  simd: "baseline" | "relaxed";
  threads: number;
  /** The SIMD target of the kernels. */
  target: string;
}

export interface Engine extends Analyses, Disposable {
  readonly info: EngineInfo;
  /**
   * softmax(q kᵀ · scale + mask) v. q [B,H,T,d], k [B,G,S,d], v [B,G,S,dv] → output [B,H,T,dv]. Of 3 dimensions they are [B,T,d] with
   * one head, of 2 [T,d] with one head and no batch; results lose the same dimensions.
   * @example
   * const x = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const { weights, maskedScores } = engine.scaledDotProductAttention(x, x, x, { isCausal: true, needWeights: true, stages: ["maskedScores"] });
   * weights.data // → [1, 0, 0.3302, 0.6698]
   * maskedScores.data // → [0.7071, -Infinity, 0, 0.7071]
   */
  scaledDotProductAttention<W extends boolean = false, const S extends readonly Stage[] = []>(
    q: TensorLike, k: TensorLike, v: TensorLike, options?: Maybe<ScaledDotProductAttentionOptions & Asked<W, S>>,
  ): AttentionResult<W, S>;
  /**
   * Step-by-step attention that keeps the keys and values so far.
   * @example
   * const cache = engine.cachedAttention({ window: 2 });
   * const token = { data: [1, 0], shape: [1, 2] };
   * for (let i = 0; i < 5; ++i) cache.forward(token, token, token);
   * cache.length // → 5
   * cache.forward(token, token, token, { needWeights: true }).weights.data // → [0.5, 0.5]
   */
  cachedAttention(options?: Maybe<CacheOptions>): CachedAttention;
  /**
   * As nn.MultiheadAttention; parameters are to be loaded.
   * @example
   * const mha = engine.multiheadAttention({ embedDim: 512, numHeads: 8, numKvHeads: 2, batchFirst: true });
   * mha.parameterCount // → 656640
   */
  multiheadAttention(options: MultiheadAttentionOptions): MultiheadAttention;
  /**
   * As nn.TransformerEncoderLayer; parameters are to be loaded.
   * @example
   * const layer = engine.transformerEncoderLayer({ embedDim: 512, numHeads: 8, activation: "gelu", normFirst: true });
   * layer.parameterCount // → 3152384
   */
  transformerEncoderLayer(options: TransformerLayerOptions): TransformerEncoderLayer;
  /**
   * As nn.TransformerDecoderLayer; parameters are to be loaded.
   * @example
   * const layer = engine.transformerDecoderLayer({ embedDim: 512, numHeads: 8, activation: "swiglu", norm: "rms_norm", bias: false });
   * layer.parameterCount // → 5244416
   */
  transformerDecoderLayer(options: TransformerLayerOptions): TransformerDecoderLayer;
  /**
   * Token embeddings with positions; parameters are to be loaded.
   * @example
   * const embedding = engine.embedding({ positions: "learned" });
   * embedding.loadStateDict({
   *   weight: { data: [1, 2, 3, 4], shape: [2, 2] },
   *   position_embeddings: { data: [0.5, 0.5, 10, 10], shape: [2, 2] },
   * });
   * embedding.forward({ data: [0, 0], shape: [2] }).output.data // → [1.5, 2.5, 11, 12]
   */
  embedding(options?: Maybe<EmbeddingOptions>): Embedding;
  /**
   * Loads a model in Hugging Face form; weights keep the 16 bit that their file has. Whatever its files hold does no more harm than an
   * error, but for one thing: a regular expression in tokenizer.json may take for ever on some text, which JavaScript cannot end from
   * inside. Load a tokenizer.json from strangers with `worker: true`, where `dispose()` of the engine ends it.
   * @example
   * const model = await engine.loadModel("tiny", { onProgress: (loaded, total) => console.assert(loaded <= total || total === 0) });
   * [model.info.layers, model.info.heads] // → [4, 8]
   */
  loadModel(source: ModelSource, options?: Maybe<LoadModelOptions>): Promise<Model>;
  /**
   * Colours a matrix [rows, cols]; NaN cells are transparent.
   * @example
   * const { width, height, data } = engine.colorize({ data: [0, 0.5, 1, NaN], shape: [2, 2] });
   * [width, height, data.length, data[15]] // → [2, 2, 16, 0]
   */
  colorize(matrix: TensorLike, options?: Maybe<ColorOptions>): Image;
  /**
   * `steps` colours from min to max, RGBA.
   * @example
   * engine.colorbar(256, { theme: "dark" }).length // → 1024
   */
  colorbar(steps: number, options?: Maybe<ColorbarOptions>): Uint8ClampedArray;
  /**
   * Runs what pages compute first on made-up numbers, in short turns, so that the optimising compiler has seen it before it counts: the
   * first calls after `load` take several times as long as later ones. Takes about a sixth of a second, so it is for the time while
   * something else is waited for, a model's files say. Results are the same with it and without. Rejects when the engine is disposed
   * meanwhile.
   * @example
   * const [model] = await Promise.all([engine.loadModel("tiny"), engine.warmUp()]);
   * model.attend("The cat").tokens.length // → 3
   */
  warmUp(): Promise<void>;
  /**
   * Bytes in use on this engine's wasm heap.
   * @example
   * engine.heapBytes() > 0 // → true
   */
  heapBytes(): number;
  dispose(): void;
}

export interface LoadOptions {
  /** "auto" (default) takes the relaxed-SIMD build where the engine validates it. */
  simd?: Maybe<"auto" | "baseline" | "relaxed">;
  /**
   * How many threads share the work, from 1 to 64, the one that the engine runs in among them. By default as many as there are cores, up to
   * four, in a page that is cross-origin isolated, and 1 elsewhere, in Node too. Pages that are not isolated have one thread whatever is
   * asked for; `engine.info.threads` says how many there are. Results are the same for any number.
   */
  threads?: Maybe<number>;
  /** Where the .wasm files are, when not beside the module: their folder, or one of the files. */
  wasmUrl?: Maybe<string | URL>;
  /** Run in a worker: the same methods return promises. */
  worker?: Maybe<boolean>;
  /**
   * A model whose files are asked for at once, beside the engine's own code: a built-in name or the URL of a Hugging Face folder, as
   * `loadModel` takes it. The first `loadModel` of it finds them under way.
   */
  prefetch?: Maybe<string | URL>;
}

type Promised<T> = T extends (...args: infer A) => infer R ? (...args: A) => Promise<AsyncOf<Awaited<R>>> : T;

type AsyncMembers<T, Except = never> = { [K in keyof T as K extends Except | symbol | "dispose" ? never : K]: Promised<T[K]> }
  & Disposable & { dispose(): void };

/** The same object seen through a worker: methods return promises, properties stay values. */
export type AsyncOf<T> = T extends Disposable ? AsyncMembers<T> : T;

// The types below have methods whose results depend on their options, to which such a type would not do justice.

/** As `CachedAttention`, with promises. */
export interface AsyncCachedAttention extends AsyncMembers<AttentionCache> {
  forward<W extends boolean = false, const S extends readonly Stage[] = []>(
    q: TensorLike, k: TensorLike, v: TensorLike,
    options?: Maybe<CachedOptions<ScaledDotProductAttentionOptions> & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
}

/** As `LayerCache`, with promises. */
export interface AsyncLayerCache<O, N extends boolean = false> extends AsyncMembers<AttentionCache> {
  forward<W extends boolean = N, const S extends readonly Stage[] = []>(
    x: TensorLike, options?: Maybe<CachedOptions<O> & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
}

/** As `DecoderLayerCache`, with promises. */
export interface AsyncDecoderLayerCache extends AsyncMembers<AttentionCache> {
  forward<W extends boolean = false, const S extends readonly (Stage | MemoryStage)[] = []>(
    tgt: TensorLike, memory: TensorLike, options?: Maybe<CachedOptions<DecoderLayerOptions> & Asked<W, S>>,
  ): Promise<DecoderLayerResult<W, S>>;
}

/** As `MultiheadAttention`, with promises. */
export interface AsyncMultiheadAttention extends AsyncMembers<Layer> {
  /** One signature, so that it can be called on what is either this or a `MultiheadAttention`. */
  forward<W extends boolean = true, const S extends readonly Stage[] = []>(
    query: TensorLike, key?: Maybe<TensorLike | (AttentionOptions & Asked<W, S>)>,
    value?: Maybe<TensorLike | (AttentionOptions & Asked<W, S>)>, options?: Maybe<AttentionOptions & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
  startCache(options?: Maybe<CacheOptions>): Promise<AsyncLayerCache<AttentionOptions, true>>;
}

/** As `TransformerEncoderLayer`, with promises. */
export interface AsyncTransformerEncoderLayer extends AsyncMembers<Layer> {
  forward<W extends boolean = false, const S extends readonly Stage[] = []>(
    src: TensorLike, options?: Maybe<EncoderLayerOptions & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
  startCache(options?: Maybe<CacheOptions>): Promise<AsyncLayerCache<EncoderLayerOptions>>;
}

/** As `TransformerDecoderLayer`, with promises. */
export interface AsyncTransformerDecoderLayer extends AsyncMembers<Layer> {
  forward<W extends boolean = false, const S extends readonly (Stage | MemoryStage)[] = []>(
    tgt: TensorLike, memory: TensorLike, options?: Maybe<DecoderLayerOptions & Asked<W, S>>,
  ): Promise<DecoderLayerResult<W, S>>;
  startCache(options?: Maybe<CacheOptions>): Promise<AsyncDecoderLayerCache>;
}

export type AsyncEmbedding = AsyncOf<Embedding>;
export type AsyncModelAttention = AsyncOf<ModelAttention>;
export type AsyncDecoding = AsyncOf<Decoding>;

/** As `Model`, with promises. */
export interface AsyncModel extends AsyncMembers<Model, "rankHeads"> {
  rankHeads: Model["rankHeads"];
}

type OwnTypes = "scaledDotProductAttention" | "headMetrics" | "headMetricCounts" | "cachedAttention" | "multiheadAttention"
  | "transformerEncoderLayer" | "transformerDecoderLayer" | "loadModel";

/** As `Engine`, with promises. */
export interface AsyncEngine extends AsyncMembers<Engine, OwnTypes> {
  scaledDotProductAttention<W extends boolean = false, const S extends readonly Stage[] = []>(
    q: TensorLike, k: TensorLike, v: TensorLike, options?: Maybe<ScaledDotProductAttentionOptions & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
  headMetrics<M extends MetricName = MetricName>(
    weights: TensorLike, options?: Maybe<HeadMetricsOptions<M>>,
  ): Promise<Record<M, number | null>[]>;
  headMetricCounts<M extends MetricName = MetricName>(
    weights: TensorLike, options?: Maybe<HeadMetricsOptions<M>>,
  ): Promise<Record<M, number>[]>;
  cachedAttention(options?: Maybe<CacheOptions>): Promise<AsyncCachedAttention>;
  multiheadAttention(options: MultiheadAttentionOptions): Promise<AsyncMultiheadAttention>;
  transformerEncoderLayer(options: TransformerLayerOptions): Promise<AsyncTransformerEncoderLayer>;
  transformerDecoderLayer(options: TransformerLayerOptions): Promise<AsyncTransformerDecoderLayer>;
  loadModel(source: ModelSource, options?: Maybe<LoadModelOptions>): Promise<AsyncModel>;
}

/** Starts an engine: fetches and compiles the wasm build that this browser or Node runs best. Rejects with a HeadlensError. */
export interface Load {
  /**
   * In a worker of its own: the same methods return promises.
   * @example
   * import { load } from "headlens";
   * const inWorker = await load({ worker: true });
   * const { data } = await inWorker.alibiSlopes(2);
   * data // → [0.0625, 0.0039]
   * inWorker.dispose();
   */
  (options: LoadOptions & { worker: true }): Promise<AsyncEngine>;
  (options?: Maybe<LoadOptions & { worker?: Maybe<false> }>): Promise<Engine>;
  (options: LoadOptions): Promise<Engine | AsyncEngine>;
}
