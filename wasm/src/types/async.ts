// SPDX-License-Identifier: Apache-2.0
/** The same objects in a worker, whose methods return promises. */
import type { AttentionCache, CachedOptions } from "./caches.js";
import type { Engine } from "./engine.js";
import type { Embedding, Layer } from "./layers.js";
import type { AttentionMaps } from "./maps.js";
import type { Difference } from "./difference.js";
import type { CellExplanation, HeadPatch, PatchSource, RowExplanation } from "./explanations.js";
import type {
  AgainOptions, Decoding, FollowedAgainOptions, FollowedAttendOptions, Model, ModelAttention, ModelInput, ModelSource,
} from "./models.js";
import type { HeadMetricsOptions } from "./options/analyses.js";
import type { AttentionOptions, ScaledDotProductAttentionOptions } from "./options/attention.js";
import type { CacheOptions } from "./options/caches.js";
import type {
  DecoderLayerOptions, EncoderLayerOptions, MultiheadAttentionOptions, TransformerLayerOptions,
} from "./options/layers.js";
import type { ExplainOptions } from "./options/explanations.js";
import type { LoadModelOptions } from "./options/load.js";
import type { AttendOptions } from "./options/models.js";
import type { Asked, AttentionResult, DecoderLayerResult } from "./results.js";
import type { Maybe, TensorLike } from "./tensors.js";
import type { MemoryStage, MetricName, Stage } from "./vocabulary.js";

type Promised<T> = T extends (...args: infer A) => infer R ? (...args: A) => Promise<AsyncOf<Awaited<R>>> : T;

type AsyncMembers<T, Except = never> = { [K in keyof T as K extends Except | symbol | "dispose" ? never : K]: Promised<T[K]> }
  & Disposable & { dispose(): void };

/** The type of an object in a worker: its methods return promises, and its properties stay values. */
export type AsyncOf<T> = T extends Disposable ? AsyncMembers<T> : T;

// The types below are written out, since the results of their methods depend on the options, which AsyncOf would lose.

/** `CachedAttention` with promises. */
export interface AsyncCachedAttention extends AsyncMembers<AttentionCache> {
  forward<W extends boolean = false, const S extends readonly Stage[] = []>(
    q: TensorLike, k: TensorLike, v: TensorLike,
    options?: Maybe<CachedOptions<ScaledDotProductAttentionOptions> & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
}

/** `LayerCache` with promises. */
export interface AsyncLayerCache<O, N extends boolean = false> extends AsyncMembers<AttentionCache> {
  forward<W extends boolean = N, const S extends readonly Stage[] = []>(
    x: TensorLike, options?: Maybe<CachedOptions<O> & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
}

/** `DecoderLayerCache` with promises. */
export interface AsyncDecoderLayerCache extends AsyncMembers<AttentionCache> {
  forward<W extends boolean = false, const S extends readonly (Stage | MemoryStage)[] = []>(
    tgt: TensorLike, memory: TensorLike, options?: Maybe<CachedOptions<DecoderLayerOptions> & Asked<W, S>>,
  ): Promise<DecoderLayerResult<W, S>>;
}

/** `MultiheadAttention` with promises. */
export interface AsyncMultiheadAttention extends AsyncMembers<Layer> {
  /** It has a single signature, so that it can be called on an object that is either this or a `MultiheadAttention`. */
  forward<W extends boolean = true, const S extends readonly Stage[] = []>(
    query: TensorLike, key?: Maybe<TensorLike | (AttentionOptions & Asked<W, S>)>,
    value?: Maybe<TensorLike | (AttentionOptions & Asked<W, S>)>, options?: Maybe<AttentionOptions & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
  startCache(options?: Maybe<CacheOptions>): Promise<AsyncLayerCache<AttentionOptions, true>>;
}

/** `TransformerEncoderLayer` with promises. */
export interface AsyncTransformerEncoderLayer extends AsyncMembers<Layer> {
  forward<W extends boolean = false, const S extends readonly Stage[] = []>(
    src: TensorLike, options?: Maybe<EncoderLayerOptions & Asked<W, S>>,
  ): Promise<AttentionResult<W, S>>;
  startCache(options?: Maybe<CacheOptions>): Promise<AsyncLayerCache<EncoderLayerOptions>>;
}

/** `TransformerDecoderLayer` with promises. */
export interface AsyncTransformerDecoderLayer extends AsyncMembers<Layer> {
  forward<W extends boolean = false, const S extends readonly (Stage | MemoryStage)[] = []>(
    tgt: TensorLike, memory: TensorLike, options?: Maybe<DecoderLayerOptions & Asked<W, S>>,
  ): Promise<DecoderLayerResult<W, S>>;
  startCache(options?: Maybe<CacheOptions>): Promise<AsyncDecoderLayerCache>;
}

export type AsyncEmbedding = AsyncOf<Embedding>;
export type AsyncAttentionMaps = AsyncOf<AttentionMaps>;
/** `ModelAttention` with promises. */
export interface AsyncModelAttention extends AsyncMembers<ModelAttention, "again" | "attend" | "explain" | "paths"> {
  again(options?: Maybe<AgainOptions | FollowedAgainOptions>): Promise<AsyncModelAttention>;
  attend(input: ModelInput, options?: Maybe<AttendOptions | FollowedAttendOptions>): Promise<AsyncModelAttention>;
  paths: ModelAttention["paths"];
  explain(options: ExplainOptions & { key: number }): Promise<CellExplanation>;
  explain(options: ExplainOptions & { key?: null | undefined }): Promise<RowExplanation>;
}
export type AsyncDecoding = AsyncOf<Decoding>;
export type AsyncDifference = AsyncOf<Difference>;

/** `Model` with promises. */
export interface AsyncModel extends AsyncMembers<Model, "attend" | "patch" | "rankHeads"> {
  patch(source: PatchSource<AsyncModelAttention>): Promise<HeadPatch>;
  attend(input: ModelInput, options?: Maybe<AttendOptions | FollowedAttendOptions>): Promise<AsyncModelAttention>;
  rankHeads: Model["rankHeads"];
}

type OwnTypes = "scaledDotProductAttention" | "headMetrics" | "headMetricCounts" | "cachedAttention" | "multiheadAttention"
  | "transformerEncoderLayer" | "transformerDecoderLayer" | "loadModel" | "difference";

/** `Engine` with promises. */
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
  difference(a: AsyncModelAttention, b: AsyncModelAttention): Promise<AsyncDifference>;
}
