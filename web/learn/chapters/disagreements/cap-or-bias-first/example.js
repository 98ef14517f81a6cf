// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [3, 2, 1], shape: [3, 1] }; // with a query of 1, they are the scores
const attnMask = { data: [0, -8, 0], shape: [1, 3] };
for (const softcapOrder of ["before_bias", "after_bias"]) {
  const options = { scale: 1, softcap: 2, softcapOrder, attnMask, needWeights: true };
  console.log(...engine.scaledDotProductAttention(query, keys, keys, options).weights.data);
}
