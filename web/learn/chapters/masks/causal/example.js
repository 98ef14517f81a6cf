// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
// One row of scores for each head and word: with the identity as keys, queries are the scores.
const scores = [1, 0, 2, 0, 1, 3, 1, 1, 0, /* head 1 */ 0, 4, 1, 2, 2, 5, 0, 1, 2];
const q = { data: scores, shape: [1, 2, 3, 3] };
const k = { data: [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1], shape: [1, 2, 3, 3] };
const { weights } = engine.scaledDotProductAttention(q, k, k, { isCausal: true, scale: 1, needWeights: true });
console.log(...weights.data); // [1, 2, 3, 3]: a triangle for each head
