// SPDX-License-Identifier: Apache-2.0
/** A checkpoint is a question about attention that is answered by running it. */
import type { ScaledDotProductAttentionOptions } from "headlens";
import type { Findings, LessonEngine, Observation } from "../numbers.js";
import { given, rows, tensor } from "../numbers.js";

/** A control that the reader can turn. The experiment runs at any value in its range. */
export interface Control {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value: number;
}

export interface Experiment extends Pick<Findings, "matrices" | "figures"> {
  /** Says whether the measured numbers confirm the prediction. */
  readonly verdict: Observation;
}

export interface Checkpoint {
  readonly number: number;
  readonly question: string;
  readonly prediction: string;
  readonly control?: Control;
  /** `setting` is the value of the control. When it is absent, the control's own value is used. */
  run(engine: LessonEngine, setting?: number): Promise<Experiment>;
}

export interface Attended {
  readonly weights: number[][];
  readonly output: number[][];
}

/** Attention of one head over q [T, d], k [S, d] and v [S, dv]. */
export async function attend(
  engine: LessonEngine, q: number[][], k: number[][], v: number[][], options: ScaledDotProductAttentionOptions = {},
): Promise<Attended> {
  const tensors = [tensor(q), tensor(k), tensor(v)] as const;
  const result = await engine.scaledDotProductAttention(...tensors, { ...options, needWeights: true });
  return { weights: rows(given(result.weights)), output: rows(result.output) };
}

/** Attention of one query with these scores: each key is its score as a single number, and the query is 1. */
export const attendWithScores = (
  engine: LessonEngine, scores: readonly number[], values: number[][], options: ScaledDotProductAttentionOptions = {},
): Promise<Attended> => attend(engine, [[1]], scores.map((score) => [score]), values, { ...options, scale: 1 });
