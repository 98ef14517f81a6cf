// SPDX-License-Identifier: Apache-2.0
import { count, given, largest, map, matrix, observe, rows, tensor } from "../../../experiments/numbers.js";
import type { LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kKeys = ["cat", "sat", "mat"];
const kLeads = count(33).map((_, index) => index / 2);

/** One softmax for each row of scores: with a query of 1 and keys of width 1, a key is its score. */
async function weightsOf(engine: LessonEngine, scores: readonly (readonly number[])[]): Promise<number[][]> {
  return Promise.all(scores.map(async (row) => {
    const keys = tensor(row.map((score) => [score]));
    const options = { scale: 1, needWeights: true };
    const { weights } = await engine.scaledDotProductAttention(tensor([[1]]), keys, keys, options);
    return given(rows(given(weights))[0]);
  }));
}

/** ∂ weights / ∂ scores. */
const gradientOf = (weights: readonly number[]): number[] =>
  weights.flatMap((own, i) => weights.map((other, j) => (i === j ? own * (1 - own) : -own * other)));

export default lesson({
  title: "One score far above the rest, and nothing answers",
  claim: "When one score stands far above the rest, the weights hardly answer to a small change of any score.",
  teaches: ["T0.5"],
  controls: {
    lead: { kind: "slider", label: "score of “cat”", min: 0, max: 16, step: 0.5, value: 8 },
    added: { kind: "slider", label: "score of “mat”", min: 0, max: 16, step: 0.5, value: 0 },
  },
  question: {
    ask: "The scores are 8, 0 and 0. You raise the last one to 1. How much does its weight grow?",
    answers: ["by about 0.3", "by about 0.03", "by less than 0.001"],
    right: 2,
    because: "It was 0.0003 and becomes 0.0009. Move the slider of “mat” and see how far it must go before its weight wakes up.",
  },
  formula: () => "{gradient}: weight · (1 − weight) for the key’s own score, and − weight · weight of the other for another’s, from {weights}",
  async run(engine, { lead, added }) {
    const scores = [lead, ...kLeads].map((one) => [one, 0, added]);
    const [weights = [], ...others] = await weightsOf(engine, scores);
    const gradient = gradientOf(weights);
    const curve = others.map((one) => largest(gradientOf(one)));
    const [first = NaN] = weights;
    const [most, bound] = [largest(gradient), 0.01];
    const product = `${first.toFixed(4)} · (1 − ${first.toFixed(4)})`;
    const answer = most.toFixed(4);
    return {
      rows: [
        {
          items: [
            table({ ...matrix("scores", ["query"], kKeys, [lead, 0, added]), digits: 1 }), "→",
            table({ ...map("weights", ["query"], kKeys, weights), digits: 4 }, { from: { how: "row", of: "scores" } }),
          ],
        },
        {
          title: "How much each weight changes for each unit of a score",
          items: [
            table({ ...matrix("gradient", kKeys.map((key) => `weight of ${key}`), kKeys.map((key) => `score of ${key}`), gradient), digits: 4 }),
            {
              kind: "curve", name: "largest number of the gradient", at: lead,
              x: { label: "score of “cat”", values: kLeads },
              y: { label: "largest number of the gradient", min: 0, max: 0.25 },
              lines: [{ name: "gradient", values: curve }],
            },
          ],
        },
      ],
      says: [
        observe(true, `By hand, the weight of “cat” and its own score: ${product} = ${(gradient[0] ?? NaN).toFixed(4)}.`, ""),
        observe(
          most < bound,
          `The largest number of the gradient is ${answer}: training can hardly move these weights.`,
          `The gradient reaches ${answer}: these weights still answer.`,
        ),
      ],
    };
  },
  explore: () => ({ text: "The queen saw the king and she laughed.", view: "map", layer: 0, head: 5, query: "6", key: "5" }),
  exploreShows: "A trained head in which one score of a row stands far above the rest",
});
