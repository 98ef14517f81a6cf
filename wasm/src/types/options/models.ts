// SPDX-License-Identifier: Apache-2.0
/** These are the options of loading a model, of running it, and of looking at its maps. */
import type { Maybe, TensorLike } from "../tensors.js";
import type { MetricName, ModelMetricName } from "../vocabulary.js";
import type { AbortSignal } from "../web.js";

export interface LoadModelOptions {
  signal?: Maybe<AbortSignal>;
  /** It is called with loaded and total bytes (total 0 when unknown). What it throws ends the loading, which then rejects with that. */
  onProgress?: Maybe<(loaded: number, total: number) => void>;
}

export interface AttendOptions {
  /** Of a text with more tokens than the model has positions, only the beginning is read. Without it that is an error. The default is false. */
  truncate?: Maybe<boolean>;
  /** This second text stands behind the first, for models with segments (BERT). */
  textPair?: Maybe<string>;
  /** With token ids, this is the segment of each. The default is 0 for all. */
  segments?: Maybe<readonly number[]>;
  /** With token ids, this is true where a token is padding, at which nobody looks. */
  paddingMask?: Maybe<readonly boolean[]>;
  /** [layers, heads] has factors on each head's weights. 0 ablates the head. */
  headMask?: Maybe<TensorLike>;
  /** This token's value vectors are 0 (value zeroing), in every layer or in `zeroedLayer` only. */
  zeroedToken?: Maybe<number>;
  /** Only this layer zeroes values. It needs `zeroedToken`. */
  zeroedLayer?: Maybe<number>;
  /** The stream before each layer is kept, for `hidden`. The default is false. */
  keepHidden?: Maybe<boolean>;
  /** The value vectors of each layer are kept, for `values`. The default is false. */
  keepValues?: Maybe<boolean>;
}

export interface MapOptions {
  /** Query rows are in this half-open range. The default is all. */
  rows?: Maybe<readonly [number, number]>;
  /** The map is mean-pooled down to at most [rows, cols]. */
  pool?: Maybe<readonly [number, number]>;
}

export interface LogitsOptions {
  /** Rows are in this half-open range. The default is all. */
  rows?: Maybe<readonly [number, number]>;
}

export interface RankOptions<M extends MetricName | ModelMetricName = MetricName | ModelMetricName> {
  /** Heads are ranked by the first. The default is inductionText, previous, duplicateText, entropyNormalized, distance, sink. */
  metrics?: Maybe<readonly M[]>;
  /** The smallest values come first. The default is false. */
  ascending?: Maybe<boolean>;
  /** The metrics on special tokens count these ids. */
  specialTokens?: Maybe<readonly number[]>;
  signal?: Maybe<AbortSignal>;
  /** It is called with the part that is done, above 0 to 1. What it throws ends the call, which then rejects with that. */
  onProgress?: Maybe<(done: number) => void>;
}
