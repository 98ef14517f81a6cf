// SPDX-License-Identifier: Apache-2.0
/** Parts that several lessons about masks have in common. */
import { count, sum } from "../../experiments/numbers.js";

export const kWords = ["cat", "sat", "on", "mat"];

/** The cells above the diagonal, row by row: the keys that come after their query. */
export const later = (length: number): boolean[] =>
  count(length).flatMap((_, row) => count(length).map((__, col) => col > row));

/** True when each row sums to 1, to within rounding. */
export const sumToOne = (weights: readonly (readonly number[])[]): boolean =>
  weights.every((row) => Math.abs(sum(row) - 1) < 1e-5);
