// SPDX-License-Identifier: Apache-2.0
/** The engine, from which everything else is made. */
import type { Analyses } from "./analyses.js";
import type { CachedAttention } from "./caches.js";
import type { Embedding, MultiheadAttention, TransformerDecoderLayer, TransformerEncoderLayer } from "./layers.js";
import type { AttentionMaps } from "./maps.js";
import type { Difference } from "./difference.js";
import type { Model, ModelAttention, ModelSource } from "./models.js";
import type { AttentionMapsOptions, ScaledDotProductAttentionOptions } from "./options/attention.js";
import type { CacheOptions } from "./options/caches.js";
import type { ColorbarOptions, ColorOptions } from "./options/colors.js";
import type { EmbeddingOptions, MultiheadAttentionOptions, TransformerLayerOptions } from "./options/layers.js";
import type { LoadModelOptions } from "./options/load.js";
import type { Image } from "./pictures.js";
import type { Asked, AttentionResult } from "./results.js";
import type { Maybe, TensorLike } from "./tensors.js";
import type { Stage } from "./vocabulary.js";

export interface EngineInfo {
  version: string;
  /** The build that is running. */
  simd: "baseline" | "relaxed";
  threads: number;
  /** The SIMD target of the kernels. */
  target: string;
}

export interface Engine extends Analyses, Disposable {
  readonly info: EngineInfo;
  /**
   * Computes softmax(q kᵀ · scale + mask) v for q [B,H,T,d], k [B,G,S,d] and v [B,G,S,dv], with the output [B,H,T,dv]. Inputs of 3 dimensions are
   * [B,T,d] with one head, and inputs of 2 are [T,d] with one head and no batch. Results then lack the same dimensions.
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
   * Makes the maps of queries q [B,H,T,d] and keys k [B,G,S,d], of any length: they are computed as they are looked at. Inputs of 3 dimensions are
   * [H,T,d] and [G,S,d], as a model's attention returns them, and inputs of 2 are [T,d] and [S,d] with one head.
   * @example
   * const model = await engine.loadModel("tiny");
   * const seen = model.attend("The cat sat on the mat.");
   * const maps = engine.attentionMaps(seen.queries(1), seen.keys(1), { isCausal: true });
   * [maps.batches, maps.heads, maps.queries, maps.keys] // → [1, 8, 8, 8]
   * maps.map(0, 3).data.every((weight, i) => Math.abs(weight - seen.map(1, 3).data[i]) < 1e-6) // → true
   */
  attentionMaps(q: TensorLike, k: TensorLike, options?: Maybe<AttentionMapsOptions>): AttentionMaps;
  /**
   * Compares two runs, of two texts, of one text before and after a change, or of two models that read the same tokens.
   * @example
   * const model = await engine.loadModel("tiny");
   * const a = model.attend("The cat sat on the mat."), b = model.attend("The dog sat on the mat.");
   * const difference = engine.difference(a, b);
   * difference.pairs // → [[0, 0], [1, 1], [3, 3], [4, 4], [5, 5], [6, 6], [7, 7]]
   * difference.map(1, 3, { rows: [2, 3] }).shape // → [1, 7]
   */
  difference(a: ModelAttention, b: ModelAttention): Difference;
  /**
   * Makes a cache for attention step by step, which keeps the keys and values of earlier tokens.
   * @example
   * const cache = engine.cachedAttention({ window: 2 });
   * const token = { data: [1, 0], shape: [1, 2] };
   * for (let i = 0; i < 5; ++i) cache.forward(token, token, token);
   * cache.length // → 5
   * cache.forward(token, token, token, { needWeights: true }).weights.data // → [0.5, 0.5]
   */
  cachedAttention(options?: Maybe<CacheOptions>): CachedAttention;
  /**
   * Makes a layer like nn.MultiheadAttention. Its parameters have to be loaded.
   * @example
   * const mha = engine.multiheadAttention({ embedDim: 512, numHeads: 8, numKvHeads: 2, batchFirst: true });
   * mha.parameterCount // → 656640
   */
  multiheadAttention(options: MultiheadAttentionOptions): MultiheadAttention;
  /**
   * Makes a layer like nn.TransformerEncoderLayer. Its parameters have to be loaded.
   * @example
   * const layer = engine.transformerEncoderLayer({ embedDim: 512, numHeads: 8, activation: "gelu", normFirst: true });
   * layer.parameterCount // → 3152384
   */
  transformerEncoderLayer(options: TransformerLayerOptions): TransformerEncoderLayer;
  /**
   * Makes a layer like nn.TransformerDecoderLayer. Its parameters have to be loaded.
   * @example
   * const layer = engine.transformerDecoderLayer({ embedDim: 512, numHeads: 8, activation: "swiglu", norm: "rms_norm", bias: false });
   * layer.parameterCount // → 5244416
   */
  transformerDecoderLayer(options: TransformerLayerOptions): TransformerDecoderLayer;
  /**
   * Makes token embeddings with positions. Their parameters have to be loaded.
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
   * Loads a model in Hugging Face's format. Weights of 16 bits stay 16-bit. Bad files cause errors and no other harm. A tokenizer.json takes time
   * in proportion to a text's length, or gives up on the text with a "value" error.
   * @example
   * const model = await engine.loadModel("tiny", { onProgress: (loaded, total) => console.assert(loaded <= total || total === 0) });
   * [model.info.layers, model.info.heads] // → [4, 8]
   */
  loadModel(source: ModelSource, options?: Maybe<LoadModelOptions>): Promise<Model>;
  /**
   * Colours a matrix [rows, cols]. NaN cells are transparent.
   * @example
   * const { width, height, data } = engine.colorize({ data: [0, 0.5, 1, NaN], shape: [2, 2] });
   * [width, height, data.length, data[15]] // → [2, 2, 16, 0]
   */
  colorize(matrix: TensorLike, options?: Maybe<ColorOptions>): Image;
  /**
   * Returns `steps` colours from min to max, in RGBA.
   * @example
   * engine.colorbar(256, { theme: "dark" }).length // → 1024
   */
  colorbar(steps: number, options?: Maybe<ColorbarOptions>): Uint8ClampedArray;
  /**
   * Runs typical computations on made-up numbers, in short turns, so that the browser has optimised the code before it is needed. Without it, the
   * first calls after `load` take several times as long as later ones. It takes about a sixth of a second, so call it while something else is
   * awaited, such as a model's files. It does not change any result. Rejects when the engine is disposed meanwhile.
   * @example
   * const [model] = await Promise.all([engine.loadModel("tiny"), engine.warmUp()]);
   * model.attend("The cat").tokens.length // → 3
   */
  warmUp(): Promise<void>;
  /**
   * Returns the number of bytes in use on this engine's wasm heap.
   * @example
   * engine.heapBytes() > 0 // → true
   */
  heapBytes(): number;
  dispose(): void;
}
