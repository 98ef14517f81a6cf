// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const other = { data: [0.5, -0.8, 1.8, 0.9, -0.2, -0.5, -0.9, 1.6], shape: [4, 2] };
for (const second of [[2, 1], [3, 2]]) { // the second token changes, and we look at the output of the first
  const x = { data: [0.5, -1, ...second, -1, 1.5], shape: [3, 2] };
  const self = engine.scaledDotProductAttention(x, x, x).output;
  const cross = engine.scaledDotProductAttention(x, other, other).output;
  console.log(...self.data.slice(0, 2), ...cross.data.slice(0, 2));
}
