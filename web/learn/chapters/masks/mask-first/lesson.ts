// SPDX-License-Identifier: Apache-2.0
import { runScores } from "../../../experiments/head.js";
import { compare, identity, map, matrix, observe, shown, sum } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { kWords, later, sumToOne } from "../shared.js";

const kHidden = later(kWords.length);
const visible = (rows: readonly (readonly number[])[]): number[][] =>
  rows.map((row, query) => row.map((value, key) => (kHidden[query * kWords.length + key] ? 0 : value)));

export default lesson({
  title: "Mask first, softmax second",
  claim: "A mask that comes after the softmax comes too late: hidden scores have already taken their share of the row.",
  teaches: ["T0.4"],
  controls: {
    scores: {
      kind: "cells", label: "scores", min: -150, max: 150, step: 0.5,
      value: [[1, 0.5, 0, 3], [0.5, 1, 2, 1], [1, 0, 1, 2], [0, 1, 0.5, 1]],
    },
    late: { kind: "choice", label: "after the softmax", options: { zero: "set hidden weights to 0", again: "… and divide by the sum" }, value: "zero" },
  },
  question: {
    ask: "You raise the score of a hidden word, and the mask comes after the softmax. What do the visible weights of that row do?",
    answers: ["they stay", "they grow", "they shrink"],
    right: 2,
    because: "The softmax shares 1 among all words, so the hidden word takes more and leaves less. Drag the score of cat on mat: the upper row of figures stays, the lower one moves.",
  },
  formula: () => "{weights}: mask, then softmax of {scores}; {late weights}: softmax of {scores}, then mask",
  async run(engine, { scores, late }) {
    const one = identity(kWords.length);
    const first = (await runScores(engine, scores, one, { isCausal: true })).weights;
    const open = (await runScores(engine, scores, one)).weights;
    const cut = visible(open);
    const second = late === "again" ? cut.map((row) => row.map((weight) => weight / sum(row))) : cut;
    const same = !second.flat().some(Number.isNaN) && compare(second.flat(), first.flat()).same;
    const least = Math.min(...second.map(sum));
    const short = `With the mask last, a row sums to only ${shown(least)}: the rest went to words that it must not see.`;
    const broken = "A hidden score is so large that the visible weights of its row have lost their digits or are 0, and 0 ÷ 0 is not a number.";
    const hatch = { masked: kHidden };
    const sums = (name: string, weights: readonly number[][]): ReturnType<typeof table> =>
      table({ ...map(name, kWords, ["sum"], weights.map(sum)), digits: 2 });
    return {
      rows: [
        { about: "Scores of four words. Those of later words are to be hidden.", items: [table({ ...matrix("scores", kWords, kWords, scores.flat()), digits: 1 }, { control: "scores" })] },
        { title: "Mask, then softmax", items: [table({ ...map("weights", kWords, kWords, first.flat()), digits: 2 }, hatch), sums("sum of weights", first)] },
        { title: "Softmax, then mask", items: [table({ ...map("late weights", kWords, kWords, second.flat()), digits: 2 }, hatch), sums("sum of late weights", second)] },
      ],
      says: [
        observe(sumToOne(first), "With the mask first, every row sums to 1.", "With the mask first, some row does not sum to 1."),
        late === "zero"
          ? observe(true, least < 0.999 ? short : "Here hidden scores are so low that they took next to nothing.", "")
          : observe(same, "Divided by their sums, the late weights are the same.", broken),
      ],
    };
  },
  explore: () => ({ text: "The queen saw the king and she laughed.", view: "map", layer: 3, head: 4, query: "3", key: "5" }),
  exploreShows: "A masked cell of a trained head",
});
