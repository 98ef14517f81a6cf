// SPDX-License-Identifier: Apache-2.0
/** Tokens as rows, as in programs, and tokens as columns, as in textbooks, give the same numbers, transposed. */
import type { Findings, LessonEngine, Matrix } from "./numbers.js";
import { compare, count, Draw, given, identity, map, matrix, observe, rows, shown, sum, tensor, transpose, withLayer } from "./numbers.js";

export interface OrientationOptions {
  tokens?: readonly string[];
  width?: number;
  seed?: number;
}

interface Notation {
  readonly q: number[][];
  readonly k: number[][];
  readonly v: number[][];
  readonly scores: number[][];
  readonly weights: number[][];
  readonly output: number[][];
}

/** The engine computes with rows. The formula with columns is followed here step by step, in double precision. */
export async function orientation(engine: LessonEngine, options: OrientationOptions = {}): Promise<Findings> {
  const { tokens = ["cat", "sat", "on", "mat"], width = 3, seed = 7 } = options;
  const draw = new Draw(seed);
  const x = draw.rows(tokens.length, width).map((row) => row.map(Math.fround));
  const omega = { q: draw.rows(width, width), k: draw.rows(width, width), v: draw.rows(width, width) };
  const beta = { q: draw.row(width), k: draw.row(width), v: draw.row(width) };

  const byRow = await inRows(engine, x, omega, beta);
  const byColumn = inColumns(transpose(x), omega, beta);
  const dims = count(width);
  const pair = (row: string, column: string, key: keyof Notation, cols: readonly string[]): Matrix[] => {
    const make = cols === tokens && key === "weights" ? map : matrix;
    return [make(row, tokens, cols, byRow[key].flat()), make(column, cols, tokens, byColumn[key].flat())];
  };
  const names = Object.keys(byRow) as (keyof Notation)[];
  const found = names.map((name) => compare(transpose(byColumn[name]).flat(), byRow[name].flat()));
  const difference = Math.max(...found.map((one) => one.difference));
  const sums = transpose(byColumn.weights).map(sum);
  return {
    title: "Rows or columns",
    matrices: [
      matrix("X, rows", tokens, dims, x.flat()), matrix("X, columns", dims, tokens, transpose(x).flat()),
      ...pair("Q = X Ω_qᵀ + 1 β_qᵀ", "Q = β_q 1ᵀ + Ω_q X", "q", dims),
      ...pair("K = X Ω_kᵀ + 1 β_kᵀ", "K = β_k 1ᵀ + Ω_k X", "k", dims),
      ...pair("V = X Ω_vᵀ + 1 β_vᵀ", "V = β_v 1ᵀ + Ω_v X", "v", dims),
      ...pair("Q Kᵀ ÷ √d", "Kᵀ Q ÷ √d", "scores", tokens),
      ...pair("softmax of each row", "softmax of each column", "weights", tokens),
      ...pair("weights · V", "V · weights", "output", dims),
    ],
    figures: [{ name: "largest difference", value: difference }],
    observations: [
      observe(
        found.every((one) => one.same),
        `Turned over, every matrix of one notation is that of the other (largest difference ${shown(difference)}).`,
        `The notations do not agree: they differ by ${shown(difference)}.`,
      ),
      observe(
        sums.every((one) => Math.abs(one - 1) < 1e-6),
        "Tokens as columns: each column of the weights sums to 1, and a query stands at the top of its column.",
        "Tokens as columns: the columns of the weights do not sum to 1.",
      ),
    ],
  };
}

type PerRole<T> = Readonly<Record<"q" | "k" | "v", T>>;

async function inRows(
  engine: LessonEngine, x: number[][], omega: PerRole<number[][]>, beta: PerRole<number[]>,
): Promise<Notation> {
  const width = beta.q.length;
  // PyTorch stores weights as [out, in], which is exactly Ω.
  const state = {
    in_proj_weight: tensor([...omega.q, ...omega.k, ...omega.v]),
    in_proj_bias: { data: [...beta.q, ...beta.k, ...beta.v], shape: [3 * width] },
    "out_proj.weight": tensor(identity(width)),
    "out_proj.bias": { data: new Float32Array(width), shape: [width] },
  };
  return withLayer(engine, { embedDim: width, numHeads: 1 }, state, async (layer) => {
    const stages = ["q", "k", "v", "scaledScores"] as const;
    const r = await layer.forward(tensor(x), { averageAttnWeights: false, stages });
    const [q, k, v, scores, weights] = [r.q, r.k, r.v, r.scaledScores, r.weights].map((stage) => rows(given(stage)));
    const output = rows(r.output);
    return { q: given(q), k: given(k), v: given(v), scores: given(scores), weights: given(weights), output };
  });
}

/** Sa[X] = V[X] · Softmax(K[X]ᵀ Q[X] ÷ √d), the softmax over each column; x is [D, N]. */
function inColumns(x: number[][], omega: PerRole<number[][]>, beta: PerRole<number[]>): Notation {
  const project = (role: "q" | "k" | "v"): number[][] =>
    times(omega[role], x).map((row, dim) => row.map((value) => (beta[role][dim] ?? NaN) + value));
  const [q, k, v] = [project("q"), project("k"), project("v")];
  const scores = times(transpose(k), q).map((row) => row.map((score) => score / Math.sqrt(q.length)));
  const weights = transpose(transpose(scores).map(softmax));
  return { q, k, v, scores, weights, output: times(v, weights) };
}

const times = (a: number[][], b: number[][]): number[][] =>
  a.map((row) => transpose(b).map((column) => sum(row.map((value, index) => value * (column[index] ?? NaN)))));

function softmax(scores: readonly number[]): number[] {
  const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
  return powers.map((power) => power / sum(powers));
}
