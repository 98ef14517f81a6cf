// SPDX-License-Identifier: Apache-2.0
import { given, map, matrix, observe, rows, tensor } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kKeys = ["key 0", "key 1", "key 2"];
const kValues = [[1, 0], [0, 1], [1, 1]];
const kLibraries = {
  headlens: undefined, "torch-mha": "torch-mha", "torch-sdpa": "torch-sdpa", onnx: "onnx", keras: "keras", flash: "flash", jax: "jax",
} as const;

export default lesson({
  title: "A query that may see nothing",
  claim: "Where a mask hides every key, the softmax is 0 ÷ 0, and libraries differ: they give zeros, equal weights, or NaN.",
  teaches: ["T1.5"],
  controls: {
    seen: { kind: "slider", label: "keys that the query may see", min: 0, max: 3, step: 1, value: 0 },
    scores: { kind: "cells", label: "scores", min: -8, max: 8, step: 0.1, value: [[2, 1, 0]] },
  },
  question: {
    ask: "Now the query may see one key, key 0. Which libraries still disagree?",
    answers: ["all that did", "only the one that gives NaN", "none"],
    right: 2,
    because: "The softmax over a single key is 1, whatever its score. Move the slider to 1.",
  },
  formula: () => "{weights} = softmax({masked scores}), which is 0 ÷ 0 where all are masked; {output} = {weights} · values",
  async run(engine, { seen, scores }) {
    const row = given(scores[0]);
    const keys = tensor(row.map((score) => [score]));
    const options = { scale: 1, needWeights: true, validLens: { data: Int32Array.of(seen), shape: [1] }, stages: ["maskedScores"] } as const;
    const query = tensor([[1]]);
    const results = [];
    for (const conventions of Object.values(kLibraries))
      results.push(await engine.scaledDotProductAttention(query, keys, tensor(kValues), { ...options, conventions }));
    const names = Object.keys(kLibraries);
    const weights = results.map((result) => given(rows(given(result.weights))[0]));
    const output = results.map((result) => given(rows(result.output)[0]));
    const hidden = kKeys.map((_, index) => index >= seen);
    const ours = given(weights[0]);
    const agree = weights.every((one) => one.every((weight, key) => Math.abs(weight - (ours[key] ?? NaN)) < 1e-6));
    const giving = (is: (one: readonly number[]) => boolean): string => names.filter((_, index) => is(given(weights[index]))).join(", ");
    return {
      rows: [
        {
          items: [
            table(matrix("scores", ["query"], kKeys, row), { control: "scores" }), "→",
            table(matrix("masked scores", ["query"], kKeys, given(results[0]?.maskedScores).data), { masked: hidden }),
          ],
        },
        {
          title: "What becomes of this row, by the conventions of each library",
          items: [
            table(map("weights", names, kKeys, weights.flat())),
            table({ ...matrix("output", names, ["x", "y"], output.flat()), digits: 2 }),
          ],
        },
      ],
      says: [
        observe(ours.every((weight) => !Number.isNaN(weight)) && (seen > 0 || ours.every((weight) => weight === 0)),
          seen === 0 ? "By default, a row that sees nothing has weights of 0 and an output of 0 here." : "With a key in sight the row is an ordinary one.",
          "The row is not as it should be."),
        seen === 0
          ? observe(!agree, `NaN: ${giving((one) => one.some(Number.isNaN))}. Equal weights: ${giving((one) => (one[0] ?? 0) > 0)}. All others give zeros.`, "All libraries agree.")
          : observe(agree, "All conventions give the same weights.", "The conventions give different weights."),
      ],
    };
  },
  explore: () => ({ text: "The queen saw the king", view: "map", layer: 3, head: 4, query: "0", forbid: "0" }),
  exploreShows: "A first token that may not even see itself",
});
