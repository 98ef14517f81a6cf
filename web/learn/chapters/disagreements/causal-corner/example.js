// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const queries = { data: new Float32Array(2), shape: [2, 1] };
const keys = { data: new Float32Array(5), shape: [5, 1] };
for (const causalAlignment of ["top_left", "bottom_right"]) {
  const options = { isCausal: true, causalAlignment, needWeights: true };
  console.log(...engine.scaledDotProductAttention(queries, keys, keys, options).weights.data);
}
