// SPDX-License-Identifier: Apache-2.0
import { count, given, map, matrix, observe, shown, tensor } from "../../../experiments/numbers.js";
import type { LessonEngine, Matrix } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kHeads = ["narrow head", "wide head"];
const kWidths = [4, 16, 64, 256];

interface Divided {
  readonly scaled: number;
  readonly weight: number;
}

/** The weight of a key of this raw score beside three keys of score 0, in a head of this width. */
async function divide(engine: LessonEngine, width: number, score: number, scale?: number): Promise<Divided> {
  const first = (value: number): number[] => count(width).map((_, index) => (index === 0 ? value : 0));
  const keys = tensor([1, 0, 0, 0].map(first));
  const options = { needWeights: true, stages: ["scaledScores"], ...(scale === undefined ? {} : { scale }) } as const;
  const { weights, scaledScores } = await engine.scaledDotProductAttention(tensor([first(score)]), keys, keys, options);
  return { scaled: given(scaledScores).data[0] ?? NaN, weight: given(weights).data[0] ?? NaN };
}

export default lesson({
  title: "8 ÷ √4 = 32 ÷ √64",
  claim: "A raw score says little without the width of its head: divided by √d, scores of heads of all widths can be compared.",
  teaches: ["T3.2", "T0.5"],
  controls: {
    scores: { kind: "cells", label: "raw score", min: 0, max: 64, step: 1, value: [[8], [32]] },
    narrow: { kind: "steps", label: "width d of the narrow head", values: kWidths, value: 4 },
    wide: { kind: "steps", label: "width d of the wide head", values: kWidths, value: 64 },
  },
  question: {
    ask: "In a head of width 256, which raw score says as much as 8 does in a head of width 4?",
    answers: ["8", "64", "512"],
    right: 1,
    because: "64 ÷ √256 = 4, and so is 8 ÷ √4. Move the wide head to 256 and type 64 as its score.",
  },
  formula: () => "{scaled score} = {raw score} ÷ {√d}",
  async run(engine, { scores, narrow, wide }) {
    const raw = scores.map(([score = 0]) => score);
    const widths = [narrow, wide];
    const divided = await Promise.all(raw.map((score, index) => divide(engine, given(widths[index]), score)));
    const plain = await Promise.all(raw.map((score, index) => divide(engine, given(widths[index]), score, 1)));
    const column = (name: string, label: string, values: readonly number[], digits: number): Matrix =>
      ({ ...matrix(name, kHeads, [label], values), digits });
    const weights = (name: string, all: readonly Divided[]): Matrix =>
      map(name, kHeads, ["weight"], all.map(({ weight }) => weight));
    const sums = divided.map(({ scaled }, index) => `${raw[index] ?? NaN} ÷ √${widths[index] ?? NaN} = ${Number(shown(scaled))}`);
    const [one, other] = divided.map(({ scaled }) => scaled);
    return {
      rows: [
        {
          items: [
            table(column("raw score", "score", raw, 0), { control: "scores" }), "÷",
            table(column("√d", "root", widths.map(Math.sqrt), 0)), "=",
            table(column("scaled score", "score", divided.map(({ scaled }) => scaled), 3)),
          ],
        },
        {
          title: "The weight of a key with this score, beside three keys of score 0",
          items: [table(weights("with ÷ √d", divided)), table(weights("without", plain))],
        },
      ],
      says: [
        observe(
          Math.abs(given(one) - given(other)) < 1e-5,
          `${sums.join(", and ")}: the same score, so the same weight.`,
          `${sums.join(", and ")}: the scores differ, so the weights do.`,
        ),
      ],
    };
  },
  explore: () => ({ text: "The queen saw the king and she laughed.", view: "numbers", layer: 3, head: 4, query: "6", key: "2" }),
  exploreShows: "A real score and its division by √16",
});
