// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const x = { data: [1, 0, 0, 1, 1, 1, 2, 0, 0, 2], shape: [5, 2] };
const options = { isCausal: true, windowLeft: 1, needWeights: true };
const { weights } = engine.scaledDotProductAttention(x, x, x, options);
for (let row = 0; row < 5; ++row) console.log(...weights.data.subarray(row * 5, row * 5 + 5));
