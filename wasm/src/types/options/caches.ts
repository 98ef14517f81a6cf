// SPDX-License-Identifier: Apache-2.0
/** The options of what keeps keys and values from step to step. */
import type { Maybe } from "../tensors.js";

export interface DecodingOptions {
  /** In what keys and values are kept: "float32" (default), or rounded to the nearest "bfloat16", in half the memory. */
  dtype?: Maybe<"float32" | "bfloat16">;
}

export interface CacheOptions extends DecodingOptions {
  /** A query looks at so many of the latest tokens, itself included, and no more are kept (a rolling window). Default 0: all. */
  window?: Maybe<number>;
}
