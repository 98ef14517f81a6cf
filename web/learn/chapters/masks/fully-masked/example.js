// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const q = { data: [1, 1], shape: [2, 1] };
const k = { data: [2, 1, 0], shape: [3, 1] };
const v = { data: [1, 0, 0, 1, 1, 1], shape: [3, 2] };
const attnMask = { data: [true, true, false, false, false, false], shape: [2, 3] }; // the second query sees nothing
const { output, weights } = engine.scaledDotProductAttention(q, k, v, { attnMask, scale: 1, needWeights: true });
console.log(...weights.data, ...output.data);
