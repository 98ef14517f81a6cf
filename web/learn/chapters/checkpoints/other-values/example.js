// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [3, 1, 0], shape: [3, 1] }; // with a query of 1, they are the scores
const attend = (values) =>
  engine.scaledDotProductAttention(query, keys, { data: values, shape: [3, 2] }, { needWeights: true });
const [first, second] = [attend([1, 0, 0, 1, -1, -1]), attend([5, 5, -4, 2, 0, 8])];
console.log(...second.weights.data); // the same as those of the first
console.log(...first.output.data);
console.log(...second.output.data);
