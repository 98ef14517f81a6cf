// SPDX-License-Identifier: Apache-2.0
import { runHead } from "../../../experiments/head.js";
import { given, map, observe } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Table } from "../../../scene.js";

const kTokens = ["The", "cat", "sat", "on", "a", "mat"];

export default lesson({
  title: "Which corner does the causal triangle start in?",
  claim: "When there are fewer queries than keys, “causal” has two meanings: the queries are the first tokens, or they are the last ones.",
  teaches: ["T0.4"],
  controls: {
    queries: { kind: "slider", label: "queries, on six keys", min: 1, max: 6, step: 1, value: 2 },
  },
  question: {
    ask: "One new token asks six keys in a cache, and you leave is_causal on in PyTorch. How many keys does the token see?",
    answers: ["one", "six", "none"],
    right: 0,
    because: "That triangle starts at the top left, so the one query is taken for the first token. Set the slider to 1: the new token sees “The” and nothing else.",
  },
  formula: () => "T queries on S keys: i sees j in {top left} where j ≤ i, in {bottom right} where j ≤ i + S − T",
  async run(engine, { queries }) {
    const zeros = (length: number): number[][] => Array.from({ length }, () => [0]);
    const run = async (causalAlignment: "top_left" | "bottom_right"): Promise<number[]> =>
      (await runHead(engine, zeros(queries), zeros(6), zeros(6), { isCausal: true, causalAlignment })).weights.flat();
    const [first, last] = [await run("top_left"), await run("bottom_right")];
    const side = (name: string, labels: readonly string[], weights: readonly number[]): Table =>
      table({ ...map(name, labels, kTokens, weights), digits: 2 }, { masked: weights.map((weight) => weight === 0) });
    const seen = (weights: readonly number[]): number => weights.filter((weight) => weight > 0).length;
    const apart = first.filter((weight, cell) => weight > 0 !== given(last[cell]) > 0).length;
    return {
      rows: [
        { title: "The first query at the first key", about: "In scaled_dot_product_attention, JAX and Keras. Each row is named after the token that the query is taken for. All scores are equal.", items: [side("top left", kTokens.slice(0, queries), first)] },
        { title: "The last query at the last key", about: "In FlashAttention and ONNX.", items: [side("bottom right", kTokens.slice(-queries), last)] },
      ],
      says: [
        observe(
          queries < 6, `Top left opens ${seen(first)} pairs and bottom right ${seen(last)}; ${apart} pairs are open in one of them only.`,
          "With as many queries as keys, both triangles are the same.",
        ),
      ],
    };
  },
  explore: () => ({ model: "tiny", text: "The cat sat on the mat.", layer: 0, head: 6, query: "6", view: "decode" }),
  exploreShows: "A new token and its cache of keys",
});
