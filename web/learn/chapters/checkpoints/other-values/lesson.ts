// SPDX-License-Identifier: Apache-2.0
import { runScores, type HeadRun } from "../../../experiments/head.js";
import { compare, map, matrix, observe, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Row } from "../../../scene.js";

const kQueries = ["it", "sat"];
const kTokens = ["cat", "mat", "sat"];
const kAxes = ["x", "y"];
const kScores = [[3, 1, 0], [1, 1, 2]];
const kFirst = [[1, 0], [0, 1], [-1, -1]];

export default lesson({
  title: "6. Other values under the same weights",
  claim: "Where a head looks and what it brings back are computed from different matrices.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    values: { kind: "cells", label: "other V", min: -9, max: 9, step: 0.5, value: [[5, 5], [-4, 2], [0, 8]] },
  },
  question: {
    ask: "Queries and keys stay, and all values are replaced by others. What happens to the weights?",
    answers: ["they follow the larger values", "they become equal", "nothing"],
    right: 2,
    because: "Values have no part in scores or weights. Drag any number of the other V: the output follows, and no weight moves.",
  },
  formula: () => "{output, first V} = {weights, first V} · {first V}, {output, other V} = {weights, other V} · {other V}",
  async run(engine, { values }) {
    const [first, second] = [await runScores(engine, kScores, kFirst), await runScores(engine, kScores, values)];
    const weights = compare(first.weights.flat(), second.weights.flat()).difference;
    const output = compare(first.output.flat(), second.output.flat()).difference;
    const row = (name: "first" | "other", run: HeadRun): Row => ({
      title: `With the ${name} V`,
      items: [
        table(map(`weights, ${name} V`, kQueries, kTokens, run.weights.flat())), "·",
        name === "first"
          ? table({ ...matrix("first V", kTokens, kAxes, kFirst.flat()), digits: 1 })
          : table({ ...matrix("other V", kTokens, kAxes, values.flat()), digits: 1 }, { control: "values" }),
        "=",
        table({ ...matrix(`output, ${name} V`, kQueries, kAxes, run.output.flat()), digits: 2 }, { from: { how: "product", left: `weights, ${name} V`, right: `${name} V` } }),
      ],
    });
    return {
      rows: [row("first", first), row("other", second)],
      says: [
        observe(weights === 0, "The weights are the same to the last bit.", `The weights moved by ${shown(weights)}.`),
        observe(output > 1e-6, `The outputs differ by up to ${shown(output)}.`, "The other values are the first ones, and so are the outputs."),
      ],
    };
  },
  explore: () => ({ model: "tiny", text: "The queen saw the king and she laughed.", layer: 0, head: 5, query: "3", zeroToken: "2", view: "effect" }),
  exploreShows: "A trained head that looks at a blanked value",
});
