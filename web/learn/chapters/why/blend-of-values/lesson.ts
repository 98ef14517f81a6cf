// SPDX-License-Identifier: Apache-2.0
import { brief, map, matrix, observe, sum } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { kDims, kTokens, marksOf, weightsAsScores } from "../blend.js";

const kWeights = [0.6, 0.3, 0.1];

export default lesson({
  title: "The output follows each value by its share",
  claim: "Under fixed weights, the output follows every value, and its weight says how closely.",
  teaches: ["T3.2"],
  controls: {
    values: { kind: "cells", label: "values", min: -2, max: 4, step: 0.1, value: [[1, 0], [0, 2], [3, 1]] },
  },
  question: {
    ask: "The first number of the value of mat falls from 3 to 0. How far does the first number of the output fall?",
    answers: ["by 3", "by 0.3", "by 0.1", "not at all"],
    right: 1,
    because: "mat has a share of 0.1, so the output takes a tenth of every step of its value. Drag the point or the number of mat.",
  },
  formula: () => "{output} = {weights} · {values}",
  async run(engine, { values }) {
    const { weights, output } = await weightsAsScores(engine, kWeights, values);
    const parts = weights.map((weight, row) => (values[row] ?? []).map((value) => weight * value));
    const [x = NaN, y = NaN] = output;
    const largest = parts.map((part) => Math.hypot(...part));
    const most = kTokens.filter((_, row) => (largest[row] ?? 0) > Math.max(...largest) - 1e-6);
    return {
      rows: [
        {
          items: [
            table({ ...map("weights", ["query"], kTokens, weights), digits: 1 }), "·",
            table({ ...matrix("values", kTokens, kDims, values.flat()), digits: 1 }, { control: "values" }), "=",
            table(matrix("output", ["query"], kDims, output), { from: { how: "product", left: "weights", right: "values" } }),
          ],
        },
        {
          items: [
            { kind: "plane", name: "Drag a value", from: -2, to: 4, marks: marksOf(values, output, "values") },
            table(matrix("weight × value", kTokens, kDims, parts.flat())),
          ],
        },
      ],
      says: [
        observe(
          [x, y].every((number, col) => Math.abs(number - sum(parts.map((part) => part[col] ?? NaN))) < 1e-5),
          `0.6 · [${spoken(values[0])}] + 0.3 · [${spoken(values[1])}] + 0.1 · [${spoken(values[2])}] = [${brief(x)}, ${brief(y)}]`, "The parts do not add up to the output.",
        ),
        observe(true, `The largest part of the output comes from ${most.join(" and ")}.`, ""),
      ],
    };
  },
  explore: () => ({ text: "The queen saw the king", view: "map", layer: 3, head: 4, query: "2", key: "1", combine: "norm" }),
  exploreShows: "Real weights times the lengths of their values",
});

const spoken = (value: readonly number[] = []): string => value.map(brief).join(", ");
