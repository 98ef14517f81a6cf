// SPDX-License-Identifier: Apache-2.0
import { runHead } from "../../../experiments/head.js";
import { entropy, given, map, matrix, mean, observe, percent, shown, transpose } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "a", "mat"];
const kAxes = ["x", "y"];
const kKeys = [[2, 0.5], [-1, 2], [0.5, -1.5], [-2, -1], [1, 1]];
const kValues = [[4, 1], [0, 5], [-3, 0], [2, -2], [7, 1]];

export default lesson({
  title: "11. A query that is almost zero",
  claim: "The direction of a query says what it looks for, and its length says how firmly.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    query: { kind: "cells", label: "Q", min: -6, max: 6, step: 0.05, value: [[0.05, 0.05]] },
  },
  question: {
    ask: "A query is almost zero. Where does it look?",
    answers: ["nowhere: its weights are almost zero, too", "everywhere, almost equally", "at the token with the shortest key"],
    right: 1,
    because: "All of its scores are near 0, so they are nearly equal, and equal scores share the weight equally: the output is nearly the mean. Drag the query up to 3, and it chooses.",
  },
  formula: () => "{scores} = {Q} · {Kᵀ}, {output} = softmax({scores}) · {V}",
  async run(engine, { query }) {
    const run = await runHead(engine, query, kKeys, kValues);
    const [row, output] = [given(run.weights[0]), given(run.output[0])];
    const average = transpose(kValues).map(mean);
    const breadth = entropy(row) / Math.log(kTokens.length);
    const away = Math.hypot(...output.map((one, axis) => one - given(average[axis])));
    const numbers = `its weights have ${percent(breadth)} of the entropy of equal ones, and the output is ${shown(away)} away from the mean`;
    return {
      rows: [
        {
          items: [
            table({ ...matrix("Q", ["query"], kAxes, query.flat()), digits: 2 }, { control: "query" }), "·",
            table({ ...matrix("Kᵀ", kAxes, kTokens, transpose(kKeys).flat()), digits: 1 }),
          ],
        },
        {
          items: [
            table({ ...matrix("scores", ["query"], kTokens, given(run.scores[0])), digits: 3 }, { from: { how: "product", left: "Q", right: "Kᵀ" } }),
            table(map("weights", ["query"], kTokens, row), { from: { how: "row", of: "scores" } }),
          ],
        },
        {
          items: [
            table({ ...matrix("V", kTokens, kAxes, kValues.flat()), digits: 0 }), "→",
            table(matrix("output", ["query"], kAxes, output), { from: { how: "product", left: "weights", right: "V" } }),
            table(matrix("mean of V", ["mean"], kAxes, average)),
          ],
        },
      ],
      says: [observe(breadth > 0.99, `It looks everywhere: ${numbers}.`, `It does choose: ${numbers}.`)],
    };
  },
  explore: ({ query }) => {
    const temperature = 1 / Math.hypot(...query.flat());
    return {
      model: "tiny", text: "The queen saw the king and she laughed.", layer: 3, head: 4, query: "6", view: "map",
      temperature: Math.min(Math.max(Number(temperature.toFixed(2)), 0.1), 10),
    };
  },
  exploreShows: "The same length as a temperature, on a trained head",
});
