// SPDX-License-Identifier: Apache-2.0
import { kCatSatOnMat } from "../../../../views/cat-sat-on-mat.js";
import { brief, count, map, matrix, observe, percent, sum, transpose } from "../../../experiments/numbers.js";
import { lesson, type Cells } from "../../../lesson.js";
import { table, type Table } from "../../../scene.js";
import { beside, kTokens, kWo, kX, partOf, stepsOf, type Rows } from "../head.js";

const { wq, wk, wv } = kCatSatOnMat;

const cells = <const Name extends string>(label: Name, value: Rows): Cells => ({ kind: "cells", label, min: -4, max: 4, step: 0.01, value });
const kDims = count(4);

export default lesson({
  title: "A whole head, number by number",
  claim: "All that a head does to its tokens is sums of products and one softmax in between.",
  teaches: ["T0.1"],
  controls: {
    head: { kind: "choice", label: "the head", options: { 0: "head 0", 1: "head 1" }, value: "0" },
    x: cells("X", kX),
    q0: cells("W_q of head 0", partOf(wq, 0)), q1: cells("W_q of head 1", partOf(wq, 1)),
    k0: cells("W_k of head 0", partOf(wk, 0)), k1: cells("W_k of head 1", partOf(wk, 1)),
    v0: cells("W_v of head 0", partOf(wv, 0)), v1: cells("W_v of head 1", partOf(wv, 1)),
  },
  question: {
    ask: "You change one number in the row of cat in X. Which rows of the output can change?",
    answers: ["only that of cat", "all of them", "those after cat"],
    right: 1,
    because: "Only cat’s rows of Q, K and V change. But every token compares itself with cat’s key, and takes a share of cat’s value. Drag a number of X and watch.",
  },
  formula: () => "{head output} = softmax({Q} · {Kᵀ} ÷ √2) · {V}",
  async run(engine, { head: chosen, x, q0, q1, k0, k1, v0, v1 }) {
    const head = Number(chosen);
    const s = await stepsOf(engine, { x, wq: beside(q0, q1), wk: beside(k0, k1), wv: beside(v0, v1) }, head);
    const own = [String(head * 2), String(head * 2 + 1)];
    const weightsOf = (name: string, control: "q" | "k" | "v", values: Rows): Table =>
      table({ ...matrix(name, kDims, own, values.flat()), digits: 2 }, { control: `${control}${chosen}` });
    const made = (name: string, cols: readonly string[], values: Rows, left: string, right: string): Table =>
      table(matrix(name, kTokens, cols, values.flat()), { from: { how: "product", left, right } });
    const [q, k, v] = head === 0 ? [q0, k0, v0] : [q1, k1, v1];
    const looks = s.weights.map((row) => row.indexOf(Math.max(...row)));
    return {
      rows: [
        {
          title: "1 · X · W_q: a query for each token",
          about: "The rows of X are embeddings. Drag or type any number with a dotted line.",
          items: [table({ ...matrix("X", kTokens, kDims, x.flat()), digits: 2 }, { control: "x" }), "·", weightsOf("W_q", "q", q), "=", made("Q", own, s.q, "X", "W_q")],
        },
        {
          title: "2 · X · W_k and X · W_v: a key and a value for each token",
          items: [
            "X ·", weightsOf("W_k", "k", k), "=", made("K", own, s.k, "X", "W_k"),
            "X ·", weightsOf("W_v", "v", v), "=", made("V", own, s.v, "X", "W_v"),
          ],
        },
        {
          title: "3 · Q · Kᵀ: a score for each query and key",
          about: "Kᵀ is K with rows and columns swapped. Rows are queries, columns are keys.",
          items: [
            "Q ·", table(matrix("Kᵀ", own, kTokens, transpose(s.k).flat()), { from: { how: "transposed", of: "K" } }), "=", made("scores", kTokens, s.scores, "Q", "Kᵀ"),
          ],
        },
        {
          title: "4 · ÷ √2, softmax of each row, and the values that the weights blend",
          items: [
            table(matrix("scores ÷ √2", kTokens, kTokens, s.scaledScores.flat()), { from: { how: "each", of: "scores", words: (score, scaled) => `${brief(score)} ÷ √2 ≈ ${brief(scaled)}` } }), "→",
            table(map("weights", kTokens, kTokens, s.weights.flat()), { from: { how: "row", of: "scores ÷ √2" } }), "· V =",
            made("head output", own, s.headOutputs, "weights", "V"),
          ],
        },
        {
          title: "5 · Both heads side by side, mixed by W_o: each token in its context",
          items: [
            table(matrix("heads joined", kTokens, kDims, s.joined.flat())), "·", table({ ...matrix("W_o", kDims, kDims, kWo.flat()), digits: 2 }), "=",
            made("output", kDims, s.output, "heads joined", "W_o"),
          ],
        },
      ],
      says: [
        observe(true, `In head ${head}, ${kTokens.map((token, row) => `${token} looks most at ${kTokens[looks[row] ?? 0] ?? ""} (${percent(s.weights[row]?.[looks[row] ?? 0] ?? NaN)})`).join(", ")}.`, ""),
        observe(s.weights.every((row) => Math.abs(sum(row) - 1) < 1e-5), "Every row of the weights sums to 1.", "A row of the weights does not sum to 1."),
      ],
    };
  },
  explore: ({ head }) => ({ view: "steps", head: Number(head), causal: false }),
  exploreShows: "The example before any change",
});
