// SPDX-License-Identifier: Apache-2.0
/** The same scores under normalisers that are dense or sparse, with and without competition between keys. */
import type { NormalizerOptions } from "headlens";
import { runScores } from "../head.js";
import type { Findings, LessonEngine } from "../numbers.js";
import { compare, count, given, map, matrix, observe, shown, sum } from "../numbers.js";

type Kind = NonNullable<NormalizerOptions["normalizer"]>;
const kKinds: readonly Kind[] = ["softmax", "sparsemax", "entmax15", "sigmoid", "top_k", "hard"];

export interface NormalizersOptions {
  scores?: readonly number[];
  /**
   * The index of the score that is raised, to see whether the other weights change, and the amount by which it is
   * raised.
   */
  raised?: number;
  by?: number;
  topK?: number;
}

export async function normalizers(engine: LessonEngine, options: NormalizersOptions = {}): Promise<Findings> {
  const { scores = [1.2, 1, 0.1, -0.5, -2], raised = 1, by = 0.1, topK = 2 } = options;
  const values = scores.map((_, index) => [index]);
  const weigh = async (normalizer: Kind, row: readonly number[]): Promise<number[]> => {
    const more = normalizer === "top_k" ? { topK } : {};
    return given((await runScores(engine, [row], values, { normalizer, ...more })).weights[0]);
  };
  const louder = scores.map((score, index) => (index === raised ? score + by : score));
  const weights = new Map<Kind, number[]>();
  const answers = new Map<Kind, number>();
  for (const kind of kKinds) {
    const [before, after] = [await weigh(kind, scores), await weigh(kind, louder)];
    weights.set(kind, before);
    const others = (row: number[]): number[] => row.filter((_, index) => index !== raised);
    answers.set(kind, compare(others(after), others(before)).difference);
  }
  const row = (kind: Kind): number[] => given(weights.get(kind));
  const zeros = (kind: Kind): number => row(kind).filter((weight) => weight === 0).length;
  const total = (kind: Kind): number => sum(row(kind));
  const measured = kKinds.flatMap((kind) => [total(kind), zeros(kind), given(answers.get(kind))]);
  const keys = count(scores.length);
  return {
    title: "Softmax is one choice",
    matrices: [
      matrix("scores", ["query"], keys, scores),
      map("weights", kKinds, keys, kKinds.flatMap(row)),
      matrix("measured", kKinds, ["sum", "exact zeros", "others move by"], measured),
    ],
    figures: kKinds.map((kind) => ({ name: `sum, ${kind}`, value: total(kind) })),
    observations: [
      observe(
        zeros("softmax") === 0 && Math.abs(total("softmax") - 1) < 1e-6,
        "softmax gives every key something, and the row sums to 1.",
        `softmax leaves ${zeros("softmax")} keys without weight; the row sums to ${shown(total("softmax"))}.`,
      ),
      observe(
        zeros("sparsemax") > 0 && Math.abs(total("sparsemax") - 1) < 1e-6,
        `sparsemax gives ${zeros("sparsemax")} of ${scores.length} keys exactly nothing, and the row still sums to 1.`,
        `sparsemax gives ${zeros("sparsemax")} of ${scores.length} keys nothing; the row sums to ${shown(total("sparsemax"))}.`,
      ),
      observe(
        zeros("entmax15") <= zeros("sparsemax") && zeros("entmax15") >= zeros("softmax"),
        `entmax stands between: ${zeros("entmax15")} zeros.`,
        `entmax has ${zeros("entmax15")} zeros, sparsemax ${zeros("sparsemax")}.`,
      ),
      observe(
        answers.get("sigmoid") === 0 && given(answers.get("softmax")) > 0,
        `Keys compete for softmax’s weight: one score raised by ${by} moves the others’ by up to `
          + `${shown(given(answers.get("softmax")))}. Under sigmoid they do not move at all, and the row sums to ${shown(total("sigmoid"))}.`,
        `One score raised by ${by} moves the others’ weights by ${shown(given(answers.get("softmax")))} under softmax, `
          + `by ${shown(given(answers.get("sigmoid")))} under sigmoid.`,
      ),
    ],
  };
}
