// SPDX-License-Identifier: Apache-2.0
/** The maps of real heads, as the lessons of this chapter need them. */
import type { AsyncModel, AttendOptions, MetricName } from "headlens";
import { rows, type LessonEngine } from "../../experiments/numbers.js";
import { kRules } from "../../../heads/rules.js";
import type { Sentence } from "../../scene.js";

type Weights = readonly (readonly number[])[];

export interface Read {
  readonly tokens: readonly string[];
  readonly ids: readonly number[];
  /** The weights of the heads that were asked for, one after the other. */
  readonly maps: readonly Weights[];
}

type Place = readonly [layer: number, head: number];

/** The heads of a layer. */
export const layerHeads = (layer: number, heads = 8): readonly Place[] =>
  Array.from({ length: heads }, (_, head) => [layer, head] as const);

type Input = string | readonly number[];

/** A text without words is read as a full stop, since some models refuse one without tokens. */
export const readable = (text: string): string => (text.trim() === "" ? "." : text);

/** Reads a text or ids, and forgets the run. */
export async function readText(
  model: AsyncModel, text: Input, heads: readonly Place[], options: AttendOptions = {},
): Promise<Read> {
  const seen = await model.attend(typeof text === "string" ? readable(text) : text, options);
  try {
    const maps = await Promise.all(heads.map(async ([layer, head]) => rows(await seen.map(layer, head))));
    return { tokens: seen.tokens, ids: seen.ids, maps };
  } finally {
    seen.dispose();
  }
}

/** A metric of a map, or 0 where it is not defined, as for repeats in a text without any. */
export async function score(
  engine: LessonEngine, weights: Weights, metric: MetricName, ids: readonly number[], isCausal: boolean,
): Promise<number> {
  const map = { data: Float32Array.from(weights.flat()), shape: [weights.length, weights.length] };
  const [head] = await engine.headMetrics(map, { metrics: [metric], tokens: ids, isCausal });
  return head?.[metric] ?? 0;
}

/** The least score with which Explore gives a head this name. */
export const thresholdOf = (metric: MetricName): number =>
  kRules.find((rule) => rule.metric === metric)?.threshold ?? NaN;

/** The index of the largest number. */
export const largestAt = (values: readonly number[]): number => values.indexOf(Math.max(...values));

/** A token without the space before it. */
export const wordOf = (token: string | undefined): string => (token ?? "").trim() || "␣";

/** The tokens of a text, tinted by a row of a map. A click on one makes it the token that looks. */
export const sentence = (
  name: string, { tokens }: Read, row: readonly number[], query: number, control?: string,
): Sentence => ({ kind: "sentence", name, tokens: tokens.map(wordOf), weights: row, query, ...(control !== undefined && { control }) });
