// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [0.6, 0.3, 0.1].map(Math.log), shape: [3, 1] }; // the softmax of logarithms gives these weights
for (const mat of [3, 0]) { // the first number of the last value
  const values = { data: [1, 0, 0, 2, mat, 1], shape: [3, 2] };
  const { output } = engine.scaledDotProductAttention(query, keys, values, { scale: 1 });
  console.log(...output.data);
}
