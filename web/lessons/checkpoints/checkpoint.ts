// SPDX-License-Identifier: Apache-2.0
/** A question about attention, answered by running it. */
import type { ScaledDotProductAttentionOptions } from "headlens";
import type { Lesson, LessonEngine, Observation } from "../lesson.js";
import { given, rows, tensor } from "../lesson.js";

/** What the reader may turn; the experiment runs at any value between. */
export interface Control {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value: number;
}

export interface Experiment extends Pick<Lesson, "matrices" | "figures"> {
  /** Whether the prediction came true, in the numbers measured. */
  readonly verdict: Observation;
}

export interface Checkpoint {
  readonly number: number;
  readonly question: string;
  readonly prediction: string;
  readonly control?: Control;
  /** `setting` is the control's; its own value when absent. */
  run(engine: LessonEngine, setting?: number): Promise<Experiment>;
}

export interface Attended {
  readonly weights: number[][];
  readonly output: number[][];
}

/** One head over q [T, d], k [S, d] and v [S, dv]. */
export async function attend(
  engine: LessonEngine, q: number[][], k: number[][], v: number[][], options: ScaledDotProductAttentionOptions = {},
): Promise<Attended> {
  const tensors = [tensor(q), tensor(k), tensor(v)] as const;
  const result = await engine.scaledDotProductAttention(...tensors, { ...options, needWeights: true });
  return { weights: rows(given(result.weights)), output: rows(result.output) };
}

/** One query that scores each key as given: keys of one number, asked by 1. */
export const attendWithScores = (
  engine: LessonEngine, scores: readonly number[], values: number[][], options: ScaledDotProductAttentionOptions = {},
): Promise<Attended> => attend(engine, [[1]], scores.map((score) => [score]), values, { ...options, scale: 1 });
