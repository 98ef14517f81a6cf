// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const queries = { data: [1, 0, 0, 1], shape: [2, 2] };
const keys = { data: [1, 2, 0, 0, 1, 1], shape: [3, 2] };
const options = { scale: 1, needWeights: true, dropoutP: 0.5, seed: 3, stages: ["dropoutMask", "droppedWeights"] };
const { weights, dropoutMask, droppedWeights } = engine.scaledDotProductAttention(queries, keys, keys, options);
console.log(...weights.data);
console.log(...dropoutMask.data); // a 0 drops a weight
console.log(...droppedWeights.data); // the others are divided by 1 − 0.5
