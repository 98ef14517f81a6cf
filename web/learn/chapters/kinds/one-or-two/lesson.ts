// SPDX-License-Identifier: Apache-2.0
import type { Tensor } from "headlens";
import { count, Draw, given, headRows, layerState, map, matrix, observe, rows, tensor, transpose } from "../../../experiments/numbers.js";
import { withLayer, type LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Shape } from "../../../scene.js";

const kFrench = ["elle", "dort"];
const kEnglish = ["she", "sleeps", "here", "now", "and", "then"];
const kWidth = 3;
const draw = new Draw(21);
const square = (): number[][] => draw.rows(kWidth, kWidth);
const state = layerState(square(), square(), square(), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]);
const [x, context] = [draw.rows(kFrench.length, kWidth), draw.rows(kEnglish.length, kWidth)];

/** The sizes of the documents' example. Its numbers do not matter. */
const kLarge = { batch: 2, queries: 12, keys: 20, width: 256, heads: 8 };
const some = (shape: number[], step: number): Tensor => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, index) => ((index * step) % 101) / 101 - 0.5),
  shape,
});
const largeState = {
  in_proj_weight: some([3 * kLarge.width, kLarge.width], 37), "out_proj.weight": some([kLarge.width, kLarge.width], 53),
};

async function large(engine: LessonEngine, isCross: boolean): Promise<Shape[]> {
  const { batch, queries, keys, width, heads } = kLarge;
  const [q, kv] = [some([batch, queries, width], 29), some([batch, keys, width], 41)];
  const options = { embedDim: width, numHeads: heads, bias: false, batchFirst: true };
  return withLayer(engine, options, largeState, async (layer) => {
    const from = isCross ? kv : q;
    const { output, weights } = await layer.forward(q, from, from, { averageAttnWeights: false });
    const shape = (name: string, sizes: readonly number[], axes: readonly string[]): Shape => ({ kind: "shape", name, sizes, axes });
    return [
      shape("queries from", q.shape, ["batch", "tokens", "width"]), shape("keys from", from.shape, ["batch", "tokens", "width"]),
      shape("weights", given(weights).shape, ["batch", "heads", "queries", "keys"]), shape("output", output.shape, ["batch", "queries", "width"]),
    ];
  });
}

export default lesson({
  title: "One sequence, or two",
  claim: "The output has one row for each query, whether the keys and values come from the same sequence or from another.",
  teaches: ["T1.3"],
  controls: {
    from: { kind: "choice", label: "keys and values from", options: { other: "the other sequence", own: "the same sequence" }, value: "other" },
    keys: { kind: "slider", label: "tokens of the other sequence", min: 1, max: kEnglish.length, step: 1, value: 4 },
  },
  question: {
    ask: "The other sequence gets two tokens more. What grows?",
    answers: ["the rows of weights", "the columns of weights", "the rows of the output"],
    right: 1,
    because: "Each key is a column, and each query a row. The output keeps a row for each query. Move the slider.",
  },
  formula: () => "{weights} · {V} = {output}",
  async run(engine, { from, keys }) {
    const isCross = from === "other";
    const tokens = isCross ? kEnglish.slice(0, keys) : kFrench;
    const memory = tensor(isCross ? context.slice(0, keys) : x);
    const larger = await large(engine, isCross);
    return withLayer(engine, { embedDim: kWidth, numHeads: 1, bias: false }, state, async (layer) => {
      const result = await layer.forward(tensor(x), memory, memory, { averageAttnWeights: false, stages: ["q", "k", "v", "scaledScores"] });
      const dims = count(kWidth);
      const part = (stage: Parameters<typeof headRows>[0]): number[][] => headRows(stage, 0);
      const small = { digits: 2 };
      const keysT = transpose(part(result.k));
      const output = rows(result.output);
      return {
        rows: [
          {
            title: "Scores", about: isCross ? "Queries from the French, keys from the English." : "Queries and keys from the French.",
            items: [
              table({ ...matrix("Q", kFrench, dims, part(result.q).flat()), ...small }), "·",
              table({ ...matrix("Kᵀ", dims, tokens, keysT.flat()), ...small }), "÷ √d →",
              table({ ...matrix("scaled scores", kFrench, tokens, part(result.scaledScores).flat()), ...small }),
            ],
          },
          {
            title: "Output", about: isCross ? "Values from the English, too." : "Values from the French, too.",
            items: [
              table({ ...map("weights", kFrench, tokens, part(result.weights).flat()), ...small }, { from: { how: "row", of: "scaled scores" } }), "·",
              table({ ...matrix("V", tokens, dims, part(result.v).flat()), ...small }), "=",
              table({ ...matrix("output", kFrench, dims, output.flat()), ...small }, { from: { how: "product", left: "weights", right: "V" } }),
            ],
          },
          { title: "The same call at a larger size", items: larger },
        ],
        says: [
          observe(
            output.length === kFrench.length && given(result.weights).shape.at(-1) === tokens.length,
            `${kFrench.length} queries on ${tokens.length} ${tokens.length === 1 ? "key" : "keys"}: weights of ${kFrench.length} × ${tokens.length}, and an output of ${output.length} rows.`,
            "The shapes are not those of the queries and keys.",
          ),
        ],
      };
    });
  },
  explore: ({ from }) => ({
    model: "tiny-translator", source: "the king's cat never sleeps", text: "le chat du roi ne dort jamais",
    attention: from === "other" ? "cross" : "decoder", layer: 1, head: 0, query: "3", view: "map",
  }),
  exploreShows: "A head of a trained translator",
});
