// SPDX-License-Identifier: Apache-2.0
/** Scores are divided by √d because without it the softmax saturates as heads grow wider, and its gradient vanishes. */
import type { Findings, LessonEngine, Matrix } from "./numbers.js";
import { count, Draw, entropy, given, map, matrix, mean, observe, rows, shown, sum, tensor } from "./numbers.js";

export interface SaturationOptions {
  /** Head widths d in rising order. */
  widths?: readonly number[];
  queries?: number;
  keys?: number;
  seed?: number;
}

interface Measured {
  readonly weights: number[][];
  readonly deviation: number;
  readonly entropy: number;
  readonly largest: number;
  readonly gradient: number;
}

const kColumns = ["scores’ deviation", "entropy", "largest weight", "gradient"];

/** Compares the weights of random queries and keys of each width with and without the division. */
export async function saturation(engine: LessonEngine, options: SaturationOptions = {}): Promise<Findings> {
  const { widths = [4, 16, 64, 256, 1024], queries = 32, keys = 16, seed = 5 } = options;
  const draw = new Draw(seed);
  const raw: Measured[] = [];
  const scaled: Measured[] = [];
  for (const width of widths) {
    const [q, k] = [draw.rows(queries, width), draw.rows(keys, width)];
    raw.push(await measure(engine, q, k, 1));
    scaled.push(await measure(engine, q, k, 1 / Math.sqrt(width)));
  }
  const names = widths.map((width) => `d = ${width}`);
  const table = (name: string, all: readonly Measured[]): Matrix =>
    matrix(name, names, kColumns, all.flatMap((one) => [one.deviation, one.entropy, one.largest, one.gradient]));
  const maps = widths.flatMap((width, index) => [
    weightsOf(`weights, d = ${width}, scores as they are`, given(raw[index])),
    weightsOf(`weights, d = ${width}, scores ÷ √d`, given(scaled[index])),
  ]);
  return {
    title: "Without ÷ √d the softmax saturates",
    matrices: [table("scores as they are", raw), table("scores ÷ √d", scaled), ...maps],
    figures: [{ name: "entropy of equal weights, ln n", value: Math.log(keys) }],
    observations: observations(raw, scaled, given(widths.at(-1))),
  };
}

async function measure(engine: LessonEngine, q: number[][], k: number[][], scale: number): Promise<Measured> {
  const keys = tensor(k);
  const stages = ["scaledScores"] as const;
  const result = await engine.scaledDotProductAttention(tensor(q), keys, keys, { scale, needWeights: true, stages });
  const weights = rows(given(result.weights));
  const scores = [...given(result.scaledScores).data];
  const centre = mean(scores);
  return {
    weights,
    deviation: Math.sqrt(mean(scores.map((score) => (score - centre) ** 2))),
    entropy: mean(weights.map(entropy)),
    largest: mean(weights.map((row) => Math.max(...row))),
    gradient: mean(weights.map(jacobianNorm)),
  };
}

/**
 * The Frobenius norm of ∂ softmax / ∂ scores = diag(p) − p pᵀ, which says how much weights react to a change of scores.
 */
function jacobianNorm(p: readonly number[]): number {
  const entry = (i: number, j: number): number => {
    const [a, b] = [p[i] ?? NaN, p[j] ?? NaN];
    return i === j ? a * (1 - a) : -a * b;
  };
  return Math.sqrt(sum(p.flatMap((_, i) => p.map((_, j) => entry(i, j) ** 2))));
}

const weightsOf = (name: string, { weights }: Measured): Matrix =>
  map(name, count(weights.length, (i) => `q${i}`), count(weights[0]?.length ?? 0, (i) => `k${i}`), weights.flat());

function observations(raw: readonly Measured[], scaled: readonly Measured[], widest: number): Findings["observations"] {
  const [first, last] = [given(raw[0]), given(raw.at(-1))];
  const falls = raw.every((one, index) => index === 0 || one.entropy < given(raw[index - 1]).entropy);
  const entropies = scaled.map((one) => one.entropy);
  const spread = (Math.max(...entropies) - Math.min(...entropies)) / mean(entropies);
  const lastScaled = given(scaled.at(-1));
  const range = `from ${shown(first.entropy)} to ${shown(last.entropy)} nats`;
  const gradients = `${shown(last.gradient)} without the division and ${shown(lastScaled.gradient)} with it`;
  return [
    observe(
      falls,
      `As they are, wider heads make steeper weights: the entropy falls ${range}.`,
      `As they are, the entropy does not fall at every step: it goes ${range}.`,
    ),
    observe(
      last.gradient < lastScaled.gradient / 2,
      `At d = ${widest} the softmax hardly answers any more: its gradient is ${gradients}.`,
      `At d = ${widest} the softmax still answers: its gradient is ${gradients}.`,
    ),
    observe(
      spread < 0.1,
      `Divided by √d, the entropy stays within ${shown(spread * 100)} % whatever the width.`,
      `Divided by √d, the entropy still varies by ${shown(spread * 100)} % over the widths.`,
    ),
  ];
}
