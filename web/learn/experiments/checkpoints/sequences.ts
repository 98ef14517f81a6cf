// SPDX-License-Identifier: Apache-2.0
/** Checkpoints 4 and 9, about where queries and keys come from and about equal tokens. */
import type { StateDict } from "headlens";
import { embed } from "../embed.js";
import { compare, count, Draw, given, layerState, map, matrix, observe, rows, shown, tensor, withLayer } from "../numbers.js";
import type { Checkpoint } from "./checkpoint.js";

const kWidth = 8;

function randomState(seed: number): StateDict {
  const draw = new Draw(seed);
  const square = (): number[][] => draw.rows(kWidth, kWidth, 1 / Math.sqrt(kWidth));
  return layerState(square(), square(), square(), square());
}

export const kSelfAndCross: Checkpoint = {
  number: 4,
  question: "What makes self-attention “self”?",
  prediction: "Queries, keys and values come from one sequence: change it and all three change. Across two, the keys stay.",
  async run(engine) {
    const draw = new Draw(4);
    const [x, other, memory] = [draw.rows(3, kWidth), draw.rows(3, kWidth), draw.rows(5, kWidth)].map(tensor);
    if (!x || !other || !memory) throw new Error("three sequences");
    return withLayer(engine, { embedDim: kWidth, numHeads: 1, bias: false }, randomState(40), async (layer) => {
      const options = { averageAttnWeights: false, stages: ["k"] } as const;
      const self = [await layer.forward(x, x, x, options), await layer.forward(other, other, other, options)] as const;
      const cross = [
        await layer.forward(x, memory, memory, options), await layer.forward(other, memory, memory, options),
      ] as const;
      const moved = (pair: typeof self): number => compare(given(pair[0].k).data, given(pair[1].k).data).difference;
      const [own, across] = [moved(self), moved(cross)];
      const shapes = [self, cross].map(([one]) => given(one.weights).shape.slice(-2).join(" × "));
      const numbers = `another query sequence moves self-attention’s keys by ${shown(own)} and cross-attention’s by ${across}; `
        + `the weights are ${shapes.join(" and ")}`;
      return {
        matrices: [
          map("self-attention", count(3), count(3), given(self[0].weights).data),
          map("cross-attention", count(3), count(5, (i) => `m${i}`), given(cross[0].weights).data),
        ],
        figures: [{ name: "keys moved, self", value: own }, { name: "keys moved, cross", value: across }],
        verdict: observe(own > 0 && across === 0, `One sequence asks itself: ${numbers}.`, `Not so: ${numbers}.`),
      };
    });
  },
};

export const kIdenticalEmbeddings: Checkpoint = {
  number: 9,
  question: "The same word stands in two places, and nothing tells positions. Can attention tell them apart?",
  prediction: "No: both get the same output and are looked at alike. Positions part them.",
  async run(engine) {
    const tokens = ["the", "dog", "saw", "the", "cat"];
    const words = [...new Set(tokens)];
    const weight = tensor(new Draw(9).rows(words.length, kWidth));
    const ids = tokens.map((token) => words.indexOf(token));
    const [x, placed] = [await embed(engine, ids, { weight }), await embed(engine, ids, { weight }, "sinusoidal")];
    return withLayer(engine, { embedDim: kWidth, numHeads: 1, bias: false }, randomState(90), async (layer) => {
      const [plain, told] = [await layer.forward(x), await layer.forward(placed)];
      const apart = ({ output }: typeof plain): number => {
        const all = rows(output);
        return compare(given(all[0]), given(all[3])).difference;
      };
      const [without, after] = [apart(plain), apart(told)];
      const numbers = `the outputs of the two “the” differ by ${shown(without)} without positions, by ${shown(after)} with them`;
      const weightsOf = (name: string, result: typeof plain): ReturnType<typeof map> =>
        map(name, tokens, tokens, given(result.weights).data);
      return {
        matrices: [
          weightsOf("weights", plain), weightsOf("weights with positions", told),
          matrix("output", tokens, count(kWidth), plain.output.data),
          matrix("output with positions", tokens, count(kWidth), told.output.data),
        ],
        figures: [{ name: "apart without positions", value: without }, { name: "apart with positions", value: after }],
        verdict: observe(without < 1e-5 && after > 0.01, `Not without positions: ${numbers}.`, `Not as predicted: ${numbers}.`),
      };
    });
  },
};
