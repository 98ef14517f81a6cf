// SPDX-License-Identifier: Apache-2.0
/** The numbers on one head's way from queries and keys to its output, for whoever shows them. */
import type { RowExplanation, ScoreStep, Tensor } from "headlens";
import type { MapSource } from "../maps/source.js";
import type { Run } from "../maps/run.js";
import { isSilenced } from "../maps/silenced.js";

/** A matrix: `values` row by row, each of `width` numbers. */
export interface Rows {
  readonly width: number;
  readonly values: Float32Array;
}

/** All numbers of one query. Scores and weights have one number for each key. */
export interface RowNumbers extends Readonly<Record<ScoreStep, Float32Array>> {
  readonly query: number;
  /** scale · q·k */
  readonly scores: Float32Array;
  /** The head's output before its projection. */
  readonly output: Float32Array;
}

/** Whose keys and values the head reads, in a layer where several heads share them. */
export interface SharedKeys {
  readonly keyHead: number;
  readonly others: readonly number[];
}

/** One head. Everything but `row` may come from a model's run or be given. */
export interface HeadNumbers {
  readonly layer: number;
  readonly head: number;
  readonly tokens: readonly string[];
  readonly keyTokens: readonly string[];
  readonly vectors: Readonly<Record<"queries" | "keys" | "values", Rows>>;
  /** The number that multiplies q·k. */
  readonly scale: number;
  readonly shared: SharedKeys | undefined;
  readonly isRotated: boolean;
  readonly isNormed: boolean;
  readonly isSilenced: boolean;
  readonly isCausal: boolean;
  /** The number of latest tokens that a query sees; 0 for all. */
  readonly window: number;
  /** The distances to earlier tokens at which no query looks. */
  readonly forbidden: readonly number[];
  /** The keys whose values are zeros. */
  readonly blanked: readonly number[];
  readonly temperature: number;
  readonly normalizer: string;
  row(query: number): Promise<RowNumbers>;
  /** The outputs of all queries. */
  outputs(): Promise<Rows>;
  /** The vectors that each head of the layer writes for a query, after the output projection: [heads][D]. */
  written(query: number): Promise<readonly Float32Array[]>;
}

/** The families whose queries and keys are turned by their positions, and those that norm them before. */
const kRotating = ["gemma2", "gemma3", "gpt_neox", "llama", "olmo2", "phi3", "qwen2", "qwen3"];
const kNorming = ["gemma3", "olmo2", "qwen3"];

/** The rows of one head in a tensor [heads, T, d]. */
function rowsOf({ data, shape: [, count = 0, width = 0] }: Tensor, head: number): Rows {
  return { width, values: data.subarray(head * count * width, (head + 1) * count * width) };
}

function sharedBy({ info }: Run, head: number): SharedKeys | undefined {
  const size = info.heads / info.kvHeads;
  if (size === 1) return undefined; // as in every encoder–decoder
  const keyHead = Math.floor(head / size);
  const all = Array.from({ length: size }, (_, index) => keyHead * size + index);
  return { keyHead, others: all.filter((other) => other !== head) };
}

/** The numbers of a head in a run of a model, with the reader's changes. The row of `first` is asked for right away. */
export async function runNumbers(
  maps: MapSource, run: Run, layer: number, head: number, first: number,
): Promise<HeadNumbers> {
  const { info, changes, shown, of, model } = run;
  const from = await run.explained();
  const place = { layer, head, ...of };
  const isOwn = shown === "decoder"; // other attentions have no masks, and their values are not blanked
  const { scale } = (shown === "encoder" ? info.encoder : undefined) ?? { scale: info.scales[layer] ?? 1 };
  const shared = sharedBy(run, head);
  const outputsOf = async (positions?: readonly number[]): Promise<Float32Array> =>
    (await model.patch({ from, ...place, ...(positions && { positions }) })).output.data;
  const numbersOf = (row: RowExplanation, query: number, output: Float32Array): RowNumbers => {
    const { cappedScores, biasedScores, maskedScores, weights } = row.steps;
    return {
      query,
      scores: row.scores.data,
      cappedScores: cappedScores.data,
      biasedScores: biasedScores.data,
      maskedScores: maskedScores.data,
      weights: weights.data,
      output,
    };
  };
  const rowOf = async (query: number): Promise<RowNumbers> => {
    const [row, output] = await Promise.all([from.explain({ ...place, query }), outputsOf([query])]);
    return numbersOf(row, query, output);
  };
  const [queries, keys, values, firstRow] =
    await Promise.all([from.queries(layer, of), from.keys(layer, of), from.values(layer, of), rowOf(first)]);
  const keyHead = shared?.keyHead ?? head;
  return {
    layer,
    head,
    tokens: maps.tokens,
    keyTokens: maps.keyTokens,
    vectors: { queries: rowsOf(queries, head), keys: rowsOf(keys, keyHead), values: rowsOf(values, keyHead) },
    scale,
    shared,
    isRotated: kRotating.includes(info.family),
    isNormed: kNorming.includes(info.family),
    isSilenced: isSilenced(changes.ablate, { attention: shown, layer, head }),
    isCausal: isOwn && (info.causal || changes.causal),
    window: isOwn ? (info.windows[layer] ?? 0) : 0,
    forbidden: isOwn ? changes.forbid : [],
    blanked: isOwn ? changes.zeroToken : [],
    temperature: changes.temperature,
    normalizer: changes.normalizer,
    row: async (query) => (query === first ? firstRow : rowOf(query)),
    outputs: async () => ({ width: queries.shape[2] ?? 0, values: await outputsOf() }),
    written: (query) => {
      const heads = Array.from({ length: maps.heads[layer] ?? 0 }, (_, index) => index);
      const by = async (head: number): Promise<Float32Array> =>
        (await from.explainOutput({ ...place, head, query })).written.data;
      return Promise.all(heads.map(by));
    },
  };
}

/** The number that multiplies q·k, as the root of a whole number where it is one over that. */
export function scaleInWords(scale: number): string {
  const square = 1 / scale ** 2;
  const isWhole = Math.abs(square - Math.round(square)) < 1e-3 * square && square >= 0.5;
  if (!isWhole) return scale.toPrecision(4);
  return square < 1.5 ? "1" : `1/√${Math.round(square)}`;
}

export const rowAt = ({ width, values }: Rows, row: number): Float32Array =>
  values.subarray(row * width, (row + 1) * width);

export const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);

/** The key that gets most of a row. */
export function largestKey({ weights, maskedScores }: RowNumbers): number {
  let best = -1;
  weights.forEach((weight, key) => {
    if (maskedScores[key] !== -Infinity && (best < 0 || weight > (weights[best] ?? 0))) best = key;
  });
  return Math.max(best, 0);
}
