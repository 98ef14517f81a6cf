// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const sines = (rows) => ({ data: Array.from({ length: rows * 64 }, (_, i) => Math.sin((i % 64) + Math.floor(i / 64))), shape: [rows, 64] });
const [query, keys] = [sines(1), sines(3)];
for (const scale of [1, 1 / Math.sqrt(64)]) {
  const { weights } = engine.scaledDotProductAttention(query, keys, keys, { scale, needWeights: true });
  console.log(...weights.data);
}
