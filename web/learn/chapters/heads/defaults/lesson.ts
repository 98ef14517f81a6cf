// SPDX-License-Identifier: Apache-2.0
import type { Tensor } from "headlens";
import { given, observe, withLayer } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import type { Shape } from "../../../scene.js";

const [kSequences, kTokens, kWidth, kHeads] = [4, 16, 128, 8];
const nameOf = (average: boolean): string => (average ? "weights, averaged over heads" : "weights of each head");
const shape = (name: string, sizes: readonly number[], axes: readonly string[]): Shape => ({ kind: "shape", name, sizes, axes });
const written = (sizes: readonly number[]): string => `(${sizes.join(", ")})`;

export default lesson({
  title: "Two defaults to know",
  claim: "A layer cannot see which axis holds the tokens: it reads a tensor in the order that it was told, whatever you meant.",
  teaches: ["T1.2", "T0.3"],
  controls: {
    given: {
      kind: "choice", label: "4 sequences of 16 tokens, given as",
      options: { tokens: "(16, 4, 128)", sequences: "(4, 16, 128)" }, value: "tokens",
    },
    batchFirst: { kind: "switch", label: "the layer expects sequences first", value: false },
    average: { kind: "switch", label: "average over heads", value: true },
  },
  question: {
    ask: "All defaults stay, and you give the sequences first: (4, 16, 128). What are the weights?",
    answers: ["an error", "(4, 16, 16)", "(16, 4, 4)"],
    right: 2,
    because: "The layer reads 4 tokens in 16 sequences. Nothing is wrong with that, so there is no error: each token meets those at its place in the other sequences. Choose (4, 16, 128).",
  },
  formula: ({ batchFirst, average }) =>
    `{${nameOf(average)}} = ${average ? `Σ softmax(Q · Kᵀ ÷ √16) ÷ ${kHeads}` : "softmax(Q · Kᵀ ÷ √16)"}, one row for each step along axis ${batchFirst ? 1 : 0} of {X}`,
  async run(engine, { given: order, batchFirst, average }) {
    const sizes = order === "sequences" ? [kSequences, kTokens, kWidth] : [kTokens, kSequences, kWidth];
    // Shapes do not depend on the numbers, so all of them are 0.
    const zeros = (rows: number): Tensor => ({ data: new Float32Array(rows * kWidth), shape: [rows, kWidth] });
    const state = { in_proj_weight: zeros(3 * kWidth), "out_proj.weight": zeros(kWidth) };
    const x = { data: new Float32Array(kSequences * kTokens * kWidth), shape: sizes };
    const options = { embedDim: kWidth, numHeads: kHeads, bias: false, batchFirst };
    const { weights, output } = await withLayer(engine, options, state, async (layer) =>
      layer.forward(x, { averageAttnWeights: average }));
    const map = given(weights).shape;
    const isRight = map.at(-1) === kTokens;
    const axes = batchFirst ? ["sequences", "tokens", "width"] : ["tokens", "sequences", "width"];
    const name = nameOf(average);
    return {
      rows: [
        { title: "In and out, as the layer reads them", items: [shape("X", sizes, axes), "→", shape("output", output.shape, axes)] },
        { items: [shape(name, map, average ? ["sequences", "tokens", "tokens"] : ["sequences", "heads", "tokens", "tokens"])] },
      ],
      says: [
        observe(
          isRight,
          `The weights are ${written(map)}: ${kTokens} × ${kTokens} for each of the ${kSequences} sequences.`,
          `The weights are ${written(map)}: the layer took the ${kSequences} sequences for tokens, and raised no error.`,
        ),
      ],
    };
  },
  explore: ({ average }) => ({ text: "The queen saw the king and she laughed.", view: "map", layer: 3, head: 4, query: "6", combine: average ? "mean" : "none" }),
  exploreShows: "A trained head, or the average of its layer",
});
