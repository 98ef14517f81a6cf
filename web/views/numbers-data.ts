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
  /** The head's output before its projection, where the engine has it. */
  readonly output: Float32Array | undefined;
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
  /** The head's queries, keys and values. Without them the numbers begin with the scores, and `missing` says why. */
  readonly vectors: Readonly<Record<"queries" | "keys" | "values", Rows>> | undefined;
  readonly missing: string;
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
  if (size === 1) return undefined;
  const keyHead = Math.floor(head / size);
  const all = Array.from({ length: size }, (_, index) => keyHead * size + index);
  return { keyHead, others: all.filter((other) => other !== head) };
}

/** The numbers of a head in a run of a model, with the reader's changes. */
export async function runNumbers(maps: MapSource, run: Run, layer: number, head: number): Promise<HeadNumbers> {
  const { info, changes, shown, of, model } = run;
  const from = await run.explained();
  const place = { layer, head, ...of };
  const isOwn = shown === "decoder"; // the engine gives the vectors of these heads only
  const shared = isOwn ? sharedBy(run, head) : undefined;
  const tensors = isOwn ? await Promise.all([from.queries(layer), from.keys(layer), from.values(layer)]) : undefined;
  const outputsOf = async (positions?: readonly number[]): Promise<Float32Array> =>
    (await model.patch({ from, layer, head, ...(positions && { positions }) })).output.data;
  const numbersOf = (row: RowExplanation, query: number, output: Float32Array | undefined): RowNumbers => {
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
  const [queries, keys, values] = tensors ?? [];
  const keyHead = shared?.keyHead ?? head;
  return {
    layer,
    head,
    tokens: maps.tokens,
    keyTokens: maps.keyTokens,
    vectors: queries && keys && values && {
      queries: rowsOf(queries, head), keys: rowsOf(keys, keyHead), values: rowsOf(values, keyHead),
    },
    missing: isOwn ? "" : `Queries, keys and values are shown of the decoder’s own heads only, so the numbers of this head of the ${shown === "cross" ? "cross-attention" : "encoder"} begin with its scores.`,
    shared,
    isRotated: kRotating.includes(info.family),
    isNormed: kNorming.includes(info.family),
    isSilenced: isSilenced(changes.ablate, { attention: shown, layer, head }),
    isCausal: isOwn && (info.causal || changes.causal),
    window: isOwn ? (info.windows[layer] ?? 0) : 0,
    forbidden: changes.forbid,
    blanked: changes.zeroToken,
    temperature: changes.temperature,
    normalizer: changes.normalizer,
    async row(query) {
      const [row, output] = await Promise.all([
        from.explain({ ...place, query }), isOwn ? outputsOf([query]) : undefined,
      ]);
      return numbersOf(row, query, output);
    },
    outputs: async () => ({ width: info.headDim, values: await outputsOf() }),
    written: (query) => {
      const heads = Array.from({ length: maps.heads[layer] ?? 0 }, (_, index) => index);
      const by = async (head: number): Promise<Float32Array> =>
        (await from.explainOutput({ ...place, head, query })).written.data;
      return Promise.all(heads.map(by));
    },
  };
}

/** The factor by which the dot products were scaled, in a row of scores, and how it is written. */
export function scaleOf({ vectors }: HeadNumbers, { query, scores }: RowNumbers): { factor: number; words: string } {
  if (!vectors) return { factor: NaN, words: "" };
  const q = rowAt(vectors.queries, query);
  let [largest, factor] = [0, 1];
  scores.forEach((score, key) => {
    const product = dot(q, rowAt(vectors.keys, key));
    if (Math.abs(product) > largest) [largest, factor] = [Math.abs(product), score / product];
  });
  const square = 1 / factor ** 2;
  const isWhole = Math.abs(square - Math.round(square)) < 1e-3 * square && square >= 0.5;
  if (!isWhole) return { factor, words: factor.toPrecision(4) };
  return { factor: 1 / Math.sqrt(Math.round(square)), words: square < 1.5 ? "1" : `1/√${Math.round(square)}` };
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
