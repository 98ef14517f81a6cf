// SPDX-License-Identifier: Apache-2.0
import { given, map, matrix, observe, percent, tensor } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "mat"];

export default lesson({
  title: "Soft cap and bias: which comes first?",
  claim: "A soft cap keeps scores between −cap and +cap, and the order decides whether it binds the bias as well.",
  teaches: [],
  controls: {
    cap: { kind: "slider", label: "soft cap", min: 0.5, max: 20, step: 0.5, value: 1 },
    scores: { kind: "cells", label: "scores", min: -20, max: 20, step: 0.5, value: [[3, 2, 1, 0]] },
    bias: { kind: "cells", label: "bias", min: -20, max: 20, step: 0.5, value: [[0, -20, 0, 0]] },
  },
  question: {
    ask: "The bias is −20 for one key, to hide it all but completely. In which order does the key stay hidden?",
    answers: ["the cap, then the bias", "the bias, then the cap", "in both"],
    right: 0,
    because: "A bias that comes after the cap counts in full. One that comes before is capped together with the score, and the sum is never less than −cap. Raise the cap, and the difference goes away.",
  },
  formula: () => "{cap(scores) + bias} = cap · tanh({scores} ÷ cap) + {bias}, {cap(scores + bias)} = cap · tanh(({scores} + {bias}) ÷ cap)",
  async run(engine, { cap, scores, bias }) {
    const row = scores[0] ?? [];
    const inputs = [tensor([[1]]), tensor(row.map((score) => [score])), tensor(row.map(() => [0]))] as const;
    const run = (softcapOrder: "before_bias" | "after_bias"): Promise<number[][]> => Promise.resolve(
      engine.scaledDotProductAttention(...inputs, {
        scale: 1, softcap: cap, softcapOrder, attnMask: tensor(bias), needWeights: true, stages: ["maskedScores"],
      })).then((result) => [[...given(result.maskedScores).data], [...given(result.weights).data]]);
    const [[before = [], capFirst = []], [after = [], biasFirst = []]] = [await run("before_bias"), await run("after_bias")];
    const apart = Math.max(...capFirst.map((weight, key) => Math.abs(weight - (biasFirst[key] ?? NaN))));
    const low = Math.min(...after);
    const ends = (name: string, numbers: readonly number[]): ReturnType<typeof table> => table({ ...matrix(name, ["query"], kTokens, numbers), digits: 2 });
    return {
      rows: [
        {
          items: [
            table({ ...matrix("scores", ["query"], kTokens, row), digits: 1 }, { control: "scores" }), "+",
            table({ ...matrix("bias", ["query"], kTokens, bias[0] ?? []), digits: 1 }, { control: "bias" }),
          ],
        },
        {
          title: "The cap, then the bias: ONNX",
          items: [ends("cap(scores) + bias", before), "→", table(map("weights, cap first", ["query"], kTokens, capFirst), { from: { how: "row", of: "cap(scores) + bias" } })],
        },
        {
          title: "The bias, then the cap: x-transformers",
          items: [ends("cap(scores + bias)", after), "→", table(map("weights, bias first", ["query"], kTokens, biasFirst), { from: { how: "row", of: "cap(scores + bias)" } })],
        },
      ],
      says: [
        observe(low >= -cap - 1e-5, `Bias first, no score is below −${cap}: here the lowest is ${low.toFixed(2).replace("-", "−")}.`, `A score is below −${cap}.`),
        observe(apart > 0.005, `A weight differs by up to ${percent(apart)} between the two orders.`, `The weights differ by ${percent(apart)} at most: what the cap does to the bias is too small to matter here.`),
      ],
    };
  },
  exploreMaps: ["weights, cap first", "weights, bias first"],
  exploreShows: "Both rows of weights",
});
