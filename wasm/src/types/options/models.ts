// SPDX-License-Identifier: Apache-2.0
/** The options of loading a model, of running it, and of looking at its maps. */
import type { Maybe, TensorLike } from "../tensors.js";
import type { MetricName, ModelMetricName } from "../vocabulary.js";
import type { AbortSignal } from "../web.js";

export interface LoadModelOptions {
  signal?: Maybe<AbortSignal>;
  /** Called with loaded and total bytes (total 0 when unknown). What it throws ends the loading, which then rejects with that. */
  onProgress?: Maybe<(loaded: number, total: number) => void>;
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

export interface MapOptions {
  /** Half-open range of query rows; default all. */
  rows?: Maybe<readonly [number, number]>;
  /** Mean-pooled down to at most [rows, cols]. */
  pool?: Maybe<readonly [number, number]>;
}

export interface LogitsOptions {
  /** Half-open range of rows; default all. */
  rows?: Maybe<readonly [number, number]>;
}

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
