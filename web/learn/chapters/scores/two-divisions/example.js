// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
for (const [width, score] of [[4, 8], [64, 32]]) {
  const padded = (...firsts) => // rows with one number and zeros behind it
    ({ data: firsts.flatMap((first) => [first, ...Array(width - 1).fill(0)]), shape: [firsts.length, width] });
  const [query, keys] = [padded(score), padded(1, 0, 0, 0)]; // one key has this score, and the others have 0
  const scaled = engine.scaledDotProductAttention(query, keys, keys, { needWeights: true, stages: ["scaledScores"] });
  const raw = engine.scaledDotProductAttention(query, keys, keys, { needWeights: true, scale: 1 });
  console.log(scaled.scaledScores.data[0], scaled.weights.data[0], raw.weights.data[0]);
}
