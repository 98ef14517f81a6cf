// SPDX-License-Identifier: Apache-2.0
import { runHead } from "../../../experiments/head.js";
import { map, matrix, observe } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "…"];
const kNumbers = { nan: NaN, infinite: Infinity, large: 1e6 } as const;
const kCamps = { blocked: "skipped", spreads: "multiplied by 0" } as const;

export default lesson({
  title: "NaN behind a mask",
  claim: "To skip a masked key and to give it a weight of 0 are the same thing as long as all numbers are finite.",
  teaches: [],
  controls: {
    number: { kind: "choice", label: "behind the mask stands", options: { nan: "NaN", infinite: "∞", large: "a million" }, value: "nan" },
    place: { kind: "choice", label: "as the", options: { value: "value", key: "key" }, value: "value" },
  },
  question: {
    ask: "A masked key has a weight of exactly 0, and its value is NaN. What does the sum over all values give?",
    answers: ["the same as without that key", "0", "NaN"],
    right: 2,
    because: "0 · NaN is NaN, and so is 0 · ∞. Choose a million: 0 · 1,000,000 is 0, and both rows are the same again.",
  },
  formula: () => "{output} = Σ {weights} · value of {keys and values}, over the open keys or over all",
  async run(engine, { number, place }) {
    const odd = kNumbers[number];
    const keys = [2, 1, 0, place === "key" ? odd : 1];
    const values = [4, 0, 2, place === "value" ? odd : 1];
    const keyPaddingMask = { data: [false, false, false, true], shape: [1, 4] };
    const column = (numbers: readonly number[]): number[][] => numbers.map((one) => [one]);
    const camps = Object.keys(kCamps) as (keyof typeof kCamps)[];
    const runs = await Promise.all(camps.map((maskedNan) =>
      runHead(engine, [[1]], column(keys), column(values), { keyPaddingMask, maskedNan })));
    const names = Object.values(kCamps);
    const [skipped = NaN, multiplied = NaN] = runs.map(({ output }) => output[0]?.[0]);
    const masked = [false, false, false, true];
    return {
      rows: [
        {
          title: "What the query finds", about: "The last place is padding, and masked.",
          items: [
            table({ ...matrix("keys and values", ["key", "value"], kTokens, [...keys, ...values]), digits: 0 }, { masked: [...masked, ...masked] }),
          ],
        },
        {
          title: "The masked key is …",
          about: "Skipped: headlens. Multiplied by 0: PyTorch’s scaled_dot_product_attention.",
          items: [
            table(map("weights", names, kTokens, runs.flatMap(({ weights }) => weights.flat())), { masked: [...masked, ...masked] }),
            "→",
            table(matrix("output", names, ["x"], [skipped, multiplied])),
          ],
        },
      ],
      says: [
        observe(Number.isFinite(skipped), `Where the key is skipped, the output is ${skipped.toFixed(3)}, whatever stands there.`, "The NaN went through."),
        number === "large"
          ? observe(multiplied === skipped, "A million times 0 is 0: both rows are the same.", "The two rows differ.")
          : observe(Number.isNaN(multiplied), "Where it is multiplied by 0, the output is NaN.", `Where it is multiplied by 0, the output is ${multiplied.toFixed(3)}.`),
      ],
    };
  },
  exploreMaps: ["weights"],
  exploreShows: "Both rows of weights, and the masked key",
});
