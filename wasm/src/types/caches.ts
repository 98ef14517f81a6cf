// SPDX-License-Identifier: Apache-2.0
/** Caches keep the keys and values of the tokens so far, for attention step by step. */
import type { ScaledDotProductAttentionOptions } from "./options/attention.js";
import type { DecoderLayerOptions } from "./options/layers.js";
import type { Asked, AttentionResult, DecoderLayerResult } from "./results.js";
import type { Maybe, TensorLike } from "./tensors.js";
import type { MemoryStage, Stage } from "./vocabulary.js";

/** A cache of the keys and values of earlier tokens. A call that fails leaves it unchanged. */
export interface AttentionCache extends Disposable {
  /** The number of tokens so far. */
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

/** The options of a cache's call. Masks and S include the kept keys, and `isCausal` is true by default. */
export type CachedOptions<O> = Omit<O, "pastKey" | "pastValue">;

export interface CachedAttention extends AttentionCache {
  /**
   * Appends k and v, and attends to all keys that are kept. Shapes are those of scaledDotProductAttention. With a q of no rows (T = 0) it only
   * appends, which is the way to fill a cache with keys and values from elsewhere.
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

/** The cache of a layer whose `forward` takes the options O. N says whether it returns weights by default. */
export interface LayerCache<O, N extends boolean = false> extends AttentionCache {
  /**
   * Computes the layer's self-attention for the next tokens x, which are [T,B,D], [B,T,D] with batchFirst, or [T,D].
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

export interface DecoderLayerCache extends AttentionCache {
  /**
   * Computes the layer's output for the next tokens tgt, with the whole memory. Shapes are those of the layer's `forward`.
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
