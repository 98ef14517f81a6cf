// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [1, 2, 0.5, 0], shape: [4, 1] }; // with a query of 1, they are the scores
const hidden = { data: [false, true, false, false], shape: [1, 4] };
for (const keyPaddingMask of [null, hidden]) {
  const options = { keyPaddingMask, needWeights: true };
  console.log(...engine.scaledDotProductAttention(query, keys, keys, options).weights.data);
}
