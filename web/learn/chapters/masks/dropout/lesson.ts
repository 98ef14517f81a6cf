// SPDX-License-Identifier: Apache-2.0
import { compare, count, given, identity, map, matrix, mean, observe, rows, shown, sum } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { kWords } from "../shared.js";

const kScores = [[1, 0.5, 0, 1], [0.5, 1, 0, 1], [0, 2, 1, 0.5], [1, 1, 0, 2]];
const kSize = kWords.length;
const kCells = kSize * kSize;

const copies = (matrix: readonly (readonly number[])[], length: number): { data: number[]; shape: number[] } =>
  ({ data: count(length).flatMap(() => matrix.flat()), shape: [length, 1, kSize, kSize] });

export default lesson({
  title: "Dropout removes weights, and nothing on average",
  claim: "Dropout sets weights to 0 at random and divides the others by 1 − p, so that the average over many draws stays what it was.",
  teaches: ["T1.5"],
  controls: {
    p: { kind: "steps", label: "p, the probability to drop", values: [0, 0.1, 0.25, 0.5, 0.75], value: 0.5 },
    seed: { kind: "slider", label: "seed", min: 0, max: 50, step: 1, value: 4 },
    draws: { kind: "steps", label: "draws in the average", values: [1, 10, 100, 1000], value: 1000 },
  },
  question: {
    ask: "With p = 0.5, what becomes of a weight that is kept?",
    answers: ["it stays", "it doubles", "it is halved"],
    right: 1,
    because: "Half of the time it is 0, so for the same average it must be twice as large otherwise. The second table shows it, and the third shows the average.",
  },
  formula: () => "{weights after dropout} = {weights} ÷ (1 − p), or 0",
  async run(engine, { p, seed, draws }) {
    const options = { scale: 1, needWeights: true, dropoutP: p, seed, stages: ["droppedWeights", "dropoutMask"] } as const;
    // One call draws for all copies, so the first of them is the draw that is shown.
    const one = copies(identity(kSize), draws);
    const result = await engine.scaledDotProductAttention(copies(kScores, draws), one, one, options);
    const all = given(result.droppedWeights).data;
    const weights = [...given(result.weights).data.slice(0, kCells)];
    const kept = Array.from(given(result.dropoutMask).data, Number).slice(0, kCells);
    const after = rows({ data: all.slice(0, kCells), shape: [kSize, kSize] });
    const average = weights.map((_, cell) => mean([...all.filter((__, index) => index % kCells === cell)]));
    const expected = weights.map((weight, cell) => (kept[cell] === 0 ? 0 : weight / (1 - p)));
    const scaled = compare(after.flat(), expected).same;
    const off = compare(average, weights).difference;
    // Four standard deviations of the mean of the largest weight: that much is chance.
    const chance = 4 * Math.max(...weights) * Math.sqrt(p / (1 - p) / draws) + 1e-6;
    const sums = after.map(sum);
    const dropped = kept.filter((one) => one === 0).length;
    return {
      rows: [
        {
          items: [
            table({ ...map("weights", kWords, kWords, weights), digits: 2 }), "→",
            table({ ...map("weights after dropout", kWords, kWords, after.flat()), digits: 2 }, {
              masked: kept.map((one) => one === 0),
              from: { how: "each", of: "weights", words: (value, one) => `${shown(value)} ${one === 0 ? "was dropped" : `÷ ${shown(1 - p)} ≈ ${shown(one)}`}` },
            }),
            table({ ...matrix("sum", kWords, ["of the row"], sums, "sequential"), digits: 2 }),
          ],
        },
        { title: `Average over ${draws === 1 ? "one draw" : `${draws} draws`}`, items: [table({ ...map("average", kWords, kWords, average), digits: 2 })] },
      ],
      says: [
        observe(scaled, `Here ${dropped} of ${kCells} weights are dropped, and the others are divided by ${shown(1 - p)}.`, "The weights that are kept are not scaled as they should be."),
        observe(off < chance, `The average is off by at most ${shown(off)}, as chance allows for so many draws.`, `The average is off by ${shown(off)}.`),
      ],
    };
  },
  exploreMaps: ["weights", "weights after dropout", "average"],
  exploreShows: "The weights, one draw and the average",
});
