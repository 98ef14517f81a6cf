// SPDX-License-Identifier: Apache-2.0
import { runScores } from "../../../experiments/head.js";
import { map, matrix, observe } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "mat"];
const kScores = [[2, 1, 0, 1]];
const kValues = [[4, 0], [0, 4], [2, 2], [6, 2]];
const kCamps = { zero: "zeros", nan: "NaN", uniform: "mean of all" } as const;

export default lesson({
  title: "A row with nothing to look at",
  claim: "A query that may look at no key has no right answer, and libraries give three.",
  teaches: ["T1.5"],
  controls: {
    padding: { kind: "cells", label: "padding", min: 0, max: 1, step: 1, value: [[1, 1, 1, 1]] },
  },
  question: {
    ask: "All scores of a row are −∞. What does the formula of the softmax give, as it stands?",
    answers: ["zeros", "1/n for each key", "NaN"],
    right: 2,
    because: "Every e^−∞ is 0, and the row is 0 ÷ 0. Zeros need a case of their own, and 1/n comes from a large negative number in place of −∞. Set one cell of the padding to 0: the three agree.",
  },
  formula: () => "{output} = {weights} · {values}",
  async run(engine, { padding }) {
    const keyPaddingMask = { data: padding.flat().map((cell) => cell >= 0.5), shape: [1, 4] };
    const camps = Object.keys(kCamps) as (keyof typeof kCamps)[];
    const runs = await Promise.all(camps.map((fullyMasked) =>
      runScores(engine, kScores, kValues, { keyPaddingMask, fullyMasked })));
    const names = Object.values(kCamps);
    const hidden = keyPaddingMask.data;
    const [zero, , uniform] = runs.map(({ output }) => output.flat());
    const open = hidden.filter((is) => !is).length;
    return {
      rows: [
        {
          items: [
            table({ ...matrix("padding", ["hidden?"], kTokens, padding.flat(), "sequential"), digits: 0 }, { control: "padding" }),
            table({ ...matrix("values", kTokens, ["x", "y"], kValues.flat()), digits: 1 }),
          ],
        },
        {
          title: "The row, three times",
          about: "Zeros: ONNX, FlashAttention, Keras, newer scaled_dot_product_attention. NaN: torch.nn.MultiheadAttention with weights. The mean: JAX.",
          items: [
            table(map("weights", names, kTokens, runs.flatMap(({ weights }) => weights.flat())), { masked: names.flatMap(() => hidden) }),
            "→",
            table({ ...matrix("output", names, ["x", "y"], runs.flatMap(({ output }) => output.flat())), digits: 2 }),
          ],
        },
      ],
      says: [
        open === 0
          ? observe(zero?.every((value) => value === 0) === true, `The output is (0, 0), (NaN, NaN) or (${(uniform ?? []).join(", ")}), the mean of values that nobody should see.`, "The outputs are others than expected.")
          : observe(runs.every(({ output }) => output.flat().every((value, i) => value === zero?.[i])), `${open === 1 ? "One key is" : `${open} keys are`} open, and all three are the same.`, "The three differ although a key is open."),
      ],
    };
  },
  explore: () => ({ model: "tiny", text: "The cat sat on the mat.", layer: 0, head: 5, query: "0", forbid: "0", view: "map" }),
  exploreShows: "A first token that may not look at itself",
});
