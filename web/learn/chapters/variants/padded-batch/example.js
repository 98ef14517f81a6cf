// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1, 0], shape: [1, 2] };
const keys = { data: [1, 0, 0, 1, 9, 9], shape: [3, 2] }; // the third is padding
const keyPaddingMask = { data: [false, false, true], shape: [1, 3] };
const { weights, output } = engine.scaledDotProductAttention(query, keys, keys, { keyPaddingMask, needWeights: true });
console.log(...weights.data, ...output.data);
