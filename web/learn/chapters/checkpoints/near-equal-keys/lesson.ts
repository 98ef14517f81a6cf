// SPDX-License-Identifier: Apache-2.0
import { runHead } from "../../../experiments/head.js";
import { given, map, matrix, observe, shown, transpose } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kKeys = ["cat", "kitten", "ran", "blue"];
const kQueries = ["query 1", "query 2", "query 3"];
const kQ = [[1, 0], [0, 1], [-1, -0.5]];
const kAxes = ["x", "y"];
/** Keys that are no farther apart than this count as almost equal. */
const kNear = 0.3;

export default lesson({
  title: "1. Two keys that are almost equal",
  claim: "A query knows a token by its key alone, through one dot product.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    keys: { kind: "cells", label: "Kᵀ", min: -3, max: 3, step: 0.1, value: [[1.5, 1.6, -1, -0.5], [0.5, 0.4, 1, -1.5]] },
  },
  question: {
    ask: "“cat” and “kitten” have almost the same key. How do three different queries weigh the two?",
    answers: ["almost alike, each of them", "the nearer one takes it all", "alike where both are weak, apart where they are strong"],
    right: 0,
    because: "Nearly the same numbers go into both dot products, so the scores are nearly equal, and so are the weights. Drag the numbers of “kitten” away from those of “cat”, and the two columns part.",
  },
  formula: () => "{weights} = softmax({scores}), {scores} = {Q} · {Kᵀ}",
  async run(engine, { keys }) {
    const { scores, weights } = await runHead(engine, kQ, transpose(keys), kKeys.map(() => [0]));
    const distance = Math.hypot(...keys.map(([cat = NaN, kitten = NaN]) => cat - kitten));
    const columns = transpose(weights);
    const most = Math.max(...given(columns[0]).map((weight, row) => Math.abs(weight - (columns[1]?.[row] ?? NaN))));
    return {
      rows: [
        {
          items: [
            table({ ...matrix("Q", kQueries, kAxes, kQ.flat()), digits: 1 }), "·",
            table({ ...matrix("Kᵀ", kAxes, kKeys, keys.flat()), digits: 1 }, { control: "keys" }),
          ],
        },
        {
          items: [
            table({ ...matrix("scores", kQueries, kKeys, scores.flat()), digits: 2 }, { from: { how: "product", left: "Q", right: "Kᵀ" } }), "→",
            table(map("weights", kQueries, kKeys, weights.flat()), { from: { how: "row", of: "scores" } }),
          ],
        },
      ],
      says: [
        observe(
          distance <= kNear, `The two keys are ${shown(distance)} apart, and in no row do their weights differ by more than ${shown(most)}.`,
          `The two keys are ${shown(distance)} apart, and their weights differ by up to ${shown(most)}.`,
        ),
      ],
    };
  },
  explore: () => ({
    model: "tiny-bert", text: "The lamp is on the road. The key is in the box. Where is the lamp?", textPair: "It is on the [MASK].",
    layer: 2, head: 1, query: "25", view: "strips",
  }),
  exploreShows: "Two words that a trained head can hardly tell apart",
});
