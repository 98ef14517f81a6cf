// SPDX-License-Identifier: Apache-2.0
/**
 * The parts of every experiment: matrices to draw, measured numbers, and sentences about them. The engine computes, and the
 * experiments arrange.
 */
import type { AsyncEngine, AsyncMultiheadAttention, Engine, MultiheadAttention } from "headlens";
import type { MultiheadAttentionOptions, StateDict, Tensor } from "headlens";
import { formatValue } from "../../maps/format.js";
import type { Matrix } from "../../views/worked-example.js";

export type { Matrix };
export type LessonEngine = Engine | AsyncEngine;
export type LessonLayer = MultiheadAttention | AsyncMultiheadAttention;

export interface Figure {
  readonly name: string;
  readonly value: number;
}

/**
 * A sentence about the numbers. `holds` says whether they are as the lesson expects. Both are determined by the
 * numbers.
 */
export interface Observation {
  readonly text: string;
  readonly holds: boolean;
}

export interface Findings {
  readonly title: string;
  /** Names are unique within a lesson. */
  readonly matrices: readonly Matrix[];
  readonly figures: readonly Figure[];
  readonly observations: readonly Observation[];
}

export const observe = (holds: boolean, expected: string, otherwise: string): Observation => ({
  holds,
  text: holds ? expected : otherwise,
});

/** A number in a sentence. Small numbers keep their magnitude. */
export function shown(value: number): string {
  if (value === 0) return "0";
  return Math.abs(value) >= 1e-3 ? formatValue(value, 3) : value.toExponential(1).replaceAll("-", "−");
}

/** A number in a sentence, with no more decimals than it needs, and at most three. */
export const brief = (value: number): string => String(Number(value.toFixed(3)) || 0).replace("-", "−");

export const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

export const count = (length: number, name: (index: number) => string = String): string[] =>
  Array.from({ length }, (_, index) => name(index));

/** A matrix whose values are given row by row; `rows` and `cols` name the rows and columns. */
export function matrix(
  name: string, rows: readonly string[], cols: readonly string[], values: Iterable<number>,
  colormap: Matrix["colormap"] = "diverging",
): Matrix {
  return { name, rows, cols, values: Float32Array.from(values), digits: 3, colormap };
}

/** A matrix of attention weights, which are shares of 1. */
export const map = (
  name: string, queries: readonly string[], keys: readonly string[], values: Iterable<number>,
): Matrix => matrix(name, queries, keys, values, "sequential");

export const tensor = (rows: readonly (readonly number[])[]): Tensor => ({
  data: Float32Array.from(rows.flat()),
  shape: [rows.length, rows[0]?.length ?? 0],
});

export function rows({ data, shape }: Tensor): number[][] {
  const width = shape.at(-1) ?? 1;
  return Array.from({ length: data.length / width }, (_, row) => [...data.subarray(row * width, (row + 1) * width)]);
}

/** The rows of one head in a stage [H, T, …] or [1, H, T, …]. */
export function headRows(stage: Tensor | undefined, head: number): number[][] {
  const part = rows(given(stage));
  const length = stage?.shape.at(-2) ?? 0;
  return part.slice(head * length, (head + 1) * length);
}

export function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the engine returned less than it was asked for");
  return value;
}

export const transpose = (matrix: readonly (readonly number[])[]): number[][] =>
  (matrix[0] ?? []).map((_, col) => matrix.map((row) => row[col] ?? NaN));

export const permuted = <T>(items: readonly T[], order: readonly number[]): T[] =>
  order.map((index) => given(items[index]));

/** Normally distributed random numbers, which are the same everywhere for the same seed (mulberry32, Box–Muller). */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  rows(length: number, width: number, deviation = 1): number[][] {
    return Array.from({ length }, () => Array.from({ length: width }, () => deviation * this.#normal()));
  }

  row(width: number, deviation = 1): number[] {
    return Array.from({ length: width }, () => deviation * this.#normal());
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#uniform())) * Math.cos(2 * Math.PI * this.#uniform());
  }

  #uniform(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** The entropy −Σ p ln p of a row of weights, in nats. */
export const entropy = (weights: readonly number[]): number => -sum(weights.map((p) => (p > 0 ? p * Math.log(p) : 0)));

export function largest(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

export interface Comparison {
  readonly difference: number;
  /** The largest difference that rounding to single precision may cause in numbers of this size. */
  readonly tolerance: number;
  readonly same: boolean;
}

export function compare(a: ArrayLike<number>, b: ArrayLike<number>): Comparison {
  if (a.length !== b.length) throw new Error(`${a.length} numbers compared with ${b.length}`);
  const difference = largest(Array.from(a, (value, index) => value - (b[index] ?? NaN)));
  const tolerance = 64 * 2 ** -23 * largest(Array.from(b));
  return { difference, tolerance, same: difference <= tolerance };
}

export async function withLayer<T>(
  engine: LessonEngine, options: MultiheadAttentionOptions, state: StateDict, use: (layer: LessonLayer) => Promise<T>,
): Promise<T> {
  const layer = await engine.multiheadAttention(options);
  try {
    await layer.loadStateDict(state);
    return await use(layer);
  } finally {
    layer.dispose();
  }
}

/** The state dict of a layer without biases, from matrices W [D, D] that are used as x · W. */
export const layerState = (...[wq, wk, wv, wo]: [number[][], number[][], number[][], number[][]]): StateDict => ({
  in_proj_weight: tensor([...transpose(wq), ...transpose(wk), ...transpose(wv)]),
  "out_proj.weight": tensor(transpose(wo)),
});

export const identity = (width: number): number[][] =>
  Array.from({ length: width }, (_, row) => Array.from({ length: width }, (_, col) => (row === col ? 1 : 0)));
