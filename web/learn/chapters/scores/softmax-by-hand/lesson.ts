// SPDX-License-Identifier: Apache-2.0
import { map, matrix, observe, shown, tensor } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kKeys = ["cat", "sat", "mat"];
const kDivided = "scores ÷ temperature";

export default lesson({
  title: "Scores become shares of 1",
  claim: "The softmax turns any scores into weights that are positive and sum to 1.",
  teaches: ["T3.2"],
  controls: {
    scores: { kind: "cells", label: "scores", min: -8, max: 8, step: 0.1, value: [[2, 1, 0]] },
    temperature: { kind: "slider", label: "temperature", min: 0.1, max: 4, step: 0.1, value: 1 },
  },
  question: {
    ask: "You add 5 to all three scores. What happens to the weights?",
    answers: ["they grow", "they get more equal", "nothing"],
    right: 2,
    because: "Every e^score becomes e⁵ times as large, and so does their sum: the shares stay. Drag all three scores up and see.",
  },
  formula: () => "{weights} = softmax({scores} ÷ temperature)",
  async run(engine, { scores, temperature }) {
    const row = scores[0] ?? [];
    const result = await engine.scaledDotProductAttention(
      tensor([[1]]), tensor(row.map((score) => [score])), tensor(row.map(() => [0])),
      { scale: 1, needWeights: true, normalizer: "softmax", temperature },
    );
    const weights = [...(result.weights?.data ?? [])];
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const words = (score: number, result: number): string => `${shown(score)} ÷ ${temperature} = ${shown(result)}`;
    const divided = temperature === 1 ? [] : [
      "→",
      table(matrix(kDivided, ["query"], kKeys, row.map((score) => score / temperature)), { from: { how: "each", of: "scores", words } }),
    ];
    return {
      rows: [{
        items: [
          table(matrix("scores", ["query"], kKeys, row), { control: "scores" }),
          ...divided,
          "→",
          table(map("weights", ["query"], kKeys, weights), { from: { how: "row", of: temperature === 1 ? "scores" : kDivided } }),
        ],
      }],
      says: [
        observe(Math.abs(total - 1) < 1e-6, `The weights ${weights.map((weight) => shown(weight)).join(" + ")} sum to 1.`, `The weights sum to ${total}.`),
        observe(true, `The largest score is ${shown(Math.max(...row))}, and its key gets ${shown(Math.max(...weights))} of the weight.`, ""),
      ],
    };
  },
  explore: ({ temperature }) => ({ text: "The queen saw the king and", view: "map", layer: 3, head: 1, query: "6", temperature }),
  exploreShows: "Trained heads at this temperature",
});
