// SPDX-License-Identifier: Apache-2.0
import { count, given, map, matrix, observe, percent, rows, sum, tensor, transpose } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { kEmbedding, kWk, kWq, kWv } from "./drawn.js";

const kDims = count(8);

export default lesson({
  title: "A head that has learned nothing yet",
  claim: "Ids pick rows of a table, three matrices project them, and out comes a map, even when all of these numbers are random.",
  teaches: ["T3.1"],
  controls: {
    ids: { kind: "cells", label: "ids", min: 0, max: 5, step: 1, value: [[0, 1, 2, 3]] },
    growth: { kind: "slider", label: "queries and keys times", min: 0, max: 8, step: 0.5, value: 1 },
  },
  question: {
    ask: "The layer was drawn at random, as libraries do before training. What does such a map look like?",
    answers: ["rather even", "each token looks at itself", "one key takes nearly all"],
    right: 0,
    because: "Fresh matrices are small, so the scores are near 0 and their softmax is near 1/4. Make queries and keys larger, as training may, and the rows sharpen.",
  },
  formula: () => "{weights} = softmax({Q} · {Kᵀ} ÷ √8)",
  async run(engine, { ids, growth }) {
    const picked = (ids[0] ?? []).map((id) => Math.min(Math.max(Math.round(id), 0), kEmbedding.length - 1));
    const x = picked.map((id) => given(kEmbedding[id]));
    const project = (w: readonly (readonly number[])[], factor: number): number[][] =>
      x.map((row) => w.map((column) => factor * sum(row.map((value, index) => value * (column[index] ?? NaN)))));
    const [q, k, v] = [project(kWq, growth), project(kWk, growth), project(kWv, 1)];
    const result = await engine.scaledDotProductAttention(tensor(q), tensor(k), tensor(v), { needWeights: true });
    const weights = rows(given(result.weights));
    const tokens = picked.map((id) => `id ${id}`);
    const most = Math.max(...weights.flat());
    return {
      rows: [
        {
          title: "The ids, and the weights that come of them",
          items: [
            table({ ...matrix("ids", ["id"], ["0", "1", "2", "3"].map((place) => `token ${place}`), picked), digits: 0 }, { control: "ids" }), "→",
            table({ ...map("weights", tokens, tokens, weights.flat()), digits: 4 }),
          ],
        },
        {
          title: "On the way: queries and keys, and then the output",
          items: [
            table({ ...matrix("Q", tokens, kDims, q.flat()), digits: 2 }),
            table({ ...matrix("Kᵀ", kDims, tokens, transpose(k).flat()), digits: 2 }),
            table({ ...matrix("output", tokens, kDims, rows(result.output).flat()), digits: 2 }),
          ],
        },
      ],
      says: [
        observe(
          most < 0.5, `No token gives more than ${percent(most)} to any token: the map is rather even.`,
          `The largest share is ${percent(most)}: with queries and keys of this size, a row can be sharp.`,
        ),
      ],
    };
  },
  explore: () => ({ text: "The queen saw the king and she laughed.", view: "map", layer: 3, head: 4, query: "6" }),
  exploreShows: "Heads that have learned",
});
