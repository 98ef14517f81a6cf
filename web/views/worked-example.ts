// SPDX-License-Identifier: Apache-2.0
/**
 * Attention worked out step by step: every matrix and, for every number of a result, the sum that gives it. The engine
 * computes, and this file arranges.
 */
import type { AsyncEngine, AttentionResult, Image, Stage, Tensor, TensorLike } from "headlens";
import { formatValue } from "../maps/format.js";
import type { Theme } from "../maps/palette.js";

/**
 * Embeddings [T, D] of the tokens and projections [D, D] for x · W. Head h has the columns from h · D / numHeads on.
 */
export interface WorkedExample {
  tokens: readonly string[];
  x: readonly (readonly number[])[];
  wq: readonly (readonly number[])[];
  wk: readonly (readonly number[])[];
  wv: readonly (readonly number[])[];
  wo: readonly (readonly number[])[];
  numHeads: number;
}

export interface Matrix {
  /** `_` makes the next letter a subscript, as in W_q. */
  readonly name: string;
  readonly rows: readonly string[];
  readonly cols: readonly string[];
  readonly values: Float32Array;
  /** The number of decimals shown. Given numbers have two and are exact. */
  readonly digits: number;
  readonly colormap: "sequential" | "diverging";
  /** Colours, one pixel per cell. Masked cells are transparent. */
  tint?: Image;
}

export interface Step {
  readonly title: string;
  readonly about: string;
  /** The matrices that give the result, each with the sign before it. */
  readonly factors: readonly { sign: string; matrix: Matrix }[];
  readonly result: Matrix;
  /** The sum that gives a cell of the result. */
  explain(row: number, col: number): string;
  /** Returns true when a cell of a factor is used for a cell of the result. */
  uses(factor: number, at: { row: number; col: number }, result: { row: number; col: number }): boolean;
}

export interface Worked {
  readonly numHeads: number;
  readonly steps: readonly Step[];
}

const kStages = [
  "q",
  "k",
  "v",
  "scores",
  "scaledScores",
  "maskedScores",
  "weights",
  "headOutputs",
] as const satisfies readonly Stage[];

/** Runs the layer and arranges the steps of one head, with colours. Throws when the example's shapes do not fit. */
export async function workExample(
  engine: AsyncEngine,
  example: WorkedExample,
  options: { head: number; causal: boolean; theme: Theme },
): Promise<Worked> {
  const { head, causal, theme } = options;
  if (head >= example.numHeads) throw new Error(`head ${head}: this example has heads 0 to ${example.numHeads - 1}`);
  const steps = arrange(example, await runLayer(engine, example, causal), head, causal);
  const matrices = new Set(steps.flatMap((step) => [...step.factors.map(({ matrix }) => matrix), step.result]));
  await Promise.all([...matrices].map(async (matrix) => (matrix.tint = await tint(engine, matrix, theme))));
  return { numHeads: example.numHeads, steps };
}

async function runLayer(
  engine: AsyncEngine,
  { x, wq, wk, wv, wo, numHeads }: WorkedExample,
  isCausal: boolean,
): Promise<AttentionResult> {
  const embedDim = wq.length;
  const layer = await engine.multiheadAttention({ embedDim, numHeads, bias: false });
  try {
    await layer.loadStateDict({
      in_proj_weight: tensor([...transpose(wq), ...transpose(wk), ...transpose(wv)]),
      "out_proj.weight": tensor(transpose(wo)),
    });
    return await layer.forward(tensor(x), { isCausal, averageAttnWeights: false, stages: kStages });
  } finally {
    layer.dispose();
  }
}

function arrange(example: WorkedExample, result: AttentionResult, head: number, causal: boolean): Step[] {
  const { tokens, numHeads } = example;
  const width = example.wq.length / numHeads;
  const dims = Array.from({ length: width * numHeads }, (_, index) => String(index));
  const own = dims.slice(head * width, (head + 1) * width);
  const given = (
    name: string,
    rows: readonly string[],
    cols: readonly string[],
    values: readonly (readonly number[])[],
  ): Matrix => {
    return { name, rows, cols, values: Float32Array.from(values.flat()), digits: 2, colormap: "diverging" };
  };
  const computed = (
    name: string,
    cols: readonly string[],
    values: Float32Array,
    colormap: Matrix["colormap"] = "diverging",
  ): Matrix => {
    return { name, rows: tokens, cols, values, digits: 3, colormap };
  };
  const stage = (name: (typeof kStages)[number]): Float32Array => slice(result[name], head, tokens.length);
  const columns = (matrix: readonly (readonly number[])[]): number[][] =>
    matrix.map((row) => row.slice(head * width, (head + 1) * width));

  const x = given("X", tokens, dims, example.x);
  const q = computed("Q", own, stage("q"));
  const k = computed("K", own, stage("k"));
  const v = computed("V", own, stage("v"));
  const kT: Matrix = { ...k, name: "Kᵀ", rows: own, cols: tokens, values: transposed(k.values, tokens.length, width) };
  const scores = computed("scores", tokens, stage("scores"));
  const scaled = computed("scaled", tokens, stage("scaledScores"));
  const masked = computed("masked", tokens, stage("maskedScores"));
  const weights = computed("weights", tokens, masks(stage("weights"), masked.values), "sequential");
  const headOutput = computed(`head ${head}`, own, stage("headOutputs"));
  const joined = computed("heads joined", dims, joinHeads(result.headOutputs, tokens.length, numHeads, width));
  const output = computed("output", dims, result.output.data);

  const project = (letter: string, w: readonly (readonly number[])[], to: Matrix): Step => {
    const about = {
      Q: "What each token looks for.",
      K: "What each token offers to be found by.",
      V: "What each token hands over when it is looked at.",
    }[letter];
    return product(
      `${letter} = X · W_${letter.toLowerCase()}`,
      about ?? "",
      x,
      given(`W_${letter.toLowerCase()}`, dims, own, columns(w)),
      to,
    );
  };
  const beforeSoftmax = causal ? masked : scaled;
  return [
    project("Q", example.wq, q),
    project("K", example.wk, k),
    product("Scores = Q · Kᵀ", "How well each query (row) fits each key (column).", q, kT, scores),
    scale(scores, scaled, width),
    ...(causal ? [mask(scaled, masked)] : []),
    softmax(beforeSoftmax, weights),
    project("V", example.wv, v),
    product(
      "Head output = weights · V",
      "Each token takes from every value the share its row says.",
      weights,
      v,
      headOutput,
    ),
    product(
      "Output = heads joined · W_o",
      "The heads side by side, mixed: the new embedding of each token in its context.",
      joined,
      given("W_o", dims, dims, example.wo),
      output,
    ),
  ];
}

function product(title: string, about: string, left: Matrix, right: Matrix, result: Matrix): Step {
  const inner = right.rows.length;
  // Given numbers are shown exactly. Rounded ones make the printed sum an approximation.
  const equals = left.digits === 2 && right.digits === 2 ? "=" : "≈";
  return {
    title,
    about,
    factors: [
      { sign: "", matrix: left },
      { sign: "·", matrix: right },
    ],
    result,
    explain: (row, col) => {
      const terms = Array.from(
        { length: inner },
        (_, index) => `${factor(left, row, index)}·${factor(right, index, col)}`,
      );
      return `${terms.join(" + ")} ${equals} ${formatValue(at(result, row, col))}`;
    },
    uses: (which, cell, { row, col }) => (which === 0 ? cell.row === row : cell.col === col),
  };
}

const sameCell: Step["uses"] = (_, cell, { row, col }) => cell.row === row && cell.col === col;

function scale(scores: Matrix, scaled: Matrix, width: number): Step {
  return {
    title: `Scaled = scores ÷ √${width}`,
    about: `Divided by the root of the head’s width, so that wider heads do not make steeper weights.`,
    factors: [{ sign: "", matrix: scores }],
    result: scaled,
    explain: (row, col) => `${formatValue(at(scores, row, col))} ÷ √${width} ≈ ${formatValue(at(scaled, row, col))}`,
    uses: sameCell,
  };
}

function mask(scaled: Matrix, masked: Matrix): Step {
  return {
    title: "Masked = scaled, without later tokens",
    about: "A causal layer hides what comes after: those scores become −∞ before the softmax, in each head by itself.",
    factors: [{ sign: "", matrix: scaled }],
    result: masked,
    explain: (row, col) => {
      const [query, key] = [masked.rows[row] ?? "", masked.cols[col] ?? ""];
      return col > row
        ? `‘${key}’ comes after ‘${query}’: −∞`
        : `‘${key}’ is not after ‘${query}’: stays ${formatValue(at(masked, row, col))}`;
    },
    uses: sameCell,
  };
}

function softmax(scores: Matrix, weights: Matrix): Step {
  const power = (row: number, col: number): string => `e^${factor(scores, row, col)}`;
  return {
    title: "Weights = softmax of each row",
    about: "Shares of 1: this is the attention map.",
    factors: [{ sign: "", matrix: scores }],
    result: weights,
    explain: (row, col) => {
      if (Number.isNaN(at(weights, row, col))) return "e^−∞ = 0: a masked key gets nothing";
      const terms = scores.cols.map((_, index) => index).filter((index) => at(scores, row, index) !== -Infinity);
      return `${power(row, col)} ÷ (${terms.map((index) => power(row, index)).join(" + ")}) ≈ ${formatValue(at(weights, row, col))}`;
    },
    uses: (_, cell, { row }) => cell.row === row,
  };
}

export const at = (matrix: Matrix, row: number, col: number): number =>
  matrix.values[row * matrix.cols.length + col] ?? NaN;

/** A number as it is printed. Masked scores are −∞, and masked weights are 0. */
export function printed(value: number, digits: number): string {
  if (Number.isNaN(value)) return "0";
  return value === -Infinity ? "−∞" : formatValue(value, digits);
}

function factor(matrix: Matrix, row: number, col: number): string {
  const value = at(matrix, row, col);
  const text = printed(value, matrix.digits);
  return value < 0 ? `(${text})` : text;
}

async function tint(engine: AsyncEngine, { values, rows, cols, colormap }: Matrix, theme: Theme): Promise<Image> {
  const finite = values.map((value) => (value === -Infinity ? NaN : value));
  const most = finite.reduce((bound, value) => Math.max(bound, Math.abs(value) || 0), 0);
  const range = colormap === "sequential" ? { min: 0, max: 1 } : { min: -most || -1, max: most || 1 };
  return engine.colorize({ data: finite, shape: [rows.length, cols.length] }, { colormap, theme, ...range });
}

/** The part of a stage [H, T, …] or [1, H, T, …] that belongs to one head. */
function slice(stage: Tensor | undefined, head: number, tokens: number): Float32Array {
  const cols = stage?.shape.at(-1) ?? 0;
  return stage?.data.slice(head * tokens * cols, (head + 1) * tokens * cols) ?? new Float32Array();
}

function masks(weights: Float32Array, scores: Float32Array): Float32Array {
  return weights.map((weight, index) => (scores[index] === -Infinity ? NaN : weight));
}

function joinHeads(outputs: Tensor | undefined, tokens: number, heads: number, width: number): Float32Array {
  const joined = new Float32Array(tokens * heads * width);
  for (let head = 0; head < heads; head++) {
    const part = slice(outputs, head, tokens);
    for (let row = 0; row < tokens; row++)
      joined.set(part.subarray(row * width, (row + 1) * width), (row * heads + head) * width);
  }
  return joined;
}

function transposed(values: Float32Array, rows: number, cols: number): Float32Array {
  return values.map((_, index) => values[(index % rows) * cols + Math.floor(index / rows)] ?? NaN);
}

function transpose(matrix: readonly (readonly number[])[]): number[][] {
  return (matrix[0] ?? []).map((_, col) => matrix.map((row) => row[col] ?? NaN));
}

function tensor(matrix: readonly (readonly number[])[]): TensorLike {
  return { data: Float32Array.from(matrix.flat()), shape: [matrix.length, matrix[0]?.length ?? 0] };
}
