// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const sine = (_, i) => Math.sin((i % 64) + Math.floor(i / 64));
const query = { data: Array.from({ length: 64 }, sine), shape: [1, 64] };
const keys = { data: Array.from({ length: 3 * 64 }, sine), shape: [3, 64] };
for (const scale of [1, 1 / Math.sqrt(64)]) {
  const { weights } = engine.scaledDotProductAttention(query, keys, keys, { scale, needWeights: true });
  console.log(...weights.data);
}
