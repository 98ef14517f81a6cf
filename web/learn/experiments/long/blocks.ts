// SPDX-License-Identifier: Apache-2.0
/**
 * One row of attention, block by block: a maximum, a sum and an output are kept, and corrected when a block has a larger
 * score than all before (Milakov & Gimelshein 2018; Dao et al. 2022).
 */
import { given, rows, tensor, type LessonEngine } from "../numbers.js";

/** The numbers that are kept after a block. */
export interface Running {
  readonly maximum: number;
  /** The factor e^(old maximum − new maximum), by which all that was summed before shrinks; 0 for the first block. */
  readonly correction: number;
  /** Σ e^(score − maximum) over the keys so far. */
  readonly sum: number;
  /** The output over the keys so far. */
  readonly output: readonly number[];
}

export interface Blockwise {
  readonly steps: readonly Running[];
  /** The same row in one piece. */
  readonly whole: { readonly weights: number[]; readonly output: number[]; readonly lse: number };
}

export async function blockwise(
  engine: LessonEngine, scores: readonly number[], values: readonly (readonly number[])[], size: number,
): Promise<Blockwise> {
  const steps: Running[] = [];
  for (let first = 0; first < scores.length; first += size) {
    const part = await attendTo(engine, scores.slice(first, first + size), values.slice(first, first + size));
    steps.push(corrected(steps.at(-1), Math.max(...scores.slice(first, first + size)), part));
  }
  return { steps, whole: await attendTo(engine, scores, values) };
}

/** With a query of 1 and scores as keys, products are the scores. */
async function attendTo(
  engine: LessonEngine, scores: readonly number[], values: readonly (readonly number[])[],
): Promise<Blockwise["whole"]> {
  const keys = tensor(scores.map((score) => [score]));
  const options = { scale: 1, needWeights: true, stages: ["lse"] } as const;
  const { weights, output, lse } = await engine.scaledDotProductAttention(tensor([[1]]), keys, tensor(values), options);
  return { weights: given(rows(weights)[0]), output: given(rows(output)[0]), lse: given(lse.data[0]) };
}

function corrected(
  before: Running | undefined, highest: number, { output, lse }: Pick<Blockwise["whole"], "output" | "lse">,
): Running {
  const maximum = Math.max(before?.maximum ?? -Infinity, highest);
  const correction = before ? Math.exp(before.maximum - maximum) : 0;
  const [old, added] = [before ? before.sum * correction : 0, Math.exp(lse - maximum)];
  const sum = old + added;
  const mixed = output.map((value, index) => (old * (before?.output[index] ?? 0) + added * value) / sum);
  return { maximum, correction, sum, output: mixed };
}
