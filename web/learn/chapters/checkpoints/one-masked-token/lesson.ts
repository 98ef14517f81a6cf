// SPDX-License-Identifier: Apache-2.0
import { runScores } from "../../../experiments/head.js";
import { compare, given, map, matrix, observe, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "mat"];
const kAxes = ["x", "y"];
const kScores = [[1, 2, 0.5, 0]];

export default lesson({
  title: "7. A mask hides one token",
  claim: "A mask acts on the scores, before the softmax shares the weight out.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    hidden: { kind: "choice", label: "hidden", options: { none: "none", cat: "cat", sat: "sat", on: "on", mat: "mat" }, value: "sat" },
    values: { kind: "cells", label: "values", min: -9, max: 9, step: 0.5, value: [[1, 0], [5, 5], [0, 1], [-1, 0]] },
  },
  question: {
    ask: "“sat” has more than half of the weight, and a mask hides it. What do the other three get?",
    answers: ["what they had: the row no longer sums to 1", "a third each", "all of it, in the old proportions"],
    right: 2,
    because: "The hidden score becomes −∞ and adds nothing to the sum that all are divided by. That sum is smaller now, so the three others grow by the same factor. Hide another token to see another factor.",
  },
  formula: () => "{weights} = softmax({scores}), {output} = {weights} · {values}",
  async run(engine, { hidden, values }) {
    const masked = kTokens.map((token) => token === hidden);
    const keyPaddingMask = { data: masked, shape: [1, 4] };
    const open = await runScores(engine, kScores, values);
    const run = await runScores(engine, kScores, values, { keyPaddingMask });
    const other = values.map((row, key) => (masked[key] ? [-1e6, 1e6] : row));
    const replaced = await runScores(engine, kScores, other, { keyPaddingMask });
    const moved = compare(replaced.output.flat(), run.output.flat()).difference;
    const [before, after] = [given(open.weights[0]), given(run.weights[0])];
    const lost = before.reduce((sum, weight, key) => sum + (masked[key] ? weight : 0), 0);
    const shared = compare(after, before.map((weight, key) => (masked[key] ? 0 : weight / (1 - lost)))).same;
    return {
      rows: [
        {
          items: [
            table({ ...matrix("scores", ["query"], kTokens, given(run.scores[0])), digits: 1 }, { masked }),
            table(map("weights without a mask", ["query"], kTokens, before)),
          ],
        },
        {
          items: [
            table(map("weights", ["query"], kTokens, after), { masked, from: { how: "row", of: "scores" } }), "·",
            table({ ...matrix("values", kTokens, kAxes, values.flat()), digits: 1 }, { control: "values" }), "=",
            table({ ...matrix("output", ["query"], kAxes, run.output.flat()), digits: 2 }, { from: { how: "product", left: "weights", right: "values" } }),
          ],
        },
      ],
      says: hidden === "none" ? [observe(lost === 0, "Nothing is hidden, and both rows are the same.", "Something is hidden.")] : [
        observe(shared && lost > 0, `“${hidden}” had ${shown(lost)} and has exactly 0; each of the others grows by the factor 1 ÷ (1 − ${shown(lost)}) = ${shown(1 / (1 - lost))}.`, "The others do not grow alike."),
        observe(moved === 0, `With a million as the value of “${hidden}”, the output moves by exactly 0.`, `With a million as the value of “${hidden}”, the output moves by ${shown(moved)}.`),
      ],
    };
  },
  explore: ({ hidden }) => ({
    model: "tiny", text: "The queen saw the king and she laughed.", layer: 3, head: 4, query: "6", view: "map",
    forbid: hidden === "none" ? "" : "4", // from “and” to “queen”
  }),
  exploreShows: "A trained head whose favourite key can be masked",
});
