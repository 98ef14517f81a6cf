// SPDX-License-Identifier: Apache-2.0
/** One head on small matrices, with the scores that its weights come from. */
import type { ScaledDotProductAttentionOptions } from "headlens";
import { given, identity, rows, tensor, type LessonEngine } from "./numbers.js";

type Rows = readonly (readonly number[])[];

export interface HeadRun {
  /** The scores that the softmax sees: scaled and masked, −∞ where a key is hidden. */
  readonly scores: number[][];
  readonly weights: number[][];
  readonly output: number[][];
}

/** Attention over q [T, d], k [S, d] and v [S, dv]. Scores are q · k as they are, unless `scale` says otherwise. */
export async function runHead(
  engine: LessonEngine, q: Rows, k: Rows, v: Rows, options: ScaledDotProductAttentionOptions = {},
): Promise<HeadRun> {
  const { weights, output, maskedScores } = await engine.scaledDotProductAttention(
    tensor(q), tensor(k), tensor(v), { scale: 1, ...options, needWeights: true, stages: ["maskedScores"] });
  return { scores: rows(given(maskedScores)), weights: rows(given(weights)), output: rows(output) };
}

/** Attention with given scores [T, S]: they are the queries, and each key picks its own column. */
export const runScores = (
  engine: LessonEngine, scores: Rows, v: Rows, options: ScaledDotProductAttentionOptions = {},
): Promise<HeadRun> => runHead(engine, scores, identity(v.length), v, options);
