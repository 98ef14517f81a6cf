// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
// Two sentences; the second has a padding token.
const x = { data: [1, 0, 0, 1, 1, 1, 2, 1, 1, 2, 9, 9], shape: [2, 1, 3, 2] };
const keyPaddingMask = { data: [false, false, false, false, false, true], shape: [2, 3] };
const { weights } = engine.scaledDotProductAttention(x, x, x, { keyPaddingMask, isCausal: true, needWeights: true });
console.log(...weights.data);
