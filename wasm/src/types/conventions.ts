// SPDX-License-Identifier: Apache-2.0
import type { kConventions } from "./vocabulary.js";

/**
 * Libraries disagree on some points, and each of these names stands for the choices of one. `maskTrue` says whether a true in a boolean mask
 * keeps a key or has it ignored, `causalAlignment` which corner the diagonal starts from when T ≠ S, `fullyMasked` what a row gets that
 * sees no key, and `maskedNan` whether a NaN behind a mask stays there.
 *
 * |                  | maskTrue | causalAlignment | fullyMasked                       | maskedNan |
 * |------------------|----------|-----------------|-----------------------------------|-----------|
 * | "torch-mha"      | ignore   | top_left        | nan, where by default it is zeros | blocked   |
 * | "torch-sdpa"     | keep     | top_left        | zero                              | spreads   |
 * | "onnx", "flash"  | keep     | bottom_right    | zero                              | blocked   |
 * | "keras"          | keep     | top_left        | zero                              | blocked   |
 * | "jax"            | keep     | top_left        | uniform: the mean of all values   | blocked   |
 *
 * Without any, layers have the maskTrue and causalAlignment of "torch-mha", scaledDotProductAttention those of "torch-sdpa", and both
 * fullyMasked zero and maskedNan blocked.
 */
export type Conventions = (typeof kConventions)[number];
