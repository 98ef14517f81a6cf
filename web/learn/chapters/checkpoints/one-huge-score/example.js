// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [10, 0, 0, 0], shape: [4, 1] }; // with a query of 1, they are the scores
const values = { data: [0, 1, 1, 0, 0, -1, -1, 0], shape: [4, 2] };
const { weights, output } = engine.scaledDotProductAttention(query, keys, values, { needWeights: true });
console.log(...weights.data);
console.log(...output.data);
