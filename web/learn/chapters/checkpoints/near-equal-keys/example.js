// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const queries = { data: [1, 0, 0, 1, -1, -0.5], shape: [3, 2] };
const keys = { data: [1.5, 0.5, 1.6, 0.4, -1, 1, -0.5, -1.5], shape: [4, 2] }; // cat, kitten, ran, blue
const { weights } = engine.scaledDotProductAttention(queries, keys, keys, { scale: 1, needWeights: true });
for (const query of [0, 1, 2]) console.log(...weights.data.subarray(4 * query, 4 * query + 4));
