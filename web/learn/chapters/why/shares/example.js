// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [7, 2, 1].map(Math.log), shape: [3, 1] }; // the softmax of logarithms gives shares
const values = { data: [2, 0, 0, 2, 1, 1], shape: [3, 2] };
const { weights, output } = engine.scaledDotProductAttention(query, keys, values, { scale: 1, needWeights: true });
console.log(...weights.data);
console.log(...output.data);
