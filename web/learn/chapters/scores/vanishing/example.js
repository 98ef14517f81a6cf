// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [4, 0, 0], shape: [3, 1] }; // with a query of 1, they are the scores
const { weights } = engine.scaledDotProductAttention(query, keys, keys, { scale: 1, needWeights: true });
const w = [...weights.data];
console.log(...w);
for (const [i, own] of w.entries()) console.log(...w.map((other, j) => (i === j ? own * (1 - own) : -own * other)));
