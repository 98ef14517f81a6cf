// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const q = { data: [0.5, 1, 1.2], shape: [3, 1] };
const k = { data: [0.2, 1.5, 0.8], shape: [3, 1] };
const relativeBias = { data: [0, 0, 0, 6, 0], shape: [1, 5] }; // for i - j from -2 to 2: 6 for the token before
const { weights } = engine.scaledDotProductAttention(q, k, k, { relativeBias, needWeights: true });
console.log(...weights.data);
