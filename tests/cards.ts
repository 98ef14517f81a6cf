// SPDX-License-Identifier: Apache-2.0
/** The cards of the built-in models. A retrained model has its heads elsewhere, so tests find heads by what the card says they do. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { kRoot } from "./compare.js";

export const kModels = `${kRoot}web/models`;
export const kBuiltIn = readdirSync(kModels).filter((name) => existsSync(`${kModels}/${name}/card.json`)).sort();

/** The score of each head of each layer. */
export type Scores = readonly (readonly number[])[];

/** `score` is "mass", the mean weight on a row's columns, or "top", the share of rows whose largest weight is on one of them. */
export interface Probe {
  readonly name: string;
  readonly score: "mass" | "top";
  readonly attention: "encoder" | "decoder" | "cross";
  readonly threshold: number;
  readonly heads: Scores;
  readonly short: { readonly items: number; readonly heads: Scores };
}

export interface Card {
  readonly name: string;
  readonly bytes: number;
  readonly probes: readonly Probe[];
  readonly figures: Readonly<Record<string, unknown>>;
}

export function cardOf(model: string): Card {
  return JSON.parse(readFileSync(`${kModels}/${model}/card.json`, "utf8")) as Card;
}

/** The layer and head with the largest score. */
export function largest(scores: Scores): [layer: number, head: number] {
  const most = Math.max(...scores.flat());
  const layer = scores.findIndex((row) => row.includes(most));
  return [layer, scores[layer]?.indexOf(most) ?? NaN];
}

/** The head of `tiny` that is best in a probe. */
export function bestHead(probe: string): [layer: number, head: number] {
  return largest(cardOf("tiny").probes.find(({ name }) => name === probe)?.heads ?? []);
}
