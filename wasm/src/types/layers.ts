// SPDX-License-Identifier: Apache-2.0
/** Layers with parameters. */
import type { DecoderLayerCache, LayerCache } from "./caches.js";
import type { AttentionOptions } from "./options/attention.js";
import type { CacheOptions } from "./options/caches.js";
import type { DecoderLayerOptions, EmbeddingCallOptions, EncoderLayerOptions } from "./options/layers.js";
import type { Asked, AttentionResult, DecoderLayerResult } from "./results.js";
import type { StateDict } from "./state-dict.js";
import type { IntegerTensor, Maybe, Tensor, TensorLike } from "./tensors.js";
import type { MemoryStage, Stage } from "./vocabulary.js";

/** A layer has parameters, which have to be loaded before the first `forward`. */
export interface Parametrized extends Disposable {
  /**
   * Loads all parameters at once. A missing or unexpected name, or a shape that does not fit, is an error, and leaves the earlier parameters in
   * place.
   * @example
   * const embedding = engine.embedding();
   * embedding.loadStateDict({ weight: { data: [1, 2, 3, 4], shape: [2, 2] } });
   * embedding.forward({ data: [1], shape: [1] }).output.data // → [3, 4]
   */
  loadStateDict(state: StateDict): void;
  dispose(): void;
}

export interface Layer extends Parametrized {
  /** The number of parameters as PyTorch counts them: 4·D² + 4·D for multi-head attention with biases. */
  readonly parameterCount: number;
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
   * Computes the layer's output. key defaults to query, and value to key. Shapes are PyTorch's: [T,B,D], [B,T,D] with batchFirst, or [T,D].
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

export interface TransformerEncoderLayer extends Layer {
  /**
   * Computes the layer's output. src is [T,B,D], [B,T,D] with batchFirst, or [T,D], and the output has its shape.
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

export interface TransformerDecoderLayer extends Layer {
  /**
   * Computes the layer's output, which has tgt's shape. tgt and memory are [T,B,D] and [S,B,D], [B,T,D] and [B,S,D] with batchFirst, or
   * [T,D] and [S,D].
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
   * Starts step-by-step decoding with this layer. The keys and values of the memory are computed again in each step.
   * @example
   * const layer = engine.transformerDecoderLayer({ embedDim: 2, numHeads: 1 });
   * layer.startCache().length // → 0
   */
  startCache(options?: Maybe<CacheOptions>): DecoderLayerCache;
}

/** Token embeddings. Their parameters are `weight` [V,D] and, when positions are "learned", `position_embeddings` [L,D]. */
export interface Embedding extends Parametrized {
  /**
   * Looks up ids [T] or [B,T], which are whole numbers below V and not in an array of floats. The output is [T,D] or [B,T,D].
   * @example
   * const embedding = engine.embedding({ positions: "sinusoidal" });
   * embedding.loadStateDict({ weight: { data: [1, 2, 3, 4], shape: [2, 2] } });
   * embedding.forward({ data: [1, 0], shape: [2] }).output.data // → [3, 5, 1.8415, 2.5403]
   */
  forward(ids: IntegerTensor, options?: Maybe<EmbeddingCallOptions>): { output: Tensor };
}
