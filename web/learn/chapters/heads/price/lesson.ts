// SPDX-License-Identifier: Apache-2.0
import { given, matrix, observe } from "../../../experiments/numbers.js";
import type { LessonEngine, Matrix } from "../../../experiments/numbers.js";
import { countOperations, multiplications, type Counts } from "../../../experiments/six-steps.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

type Count = (counts: Counts) => number;

const grouped = (value: number): string => value.toLocaleString("en");

async function parametersOf(engine: LessonEngine, embedDim: number, numHeads: number, bias: boolean): Promise<number> {
  const layer = await engine.multiheadAttention({ embedDim, numHeads, bias });
  const { parameterCount } = layer;
  layer.dispose();
  return parameterCount;
}

export default lesson({
  title: "Many heads for the price of one",
  claim: "Heads that share the width cost as many multiplications and parameters as one head of full width, however many they are.",
  teaches: ["T2.1", "T1.6"],
  controls: {
    heads: { kind: "steps", label: "heads", values: [1, 2, 4, 8, 16], value: 8 },
    width: { kind: "steps", label: "model width D", values: [64, 512, 768, 1024], value: 768 },
    tokens: { kind: "steps", label: "tokens", values: [16, 128, 1024], value: 128 },
    bias: { kind: "switch", label: "with biases", value: false },
  },
  question: {
    ask: "You double the number of heads and keep the model width. What doubles?",
    answers: ["the parameters", "the multiplications", "only the exponentials of the softmax"],
    right: 2,
    because: "Each head is half as wide, so its products are half as long. But every head has a map of its own, and each of its cells takes one exponential. Move the slider of the heads.",
  },
  formula: () => "{weights in the projections} = 4 · D · heads · width of each, {softmax} = heads · tokens²",
  async run(engine, { heads, width, tokens, bias }) {
    const designs = [
      { name: `${heads} × ${width / heads}`, counts: countOperations(tokens, width, heads) },
      { name: `1 × ${width}`, counts: countOperations(tokens, width, 1) },
      { name: `${heads} × ${width}`, counts: countOperations(tokens, width, heads, width) },
    ];
    const names = designs.map(({ name }) => name);
    const steps = {
      "to Q, K and V": ({ projections }: Counts) => projections,
      "scores": (one: Counts) => one.scores,
      "weights · V": ({ weightedValues }: Counts) => weightedValues,
      "output projection": ({ outputProjection }: Counts) => outputProjection,
      "all": multiplications,
    };
    const each = (name: string, labels: readonly string[], of: readonly Count[], digits: number): Matrix =>
      ({ ...matrix(name, labels, names, of.flatMap((value) => designs.map(({ counts }) => value(counts)))), digits });
    const millions = Object.values(steps).map((value) => (counts: Counts) => value(counts) / 1e6);
    const [many, one] = [await parametersOf(engine, width, heads, bias), await parametersOf(engine, width, 1, bias)];
    const [own, full] = designs.map(({ counts }) => counts);
    const layers = `${heads} heads of ${width / heads}: ${grouped(many)} parameters; one head of ${width}: ${grouped(one)}`;
    const products = `${grouped(multiplications(given(own)))} and ${grouped(multiplications(given(full)))} multiplications`;
    return {
      rows: [
        {
          title: "Millions of multiplications, heads × width of each",
          items: [table(each("multiplications (millions)", Object.keys(steps), millions, 1))],
        },
        {
          items: [
            table(each("weights in the projections", ["parameters"], [({ parameters }) => parameters], 0)),
            table(each("softmax", ["exponentials"], [({ exponentials }) => exponentials], 0)),
          ],
        },
      ],
      says: [
        observe(many === one, `${layers}: the same.`, `${layers}.`),
        observe(multiplications(given(own)) === multiplications(given(full)), `${products}: the same.`, `${products}.`),
      ],
    };
  },
  explore: () => ({ text: "The cat sat on the mat.", view: "map", layer: 0, head: 0 }),
  exploreShows: "Eight trained heads that share a width of 128",
});
