// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [2, 1, 0], shape: [3, 1] };
const attnMask = { data: [true, true, false], shape: [1, 3] };
for (const maskTrue of ["ignore", "keep"]) {
  const options = { attnMask, maskTrue, needWeights: true };
  console.log(...engine.scaledDotProductAttention(query, keys, keys, options).weights.data);
}
