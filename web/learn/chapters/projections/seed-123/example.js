// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
// Waves stand for random numbers: they are the same in all languages, and of about the size that is drawn.
const wave = (rows, step, size) => Array.from({ length: rows }, (_, row) =>
  Array.from({ length: 16 }, (__, i) => size * Math.sin(step * (16 * row + i))));
const [table, wq, wk] = [wave(6, 2.3, 1.4), wave(8, 1.9, 0.2), wave(8, 2.7, 0.2)];
const x = [0, 1, 2, 3].map((id) => table[id]);
const project = (w, factor) => ({
  data: x.flatMap((token) => w.map((row) => factor * token.reduce((sum, value, i) => sum + value * row[i], 0))),
  shape: [4, 8],
});
for (const factor of [1, 8]) { // queries and keys as they are drawn, and as training may make them
  const [q, k] = [project(wq, factor), project(wk, factor)];
  const { weights } = engine.scaledDotProductAttention(q, k, k, { needWeights: true });
  console.log(...weights.data);
}
