// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [3, 3, 3, 3, 3], shape: [5, 1] }; // with a query of 1, they are the scores
const values = { data: [4, 0, 0, 4, 2, 2, 8, -2, 1, 6], shape: [5, 2] };
const { weights, output } = engine.scaledDotProductAttention(query, keys, values, { needWeights: true });
const mean = [0, 1].map((axis) => values.data.reduce((sum, one, i) => sum + (i % 2 === axis ? one / 5 : 0), 0));
console.log(...weights.data);
console.log(...output.data, ...mean);
