// SPDX-License-Identifier: Apache-2.0
/** The options for loading a model, running it, and looking at its maps. */
import type { Maybe, TensorLike } from "../tensors.js";
import type { MetricName, ModelMetricName } from "../vocabulary.js";
import type { AbortSignal } from "../web.js";

export interface LoadModelOptions {
  signal?: Maybe<AbortSignal>;
  /** Called with the loaded and the total bytes (0 when unknown). When it throws, loading ends and rejects with that error. */
  onProgress?: Maybe<(loaded: number, total: number) => void>;
}

export interface AttendOptions {
  /** When a text has more tokens than the model has positions, reads only its beginning instead of throwing. The default is false. */
  truncate?: Maybe<boolean>;
  /** A second text that follows the first, for models with segments (BERT). */
  textPair?: Maybe<string>;
  /** With token ids: the segment of each token. The default is 0 for all. */
  segments?: Maybe<readonly number[]>;
  /** With token ids: true where a token is padding, which no query looks at. */
  paddingMask?: Maybe<readonly boolean[]>;
  /** [layers, heads]: the factor by which each head's weights are multiplied. 0 removes the head. */
  headMask?: Maybe<TensorLike>;
  /** The token whose value vectors are set to 0 (value zeroing), in every layer or only in `zeroedLayer`. */
  zeroedToken?: Maybe<number>;
  /** The only layer that zeroes values. Needs `zeroedToken`. */
  zeroedLayer?: Maybe<number>;
  /** Keeps the residual stream before each layer for `hidden`. The default is false. */
  keepHidden?: Maybe<boolean>;
  /** Keeps the value vectors of each layer for `values`. The default is false. */
  keepValues?: Maybe<boolean>;
}

export interface MapOptions {
  /** The half-open range of query rows. The default is all rows. */
  rows?: Maybe<readonly [number, number]>;
  /** Mean-pools the map down to at most [rows, cols]. */
  pool?: Maybe<readonly [number, number]>;
}

export interface LogitsOptions {
  /** The half-open range of rows. The default is all rows. */
  rows?: Maybe<readonly [number, number]>;
}

export interface RankOptions<M extends MetricName | ModelMetricName = MetricName | ModelMetricName> {
  /**
   * The metrics to compute; the first one ranks the heads. The default is inductionText, previous, duplicateText, entropyNormalized, distance, sink.
   */
  metrics?: Maybe<readonly M[]>;
  /** Puts the smallest values first. The default is false. */
  ascending?: Maybe<boolean>;
  /** The ids that metrics of special tokens count as special. */
  specialTokens?: Maybe<readonly number[]>;
  signal?: Maybe<AbortSignal>;
  /** Called with the fraction that is done, above 0 and up to 1. When it throws, the call ends and rejects with that error. */
  onProgress?: Maybe<(done: number) => void>;
}
