// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const queries = { data: [0, 0, 0, 0], shape: [4, 1, 1] }; // four query heads, two key/value heads
const keys = { data: [0, 0], shape: [2, 1, 1] };
const values = { data: [10, 20], shape: [2, 1, 1] };
for (const gqaOrder of ["block", "interleaved"]) {
  const options = { enableGqa: true, gqaOrder };
  console.log(...engine.scaledDotProductAttention(queries, keys, values, options).output.data);
}
