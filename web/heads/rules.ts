// SPDX-License-Identifier: Apache-2.0
/**
 * The names of heads, each of which has a metric and a threshold. A head has a name where the metric reaches it, and no
 * head has one for another reason. What a model's card measured besides has thresholds of its own.
 */
import type { MetricName, ModelMetricName } from "headlens";
import { kNoPattern } from "./no-pattern.js";

/** The measurements of a head are made on one of these: the card's own probe, repeated random tokens, or what the reader gives the model. */
export type Measured = "card" | "probe" | "text";

export interface Rule {
  /** The name, as a reader sees it. "#" stands for the position that most rows look at. */
  readonly name: string;
  readonly metric: MetricName;
  /** The least value of a head with this name. */
  readonly threshold: number;
  readonly on: readonly Measured[];
  /** True where it means something only for maps whose rows and columns are the same words in their order. */
  readonly isOfOrder?: boolean;
}

/** The first rule that holds gives a head its name. The names of its card come before all of them. */
export const kRules: readonly Rule[] = [
  { name: "induction", metric: "inductionText", threshold: 0.4, on: ["probe", "text"], isOfOrder: true },
  { name: "previous token", metric: "previous", threshold: 0.6, on: ["probe", "text"], isOfOrder: true },
  { name: "next token", metric: "next", threshold: 0.6, on: ["probe", "text"], isOfOrder: true },
  { name: "same token", metric: "duplicate", threshold: 0.5, on: ["probe"], isOfOrder: true },
  { name: "same token", metric: "duplicateText", threshold: 0.3, on: ["text"], isOfOrder: true },
  { name: "itself", metric: "self", threshold: 0.6, on: ["probe", "text"], isOfOrder: true },
  { name: "special tokens", metric: "special", threshold: 0.6, on: ["text"] },
  { name: "first token (sink)", metric: "sink", threshold: 0.5, on: ["probe", "text"] },
  { name: "position #", metric: "position", threshold: 0.8, on: ["text"] },
  { name: "broad", metric: "entropyNormalized", threshold: 0.85, on: ["text"] },
];

/** These stand below small maps in place of the longer names of rules and cards. */
const kShortNames: Readonly<Record<string, string>> = {
  "previous token": "previous", "next token": "next", "same token": "same", "special tokens": "special",
  "first token (sink)": "sink", "subject of a verb": "subject", "antecedent of a pronoun": "pronoun",
  "opening quotation mark": "quotation", "same word in the other sentence": "same",
  "words that fit in the other sentence": "fitting", "noun of the article": "noun", "ne before pas": "ne",
};

/** A mean over fewer rows than this names no head, since a short text may have it by chance. */
export const kLeastRows = 4;

/** The metrics of all rules, with the key of "position", and the entropy, which only maps of weights have. */
export const kMeasuredMetrics: readonly MetricName[] = [
  ...new Set([...kRules.map(({ metric }) => metric), "positionKey" as const, "entropyNormalized" as const]),
];

/** A measurement of a head. */
export interface Finding {
  readonly name: string;
  readonly on: Measured;
  readonly value: number;
  readonly threshold: number;
  /** The rows that were measured, or the items of a card's probe. */
  readonly count: number;
  /** The name of the metric; undefined for a card's probe. */
  readonly metric: MetricName | undefined;
  readonly formula: string;
  readonly source: string;
}

/** A head's name with its reasons. */
export interface HeadName {
  /** The name of the first finding, or "no clear pattern". */
  readonly name: string;
  /** The same in one word or two, for where there is little space. */
  readonly short: string;
  /** The measurements that reach their thresholds, in the order of the rules. */
  readonly findings: readonly Finding[];
  /** The others, with those first that come closest. */
  readonly missed: readonly Finding[];
}

/** The names of a model's heads as [layer][head]. */
export type HeadNames = readonly (readonly HeadName[])[];

/** A head's metrics on a text, each with the number of rows that it is a mean of. */
export type Scores = Readonly<Partial<Record<
  MetricName | ModelMetricName, { readonly value: number | null; readonly rows: number }
>>>;

/** The formula and the source of each metric. */
export type Definitions = ReadonlyMap<string, { readonly formula: string; readonly source: string }>;

/** The measurements that the rules ask of a head's metrics. */
export function measure(on: Measured, scores: Scores, isOrdered: boolean, definitions: Definitions): Finding[] {
  return kRules.flatMap(({ name, metric, threshold, on: places, isOfOrder }) => {
    const { value = null, rows = 0 } = scores[metric] ?? {};
    const key = scores.positionKey?.value ?? 0;
    const isAsked = places.includes(on) && (isOrdered || !isOfOrder) && !(metric === "position" && key === 0);
    if (!isAsked || value === null || rows < kLeastRows) return [];
    const { formula = "", source = "" } = definitions.get(metric) ?? {};
    return [{ name: name.replace("#", String(key)), on, value, threshold, count: rows, metric, formula, source }];
  });
}

/** Names a head by its measurements, the first of which that holds gives it its name. */
export function nameOf(measured: readonly Finding[]): HeadName {
  const holds = ({ value, threshold }: Finding): boolean => value >= threshold;
  const findings = measured.filter(holds);
  const share = ({ value, threshold }: Finding): number => value / threshold;
  const missed = measured.filter((finding) => !holds(finding)).sort((a, b) => share(b) - share(a));
  const name = findings[0]?.name ?? kNoPattern;
  return { name, short: kShortNames[name] ?? name, findings, missed };
}

/** Puts the measurements of the card first, and the others in the order of the rules. */
export function inOrder(measured: readonly Finding[]): Finding[] {
  const place = ({ on, metric }: Finding): number =>
    on === "card" ? -1 : kRules.findIndex((rule) => rule.metric === metric);
  return [...measured].sort((a, b) => place(a) - place(b));
}
