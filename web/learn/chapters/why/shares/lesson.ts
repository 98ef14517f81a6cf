// SPDX-License-Identifier: Apache-2.0
import { brief, map, matrix, observe, sum } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { kDims, kTokens, marksOf, weightsAsScores } from "../blend.js";

const kValues = [[2, 0], [0, 2], [1, 1]];

export default lesson({
  title: "Weights are shares of 1",
  claim: "A token brings back a blend of values: each value counts by its share, and the shares sum to 1.",
  teaches: ["T3.2"],
  controls: {
    parts: { kind: "cells", label: "parts", min: 0.1, max: 20, step: 0.1, value: [[7, 2, 1]] },
  },
  question: {
    ask: "Can you make the output [2, 2] with some parts?",
    answers: ["yes, with enough parts", "no, with none"],
    right: 1,
    because: "A blend lies between what it is made of, here on the line from cat to sat, and [2, 2] lies outside. Drag the parts: the output stays in between.",
  },
  formula: () => "{weights} = {parts} ÷ their sum, {output} = {weights} · {values}",
  async run(engine, { parts }) {
    const row = parts[0] ?? [];
    const total = sum(row);
    const { weights, output } = await weightsAsScores(engine, row, kValues);
    const [x = NaN, y = NaN] = output;
    return {
      rows: [
        {
          title: "From parts to weights", about: `Each part is divided by the sum of all, ${brief(total)}.`,
          items: [
            table({ ...matrix("parts", ["query"], kTokens, row), digits: 1 }, { control: "parts" }), "→",
            table(map("weights", ["query"], kTokens, weights), { from: { how: "each", of: "parts", words: (part, weight) => `${brief(part)} ÷ ${brief(total)} ≈ ${brief(weight)}` } }),
          ],
        },
        {
          title: "From weights to the output",
          items: [
            "weights ·", table({ ...matrix("values", kTokens, kDims, kValues.flat()), digits: 1 }), "=",
            table(matrix("output", ["query"], kDims, output), { from: { how: "product", left: "weights", right: "values" } }),
            { kind: "plane", name: "Values and their blend", from: 0, to: 3, marks: marksOf(kValues, output) },
          ],
        },
      ],
      says: [
        observe(Math.abs(sum(weights) - 1) < 1e-6, `${weights.map(brief).join(" + ")} = 1: what one value gains, the others lose.`, `The weights sum to ${brief(sum(weights))}.`),
        observe(Math.abs(x + y - 2) < 1e-5, `The output [${brief(x)}, ${brief(y)}] lies between the values: its numbers sum to 2, as those of each value do.`, "The output lies elsewhere."),
      ],
    };
  },
  explore: () => ({ text: "The queen saw the king and", view: "map", layer: 3, head: 1, query: "6" }),
  exploreShows: "The shares of a real row",
});
