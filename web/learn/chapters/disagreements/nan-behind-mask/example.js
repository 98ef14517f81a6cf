// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [2, 1, 0], shape: [3, 1] };
const values = { data: [4, 0, NaN], shape: [3, 1] };
const keyPaddingMask = { data: [false, false, true], shape: [1, 3] };
const output = (maskedNan) =>
  engine.scaledDotProductAttention(query, keys, values, { keyPaddingMask, maskedNan }).output.data[0];
console.log(output("blocked"));
console.log(Number.isNaN(output("spreads")));
