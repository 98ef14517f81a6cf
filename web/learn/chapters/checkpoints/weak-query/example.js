// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const keys = { data: [2, 0.5, -1, 2, 0.5, -1.5, -2, -1, 1, 1], shape: [5, 2] };
for (const length of [1, 60]) {
  const query = { data: [0.05 * length, 0.05 * length], shape: [1, 2] };
  const { weights } = engine.scaledDotProductAttention(query, keys, keys, { scale: 1, needWeights: true });
  console.log(...weights.data);
}
