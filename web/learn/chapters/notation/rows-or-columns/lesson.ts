// SPDX-License-Identifier: Apache-2.0
import { compare, given, observe, shown, sum, transpose, type Matrix } from "../../../experiments/numbers.js";
import { orientation } from "../../../experiments/orientation.js";
import { lesson } from "../../../lesson.js";
import { table, type Table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "mat"];

/** A step as its two notations name it in the experiment. */
const kSteps = {
  x: ["X, rows", "X, columns"],
  q: ["Q = X Ω_qᵀ + 1 β_qᵀ", "Q = β_q 1ᵀ + Ω_q X"],
  k: ["K = X Ω_kᵀ + 1 β_kᵀ", "K = β_k 1ᵀ + Ω_k X"],
  v: ["V = X Ω_vᵀ + 1 β_vᵀ", "V = β_v 1ᵀ + Ω_v X"],
  scores: ["Q Kᵀ ÷ √d", "Kᵀ Q ÷ √d"],
  weights: ["softmax of each row", "softmax of each column"],
  output: ["weights · V", "V · weights"],
} as const;

const rowsOf = ({ rows, cols, values }: Matrix): number[][] =>
  rows.map((_, row) => [...values.subarray(row * cols.length, (row + 1) * cols.length)]);

export default lesson({
  title: "The same numbers, turned over",
  claim: "With tokens as rows or as columns, attention computes the same numbers: every matrix of the one is the transpose of the other’s.",
  teaches: ["T3.5"],
  controls: {
    step: {
      kind: "choice", label: "step", value: "weights",
      options: { x: "embeddings", q: "Q", k: "K", v: "V", scores: "scores", weights: "weights", output: "output" },
    },
    token: { kind: "slider", label: "token", min: 0, max: kTokens.length - 1, step: 1, value: 1 },
  },
  question: {
    ask: "A textbook stacks tokens as columns, and its scores are Kᵀ Q. Where does its softmax sum to 1?",
    answers: ["in each row", "in each column", "in the whole matrix"],
    right: 1,
    because: "A query is a column there, so its scores stand below each other. The frame shows the query’s token in both: a row here, a column there.",
  },
  formula: ({ step }) => `{${kSteps[step][1]}} = ({${kSteps[step][0]}})ᵀ; rows: softmax(Q · Kᵀ ÷ √d) · V, columns: V · softmax(Kᵀ · Q ÷ √d)`,
  async run(engine, { step, token }) {
    const { matrices } = await orientation(engine, { tokens: kTokens });
    const named = (name: string): Matrix => given(matrices.find((one) => one.name === name));
    const [byRow, byColumn] = [named(kSteps[step][0]), named(kSteps[step][1])];
    const [rows, columns] = [rowsOf(byRow), rowsOf(byColumn)];
    const apart = compare(rows.flat(), transpose(columns).flat()).difference;
    const sums = [sum(rows[token] ?? []), sum(transpose(columns)[token] ?? [])];
    const put = (one: Matrix, name: string, marked: NonNullable<Table["marked"]>): Table => table({ ...one, name }, { marked });
    return {
      rows: [{
        title: "Left: a token in each row. Right: a token in each column.",
        items: [put(byRow, kSteps[step][0], { row: token, col: -1 }), "⟷", put(byColumn, kSteps[step][1], { row: -1, col: token })],
      }],
      says: [
        observe(
          apart < 1e-5,
          `Turned over, each table is the other: all ${rows.flat().length} numbers agree (largest difference ${shown(apart)}).`,
          `The tables differ by up to ${shown(apart)}.`,
        ),
        ...(step === "weights" ? [observe(sums.every((one) => Math.abs(one - 1) < 1e-5), `“${kTokens[token] ?? ""}” looks: its weights sum to 1, along its row in the one and down its column in the other.`, `The weights of “${kTokens[token] ?? ""}” sum to ${sums.map(shown).join(" and ")}.`)] : []),
      ],
    };
  },
  explore: ({ token }) => ({ text: "The cat sat on the mat.", view: "map", layer: 0, head: 3, query: String([2, 3, 4, 6][token]) }),
  exploreShows: "A real map, with a token in each row",
});
