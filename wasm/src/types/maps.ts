// SPDX-License-Identifier: Apache-2.0
/** Maps of heads, which are computed when they are looked at, and what they say of themselves in a few numbers. */
import type { MapOptions, OverviewOptions, RowSummariesOptions } from "./options/models.js";
import type { Maybe, Tensor } from "./tensors.js";

/** The facts about whole rows of a map that a part of it does not show. Each has the shape [rows]. */
export interface RowSummaries {
  /** ln Σ exp of the row's masked scores. It is -Infinity for a query that may look at no key. */
  lse: Tensor;
  /** The largest weight of the row. */
  largest: Tensor;
  /** The number of keys that the query may look at. */
  keys: Tensor;
}

/** Pictures of several heads, with the facts about their rows that a scale of colours needs. H' is the number of these heads. */
export interface Overview {
  /** The maps, or smaller pictures of them: [H',rows,columns]. */
  maps: Tensor;
  /** The largest weight of each row, [H',T]. */
  largest: Tensor;
  /** The number of keys that each query may look at, [H',T]. */
  keys: Tensor;
}

/**
 * The maps of given queries and keys. They are computed when they are looked at, so that only the queries and keys are in memory, which are copies
 * and are released by `dispose`.
 */
export interface AttentionMaps extends Disposable {
  readonly batches: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  /**
   * Returns the attention weights of one head, [rows, columns]: all of them, a part, or a smaller picture of either, as the `map` of a model's
   * attention does.
   * @example
   * const q = { data: Float32Array.from({ length: 2 * 6 * 4 }, (_, i) => Math.sin(i)), shape: [2, 6, 4] };
   * const maps = engine.attentionMaps(q, q, { isCausal: true });
   * maps.map(0, 1).shape // → [6, 6]
   * maps.map(0, 1, { rows: [0, 1] }).data // → [1, 0, 0, 0, 0, 0]
   * maps.map(0, 1, { pool: [2, 3], pooling: "max" }).shape // → [2, 3]
   */
  map(batch: number, head: number, options?: Maybe<MapOptions>): Tensor;
  /**
   * Returns what whole rows of one head's map come to. Rows are summarised once, and later parts of them take only the work of their own cells.
   * @example
   * const q = { data: [1, 0, 0, 1], shape: [2, 2] };
   * const { lse, largest, keys } = engine.attentionMaps(q, q, { isCausal: true }).rowSummaries(0, 0);
   * lse.data // → [0.707, 1.108]
   * largest.data // → [1, 0.67]
   * keys.data // → [1, 2]
   */
  rowSummaries(batch: number, head: number, options?: Maybe<RowSummariesOptions>): RowSummaries;
  /**
   * Returns pictures of several heads of one batch at once.
   * @example
   * const q = { data: Float32Array.from({ length: 2 * 6 * 4 }, (_, i) => Math.sin(i)), shape: [2, 6, 4] };
   * const { maps, largest, keys } = engine.attentionMaps(q, q).overview(0, { pool: [3, 3] });
   * [maps.shape, largest.shape, keys.shape] // → [[2, 3, 3], [2, 6], [2, 6]]
   */
  overview(batch: number, options?: Maybe<OverviewOptions>): Overview;
  dispose(): void;
}
