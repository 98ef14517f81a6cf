// SPDX-License-Identifier: Apache-2.0
import { runScores } from "../../../experiments/head.js";
import { given, map, matrix, observe, percent, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["north", "east", "south", "west"];
const kAxes = ["x", "y"];
const kValues = [[0, 1], [1, 0], [0, -1], [-1, 0]];

export default lesson({
  title: "2. One score far above the rest",
  claim: "Each weight is the exponential of its score, as a share of 1, and the output mixes the values in these shares.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    scores: { kind: "cells", label: "scores", min: -20, max: 20, step: 0.5, value: [[10, 0, 0, 0]] },
  },
  question: {
    ask: "One score is 10, the three others are 0. How much of the weight does the first key get?",
    answers: ["25 %", "77 %, which is 10 of 13", "more than 99.9 %"],
    right: 2,
    because: "e¹⁰ is 22,026, and each of the others has e⁰ = 1. Drag the 10 down: at 3 the first key still has 87 %, and at 0 all are equal.",
  },
  formula: () => "{output} = softmax({scores}) · {values}",
  async run(engine, { scores }) {
    const run = await runScores(engine, scores, kValues);
    const [row, output] = [given(run.weights[0]), given(run.output[0])];
    const share = Math.max(...row);
    const winner = row.indexOf(share);
    const [x = NaN, y = NaN] = given(kValues[winner]);
    const away = Math.hypot(given(output[0]) - x, given(output[1]) - y);
    const token = given(kTokens[winner]);
    return {
      rows: [
        {
          items: [
            table({ ...matrix("scores", ["query"], kTokens, scores.flat()), digits: 1 }, { control: "scores" }), "→",
            table({ ...map("weights", ["query"], kTokens, row), digits: 5 }, { from: { how: "row", of: "scores" } }),
          ],
        },
        {
          items: [
            table({ ...matrix("values", kTokens, kAxes, kValues.flat()), digits: 0 }), "→",
            table({ ...matrix("output", ["query"], kAxes, output), digits: 5 }, { from: { how: "product", left: "weights", right: "values" } }),
          ],
        },
      ],
      says: [
        observe(
          share > 0.99, `“${token}” takes ${(share * 100).toFixed(3)} % of the weight, and the output is only ${away.toFixed(5)} away from its value.`,
          `“${token}” has ${percent(share)} of the weight, which is not all: the output is ${shown(away)} away from its value.`,
        ),
      ],
    };
  },
  explore: () => ({ model: "tiny", text: "The queen saw the king and she laughed.", layer: 0, head: 5, query: "6", key: "5", view: "numbers" }),
  exploreShows: "A real head’s scores and weights, in numbers",
});
