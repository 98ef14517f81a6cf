// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [10, 0, 0], shape: [1, 3] }; // asks for a noun
const keys = { data: [1, 0, 0, 0, 1, 0, 0, 0, 1], shape: [3, 3] }; // a noun, a verb and a place
const values = { data: [0.9, 0.3, -0.8, -0.2, 0.8, 0.1, 0.4, -0.9, 0.9], shape: [3, 3] };
for (const handedOver of [values, keys])
  console.log(...engine.scaledDotProductAttention(query, keys, handedOver, { scale: 1 }).output.data);
