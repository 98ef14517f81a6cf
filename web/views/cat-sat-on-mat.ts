// SPDX-License-Identifier: Apache-2.0
import type { WorkedExample } from "./worked-example.js";

/**
 * The four words of the tutorials. The projections are our own, with two decimals, and were chosen so that the heads
 * differ: in head 0 the nouns look at the verb and the verb at its nouns, and in head 1 each word looks at the words
 * most like it.
 */
export const kCatSatOnMat: WorkedExample = {
  tokens: ["cat", "sat", "on", "mat"],
  x: [
    [0.21, 0.85, 0.14, 0.62],
    [0.45, 0.33, 0.71, 0.18],
    [0.05, 0.12, 0.88, 0.09],
    [0.19, 0.79, 0.22, 0.58],
  ],
  wq: [
    [-1.19, 2, 0.27, 0.15],
    [-0.44, -1.47, -0.97, -0.75],
    [-1.13, -0.43, 1.51, 0.95],
    [-0.21, -1.34, -0.9, -0.57],
  ],
  wk: [
    [-0.74, -2, 0.61, 0.33],
    [-1.05, 0.82, -1.16, -0.81],
    [0.72, -1.36, 1.1, 0.73],
    [-0.81, 1.19, -1.02, -0.69],
  ],
  wv: [
    [0.5, -0.2, 0.9, 0.1],
    [0.3, 0.8, -0.4, 0.6],
    [-0.6, 0.4, 0.7, -0.3],
    [0.2, 0.9, 0.1, 0.5],
  ],
  wo: [
    [0.6, -0.1, 0.2, 0.4],
    [0.3, 0.7, -0.2, 0.1],
    [-0.4, 0.2, 0.8, 0.3],
    [0.1, 0.5, -0.3, 0.6],
  ],
  numHeads: 2,
};
