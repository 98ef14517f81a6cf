// SPDX-License-Identifier: Apache-2.0
import { compare, count, Draw, given, headRows, map, observe, rows, shown, sum, tensor, transpose, withLayer } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Shape } from "../../../scene.js";
import { projectionsOf, stateOf, type Projections } from "../layers.js";

const kWords = ["the", "cat", "sat", "on", "a", "mat"];
const kWidth = 16;

/** “a”, “b” or “c” */
const oneOf = (words: readonly string[]): string =>
  words.map((word) => `“${word}”`).join(", ").replace(/, ([^,]*)$/, " or $1");

const product = (a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number[][] =>
  a.map((row) => transpose(b).map((col) => sum(row.map((value, index) => value * given(col[index])))));

const columns = (matrix: readonly (readonly number[])[], from: number, to: number): number[][] =>
  matrix.map((row) => row.slice(from, to));

function softmax(row: readonly number[]): number[] {
  const powers = row.map((score) => Math.exp(score - Math.max(...row)));
  return powers.map((power) => power / sum(powers));
}

/** The layer line by line in double precision: project, cut, attend, join, mix. */
function byHand(x: number[][], { q, k, v, o }: Projections, heads: number): number[][] {
  const own = kWidth / heads;
  const [queries, keys, values] = [product(x, q), product(x, k), product(x, v)];
  const each = count(heads).map((_, head) => {
    const part = (matrix: number[][]): number[][] => columns(matrix, head * own, (head + 1) * own);
    const scores = product(part(queries), transpose(part(keys)));
    const weights = scores.map((row) => softmax(row.map((score) => score / Math.sqrt(own))));
    return product(weights, part(values));
  });
  return product(x.map((_, token) => each.flatMap((head) => given(head[token]))), o);
}

export default lesson({
  title: "Four heads, line by line",
  claim: "Every head draws a map of its own over the same tokens, and the joined outputs are as wide as the input.",
  teaches: ["T3.3"],
  controls: {
    tokens: { kind: "slider", label: "tokens", min: 2, max: 6, step: 1, value: 4 },
    heads: { kind: "steps", label: "heads", values: [1, 2, 4, 8], value: 4 },
  },
  question: {
    ask: "With four tokens, Q, the scores and the outputs of the heads are all (4, 4, 4). A fifth token comes. What are the scores now?",
    answers: ["(4, 5, 4)", "(4, 5, 5)", "(5, 4, 4)"],
    right: 1,
    because: "The first 4 counts heads. Scores have tokens on both of the other axes, and Q has tokens and numbers. Move the slider of the tokens.",
  },
  formula: () => "weights of a head = softmax({Q} · Kᵀ ÷ √d), {output} = {joined} · W_o",
  async run(engine, { tokens, heads }) {
    const draw = new Draw(33);
    const x = draw.rows(kWords.length, kWidth).slice(0, tokens).map((row) => row.map(Math.fround));
    const projections = projectionsOf(new Draw(34), kWidth);
    const words = kWords.slice(0, tokens);
    const options = { embedDim: kWidth, numHeads: heads, bias: false };
    return withLayer(engine, options, stateOf(projections), async (layer) => {
      const stages = ["q", "scaledScores", "weights", "headOutputs"] as const;
      const result = await layer.forward(tensor(x), { averageAttnWeights: false, stages });
      const expected = byHand(x, projections, heads).flat();
      const { difference, same } = compare(expected, result.output.data);
      const maps = count(heads).map((_, head) => headRows(result.weights, head));
      const shape = (name: string, sizes: readonly number[], axes: string): Shape =>
        ({ kind: "shape", name, sizes: sizes.slice(-axes.length), axes: [...axes] });
      const drawn = maps.map((one, head) => table({ ...map(`head ${head}`, words, words, one.flat()), digits: 2 }));
      const perRow = Math.ceil(heads / 2);
      const looks = maps.map((one) => given(one.at(-1))).map((row) => words[row.indexOf(Math.max(...row))] ?? "");
      const agree = new Set(looks).size === 1;
      return {
        rows: [
          { title: "Weights of each head: rows look, columns are looked at", items: drawn.slice(0, perRow) },
          ...(heads > perRow ? [{ items: drawn.slice(perRow) }] : []),
          {
            title: "Shapes",
            items: [
              shape("Q", given(result.q).shape, "HTd"), shape("scores", given(result.scaledScores).shape, "HTT"),
              shape("heads", given(result.headOutputs).shape, "HTd"), "→",
              shape("joined", [tokens, heads * given(given(result.headOutputs).shape.at(-1))], "TD"),
              shape("output", [rows(result.output).length, given(result.output.shape.at(-1))], "TD"),
            ],
          },
        ],
        says: [
          observe(
            !agree,
            `“${given(words.at(-1))}” looks most at ${oneOf([...new Set(looks)])}, depending on the head.`,
            `“${given(words.at(-1))}” looks most at “${looks[0] ?? ""}” in ${heads === 1 ? "the only head" : "every head"}.`,
          ),
          observe(
            same,
            `Computed line by line in double precision, the output is the layer’s (largest difference ${shown(difference)}).`,
            `Computed line by line, the output differs from the layer’s by up to ${shown(difference)}.`,
          ),
        ],
      };
    });
  },
  explore: ({ heads }) => ({
    text: "The queen saw the king and she laughed.", view: "lines", layer: 3, head: 0, query: "6", heads: count(heads - 1, (one) => `3.${one + 1}`).join(" "),
  }),
  exploreShows: "As many trained heads on one sentence",
});
