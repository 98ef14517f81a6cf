// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const q = { data: [1, 0, 0, 2, 1, 1], shape: [3, 2] }; // three tokens as rows
const k = { data: [0.5, 1, 1, 0, 0, 1], shape: [3, 2] };
const v = { data: [1, 2, 3, 4, 5, 6], shape: [3, 2] };
const { weights, output } = engine.scaledDotProductAttention(q, k, v, { needWeights: true });
console.log(...weights.data);
console.log(...output.data);
