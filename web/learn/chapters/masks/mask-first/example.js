// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const scores = { data: [1, 0.5, 3, 0.5, 1, 2, 1, 0, 1], shape: [3, 3] };
const identity = { data: [1, 0, 0, 0, 1, 0, 0, 0, 1], shape: [3, 3] };
const options = { scale: 1, needWeights: true };
const first = engine.scaledDotProductAttention(scores, identity, identity, { ...options, isCausal: true }).weights;
const open = engine.scaledDotProductAttention(scores, identity, identity, options).weights;
const late = open.data.map((weight, cell) => (cell % 3 > Math.floor(cell / 3) ? 0 : weight));
for (const weights of [first.data, late])
  console.log(...[0, 3, 6].map((row) => weights[row] + weights[row + 1] + weights[row + 2]));
