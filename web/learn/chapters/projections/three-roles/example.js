// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const column = (...data) => ({ data, shape: [2, 1] }); // a number for each of two tokens
const print = (q, k, v) => {
  const { weights, output } = engine.scaledDotProductAttention(q, k, v, { scale: 1, needWeights: true });
  console.log(...weights.data, ...output.data);
};
print(column(1, 2), column(0.5, 1), column(1, 3));
print(column(1, -2), column(0.5, 1), column(1, 3)); // another query of token 1: its row of weights changes
print(column(1, 2), column(0.5, -1), column(1, 3)); // another key of token 1: both rows change
print(column(1, 2), column(0.5, 1), column(1, -3)); // another value of token 1: only the outputs change
