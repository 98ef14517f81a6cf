// SPDX-License-Identifier: Apache-2.0
import type { kConventions } from "./vocabulary.js";

/**
 * The names of libraries, each of which stands for the choices of that library where libraries disagree. `maskTrue` says whether true in a boolean
 * mask keeps or ignores a key, `causalAlignment` how queries and keys are aligned when T ≠ S, `fullyMasked` the result of a row that sees no key, and
 * `maskedNan` whether a NaN in a masked key or value has an effect.
 *
 * |                  | maskTrue | causalAlignment | fullyMasked                       | maskedNan |
 * |------------------|----------|-----------------|-----------------------------------|-----------|
 * | "torch-mha"      | ignore   | top_left        | nan, where by default it is zeros | blocked   |
 * | "torch-sdpa"     | keep     | top_left        | zero                              | spreads   |
 * | "onnx", "flash"  | keep     | bottom_right    | zero                              | blocked   |
 * | "keras"          | keep     | top_left        | zero                              | blocked   |
 * | "jax"            | keep     | top_left        | uniform: the mean of all values   | blocked   |
 *
 * Without conventions, layers have the maskTrue and causalAlignment of "torch-mha", and scaledDotProductAttention has those of "torch-sdpa". Both
 * have fullyMasked "zero" and maskedNan "blocked".
 */
export type Conventions = (typeof kConventions)[number];
