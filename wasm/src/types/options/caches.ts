// SPDX-License-Identifier: Apache-2.0
/** The options of caches and decodings, which keep keys and values from step to step. */
import type { Maybe } from "../tensors.js";

export interface DecodingOptions {
  /** Keys and values are kept in "float32" (default), or rounded to the nearest "bfloat16", in half the memory. */
  dtype?: Maybe<"float32" | "bfloat16">;
}

export interface CacheOptions extends DecodingOptions {
  /** The number of latest tokens that a query looks at, its own included. Only these are kept (a rolling window). The default is 0: all. */
  window?: Maybe<number>;
}
