// SPDX-License-Identifier: Apache-2.0
import { runScores } from "../../../experiments/head.js";
import { count, given, map, matrix, mean, observe, shown, transpose } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kValues = [[4, 0], [0, 4], [2, 2], [8, -2], [1, 6], [-3, 2], [0, -4], [4, 8]];

export default lesson({
  title: "5. All scores of a row are equal",
  claim: "The softmax looks at differences of scores, and turns them into shares of 1.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    n: { kind: "slider", label: "keys n", min: 1, max: 8, step: 1, value: 5 },
    score: { kind: "slider", label: "the score of all", min: -8, max: 8, step: 0.5, value: 3 },
    lead: { kind: "slider", label: "added to the first", min: -4, max: 4, step: 0.5, value: 0 },
  },
  question: {
    ask: "All five scores of a row are 3. What is each weight?",
    answers: ["3/5", "1/5", "it depends on the values"],
    right: 1,
    because: "e³ ÷ (5 · e³) is 1/5, and so it is for any other score. Move the score of all keys: nothing changes. Add something to the first, and it does.",
  },
  formula: () => "{output} = softmax({scores}) · {values}",
  async run(engine, { n, score, lead }) {
    const [keys, values] = [count(n, (key) => `key ${key + 1}`), kValues.slice(0, n)];
    const scores = keys.map((_, key) => score + (key === 0 ? lead : 0));
    const run = await runScores(engine, [scores], values);
    const [row, output] = [given(run.weights[0]), given(run.output[0])];
    const average = transpose(values).map(mean);
    const away = Math.hypot(...output.map((one, axis) => one - given(average[axis])));
    const even = Math.max(...row.map((weight) => Math.abs(weight - 1 / n)));
    const isEven = lead === 0 || n === 1;
    return {
      rows: [
        {
          items: [
            table({ ...matrix("scores", ["query"], keys, scores), digits: 1 }),
            table(map("weights", ["query"], keys, row), { from: { how: "row", of: "scores" } }),
          ],
        },
        {
          items: [
            table({ ...matrix("values", keys, ["x", "y"], values.flat()), digits: 0 }), "→",
            table(matrix("output", ["query"], ["x", "y"], output), { from: { how: "product", left: "weights", right: "values" } }),
            table(matrix("mean of the values", ["mean"], ["x", "y"], average)),
          ],
        },
      ],
      says: [
        observe(
          isEven && even < 1e-6 && away < 1e-4, n === 1 ? "A single key has all of the weight, whatever its score." : `Each weight is 1/${n}, and the output is the mean of the values.`,
          `The first score is ${shown(Math.abs(lead))} ${lead > 0 ? "higher" : "lower"}, so its weight is ${shown(Math.exp(lead))} times that of another, and the output is ${shown(away)} away from the mean.`,
        ),
      ],
    };
  },
  explore: () => ({ model: "tiny-bert", text: "the dog saw the cat", layer: 1, head: 4, query: "5", view: "map" }),
  exploreShows: "A trained head whose scores are nearly equal",
});
