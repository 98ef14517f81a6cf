// SPDX-License-Identifier: Apache-2.0
/** Checkpoints 8 and 10, about several heads. */
import type { LessonEngine } from "../numbers.js";
import { compare, count, Draw, given, headRows, identity, layerState, map, matrix, observe } from "../numbers.js";
import { percent, shown, tensor, withLayer } from "../numbers.js";
import type { Checkpoint } from "./checkpoint.js";

export const kTwoHeadsOneToken: Checkpoint = {
  number: 8,
  question: "May two heads look at the same token?",
  prediction: "Yes, and still bring back different things, through their own values.",
  async run(engine) {
    const draw = new Draw(8);
    // The queries of both heads have the same direction, in which the second token is largest. Their values differ.
    const direction = [[4, 0], [0, 0], [0, 0], [0, 0]].map(([a = 0, b = 0]) => [a, b, a, b]);
    const x = [[1, 0.2, -0.5, 0.1], [3, -0.4, 0.3, 0.6], [0.5, 0.8, 0.1, -0.7]];
    const state = layerState(direction, direction, draw.rows(4, 4), identity(4));
    return withLayer(engine, { embedDim: 4, numHeads: 2, bias: false }, state, async (layer) => {
      const stages = ["headOutputs"] as const;
      const result = await layer.forward(tensor(x), { averageAttnWeights: false, stages });
      const maps = [0, 1].map((head) => headRows(result.weights, head));
      const outputs = [0, 1].map((head) => headRows(result.headOutputs, head));
      const share = Math.min(...maps.flat().map((row) => row[1] ?? NaN));
      const apart = compare(given(outputs[0]).flat(), given(outputs[1]).flat()).difference;
      const numbers = `both give token 1 at least ${percent(share)}, and their outputs differ by up to ${shown(apart)}`;
      const tokens = count(3);
      return {
        matrices: [0, 1].flatMap((head) => [
          map(`weights, head ${head}`, tokens, tokens, given(maps[head]).flat()),
          matrix(`output, head ${head}`, tokens, ["x", "y"], given(outputs[head]).flat()),
        ]),
        figures: [{ name: "least weight on token 1", value: share }, { name: "outputs differ by", value: apart }],
        verdict: observe(share > 0.9 && apart > 0.1, `They may: ${numbers}.`, `Not here: ${numbers}.`),
      };
    });
  },
};

export const kIndivisibleWidth: Checkpoint = {
  number: 10,
  question: "The model’s width is not a multiple of the number of heads. What happens?",
  prediction: "The layer cannot be made; only divisors of the width can be numbers of heads.",
  control: { name: "width D", min: 1, max: 64, step: 1, value: 16 },
  async run(engine, width = 16) {
    const heads = count(width, (index) => String(index + 1));
    const refusals = await Promise.all(heads.map((_, index) => refusal(engine, width, index + 1)));
    const made = heads.filter((_, index) => refusals[index] === undefined);
    const fits = heads.every((_, index) => (refusals[index] === undefined) === (width % (index + 1) === 0));
    const first = refusals.find((message) => message !== undefined);
    const numbers = `D = ${width} can have ${made.join(", ")} heads${first === undefined ? "" : `; else: “${first}”`}`;
    return {
      matrices: [
        matrix("layers made", ["made", "D mod H"], heads, [
          ...refusals.map((message) => (message === undefined ? 1 : 0)),
          ...heads.map((_, index) => width % (index + 1)),
        ]),
      ],
      figures: [{ name: "numbers of heads that fit", value: made.length }],
      verdict: observe(fits, `Only divisors: ${numbers}.`, `Others than divisors too: ${numbers}.`),
    };
  },
};

/** The message of the engine when it refuses to make such a layer. */
async function refusal(engine: LessonEngine, embedDim: number, numHeads: number): Promise<string | undefined> {
  try {
    (await engine.multiheadAttention({ embedDim, numHeads })).dispose();
    return undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "shape") return error.message;
    throw error;
  }
}
