// SPDX-License-Identifier: Apache-2.0
/** The two heads of the example “cat sat on mat”, with every matrix on the way. */
import { headRows, layerState, rows, tensor, withLayer, type LessonEngine } from "../../experiments/numbers.js";
import { kCatSatOnMat } from "../../../views/cat-sat-on-mat.js";

export type Rows = readonly (readonly number[])[];

export interface Layer {
  readonly x: Rows;
  readonly wq: Rows;
  readonly wk: Rows;
  readonly wv: Rows;
}

export const { tokens: kTokens, x: kX, wo: kWo } = kCatSatOnMat;
export const kHeadWidth = 2;

/** The columns of a matrix that belong to one head. */
export const partOf = (w: Rows, head: number): number[][] =>
  w.map((row) => row.slice(head * kHeadWidth, (head + 1) * kHeadWidth));

/** Matrices of all heads, from those of each. */
export const beside = (left: Rows, right: Rows): number[][] =>
  left.map((row, index) => [...row, ...(right[index] ?? [])]);

const kStages = ["q", "k", "v", "scores", "scaledScores", "weights", "headOutputs"] as const;

type Stages = Record<(typeof kStages)[number], number[][]>;
export type Steps = Stages & { readonly joined: number[][]; readonly output: number[][] };

/** All steps of one head, the outputs of both side by side, and the output of the layer. */
export async function stepsOf(engine: LessonEngine, { x, wq, wk, wv }: Layer, head: number): Promise<Steps> {
  const copy = (matrix: Rows): number[][] => matrix.map((row) => [...row]);
  const state = layerState(copy(wq), copy(wk), copy(wv), copy(kWo));
  return withLayer(engine, { embedDim: 4, numHeads: 2, bias: false }, state, async (layer) => {
    const result = await layer.forward(tensor(x), { averageAttnWeights: false, stages: kStages });
    const stages = Object.fromEntries(kStages.map((stage) => [stage, headRows(result[stage], head)])) as Stages;
    const joined = beside(headRows(result.headOutputs, 0), headRows(result.headOutputs, 1));
    return { ...stages, joined, output: rows(result.output) };
  });
}
