// SPDX-License-Identifier: Apache-2.0
/** The steps from a query and a key to what a head writes, each as a sentence, a formula with its numbers, and bars. */
import { tokenName } from "../maps/tokens.js";
import { exact } from "./map.js";
import { dot, type HeadNumbers, rowAt, type RowNumbers, scaleInWords } from "./numbers-data.js";

/** Bars, one for each dimension of the head. */
export interface Strip {
  readonly name: string;
  readonly values: Float32Array;
}

/** The matrices that can be opened. */
export type MatrixName =
  "queries" | "keys" | "values" | "scores" | "cappedScores" | "biasedScores" | "maskedScores" | "weights" | "outputs";

export interface NumbersStep {
  readonly name: "query" | "key" | "product" | "score" | "cap" | "bias" | "mask" | "weight" | "value" | "output" | "written";
  readonly title: string;
  readonly about: string;
  /** The formula with the numbers of the pair filled in. */
  readonly formula: string;
  readonly strips: readonly Strip[];
  readonly matrix?: MatrixName;
  /** The formula of one dimension. */
  explain?(this: void, dim: number): string;
}

/** A number in a product, where negative ones are in brackets. */
const factor = (value: number): string => (value < 0 ? `(${exact(value)})` : exact(value));

/** A number with its sign, after another. */
const signed = (value: number): string => `${value < 0 ? "−" : "+"} ${exact(Math.abs(value))}`;

const listed = (words: readonly (string | number)[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

const differs = (a: Float32Array, b: Float32Array): boolean => a.some((value, index) => value !== b[index]);

/** The keys that a row may see. */
const isSeen = ({ maskedScores }: RowNumbers, key: number): boolean => maskedScores[key] !== -Infinity;

export function stepsOf(numbers: HeadNumbers, row: RowNumbers, key: number): NumbersStep[] {
  const names = { query: tokenName(numbers.tokens[row.query] ?? ""), key: tokenName(numbers.keyTokens[key] ?? "") };
  const pair = { numbers, row, key, names };
  return [...products(pair), ...scores(pair), weight(pair), ...outputs(pair)];
}

interface Pair {
  readonly numbers: HeadNumbers;
  readonly row: RowNumbers;
  readonly key: number;
  readonly names: { readonly query: string; readonly key: string };
}

/** Says how queries and keys came about, after a comma. */
function madeBy({ isNormed, isRotated }: HeadNumbers): string {
  const how = [...(isNormed ? ["normed"] : []), ...(isRotated ? ["turned by its position"] : [])];
  return how.length > 0 ? `, after it was ${listed(how)}` : "";
}

function products({ numbers, row, key, names }: Pair): NumbersStep[] {
  const { vectors, shared, head } = numbers;
  const [q, k] = [rowAt(vectors.queries, row.query), rowAt(vectors.keys, key)];
  const each = q.map((value, dim) => value * (k[dim] ?? 0));
  let sum = 0;
  const sums = each.map((_, dim) => (sum += (q[dim] ?? 0) * (k[dim] ?? 0)));
  const group = shared && ` Head ${head} reads key/value head ${shared.keyHead}, together with ${shared.others.length > 1 ? "heads" : "head"} ${listed(shared.others)}.`;
  return [
    {
      name: "query",
      title: "q",
      about: `What ${names.query} looks for: its query${madeBy(numbers)}.`,
      formula: "",
      strips: [{ name: "q", values: q }],
      matrix: "queries",
      explain: (dim) => `q[${dim}] = ${exact(q[dim] ?? NaN)}`,
    },
    {
      name: "key",
      title: "k",
      about: `What ${names.key} offers to be found by: its key${madeBy(numbers)}.${group ?? ""}`,
      formula: "",
      strips: [{ name: "k", values: k }],
      matrix: "keys",
      explain: (dim) => `k[${dim}] = ${exact(k[dim] ?? NaN)}`,
    },
    {
      name: "product",
      title: "q ⊙ k",
      about: "Each dimension raises the score where both have the same sign, and lowers it where they differ. The products are added up from left to right.",
      formula: `Σ = ${exact(dot(q, k))}`,
      strips: [{ name: "q ⊙ k", values: each }, { name: "sum so far", values: sums }],
      explain: (dim) => `${factor(q[dim] ?? NaN)} · ${factor(k[dim] ?? NaN)} = ${exact(each[dim] ?? NaN)}, sum so far ${exact(sums[dim] ?? NaN)}`,
    },
  ];
}

function scores({ numbers, row, key, names }: Pair): NumbersStep[] {
  const { vectors } = numbers;
  const of = (values: Float32Array): number => values[key] ?? NaN;
  const [score, capped] = [of(row.scores), of(row.cappedScores)];
  const [biased, masked] = [of(row.biasedScores), of(row.maskedScores)];
  const words = scaleInWords(numbers.scale);
  const sum = dot(rowAt(vectors.queries, row.query), rowAt(vectors.keys, key));
  const isScaled = words !== "1";
  const about = isScaled
    ? "The sum is scaled, so that wider heads do not make steeper weights."
    : "This model does not scale the sum: it is the score.";
  const steps: NumbersStep[] = [{
    name: "score",
    title: isScaled ? "× scale" : "score",
    about,
    formula: !isScaled ? `score = ${exact(score)}` : `Σ = ${exact(sum)}, × ${words} = ${exact(score)}`,
    strips: [],
    matrix: "scores",
  }];
  if (differs(row.scores, row.cappedScores)) steps.push({
    name: "cap",
    title: "soft cap",
    about: "c · tanh(score ÷ c) keeps every score between −c and c, and hardly moves small ones.",
    formula: `${exact(score)} → ${exact(capped)}`,
    strips: [],
    matrix: "cappedScores",
  });
  if (differs(row.cappedScores, row.biasedScores)) steps.push({
    name: "bias",
    title: "+ bias",
    about: "A bias is added that depends on how far the key stands from the query.",
    formula: `${exact(capped)} ${signed(biased - capped)} = ${exact(biased)}`,
    strips: [],
    matrix: "biasedScores",
  });
  steps.push({
    name: "mask",
    title: "mask",
    about: sight(numbers, row, names.query),
    formula: isSeen(row, key)
      ? `${names.key} is seen: ${exact(masked)} stays`
      : `${names.key} is hidden: ${exact(biased)} → −∞`,
    strips: [],
    matrix: "maskedScores",
  });
  return steps;
}

/** Says which keys a row may see. */
function sight({ isCausal, window, forbidden }: HeadNumbers, row: RowNumbers, query: string): string {
  const count = row.maskedScores.reduce((sum, score) => sum + (score === -Infinity ? 0 : 1), 0);
  const all = row.maskedScores.length;
  if (count === all) return `Nothing is hidden: ${query} sees all ${all} tokens.`;
  const latest = window > 0 ? `, and no more than the latest ${window}` : "";
  const which = isCausal ? `: itself and earlier ones${latest}. Later tokens are hidden by −∞` : "";
  const except = forbidden.length > 0 ? `. Keys at the forbidden distance ${listed(forbidden)} are hidden, too` : "";
  return `${query} sees ${count} of ${all} tokens${which}${except}.`;
}

interface Exponentials {
  readonly largest: number;
  readonly each: Float32Array;
  readonly sum: number;
}

/** exp(score − largest) of each key, with the scores divided by the temperature, as softmax has them. */
export function exponentials({ maskedScores }: RowNumbers, temperature: number): Exponentials {
  const largest = maskedScores.reduce((most, score) => Math.max(most, score), -Infinity);
  const each = maskedScores.map((score) => (score === -Infinity ? 0 : Math.exp((score - largest) / temperature)));
  return { largest, each, sum: each.reduce((sum, value) => sum + value, 0) };
}

const kNormalizers: Readonly<Record<string, string>> = {
  softmax: "e to the power of each score, divided by the sum over the row, makes shares of 1: this is the attention map. The largest score is subtracted first, which changes nothing.",
  sparsemax: "The sparsemax: a threshold τ is subtracted from each score, so that what is left above 0 sums to 1.",
  entmax15: "The 1.5-entmax: (x ÷ 2 − τ)² where that is above τ, so that the row sums to 1.",
  sigmoid: "Each score becomes a weight by itself: 1 ÷ (1 + e^−x). The row need not sum to 1.",
  top_k: "The softmax over the largest scores only. The others get 0.",
  hard: "The largest score gets weight 1, and all others 0.",
  relu: "Scores above 0, divided by the number of keys that the row may see. The row need not sum to 1.",
};

/** The formulas of normalisers other than the softmax, for one score `x` of a row as it is written. */
const kFormulas: Readonly<Record<string, (x: string, row: RowNumbers, temperature: number) => string>> = {
  sparsemax: (x, row, temperature) => {
    const { score, weight } = largestIn(row);
    return `max(${x} − ${factor(score / temperature - weight)}, 0)`;
  },
  entmax15: (x, row, temperature) => {
    const { score, weight } = largestIn(row);
    return `max((${x}) ÷ 2 − ${factor(score / temperature / 2 - Math.sqrt(weight))}, 0)²`;
  },
  sigmoid: (x) => `1 ÷ (1 + e^−(${x}))`,
  relu: (x, row) => `max(${x}, 0) ÷ ${row.maskedScores.filter((score) => score !== -Infinity).length}`,
};

/** The largest score of a row and its weight, from which the thresholds follow. */
function largestIn({ maskedScores, weights }: RowNumbers): { score: number; weight: number } {
  const score = maskedScores.reduce((most, value) => Math.max(most, value), -Infinity);
  return { score, weight: weights[maskedScores.indexOf(score)] ?? NaN };
}

function weight({ numbers: { normalizer, temperature }, row, key, names }: Pair): NumbersStep {
  const [score, result] = [row.maskedScores[key] ?? NaN, row.weights[key] ?? NaN];
  const { largest, sum } = exponentials(row, temperature);
  const divided = temperature === 1 ? "" : ` ÷ ${temperature}`;
  const power = `${exact(score)} − ${factor(largest)}`;
  const about = kNormalizers[normalizer] ?? `The weights are the ${normalizer} of the row.`;
  const warm = temperature === 1 ? "" : ` Scores are first divided by the temperature ${temperature}.`;
  const formula = !isSeen(row, key)
    ? `${names.key} is hidden: its weight is 0`
    : normalizer === "softmax"
      ? `e^(${divided === "" ? power : `(${power})${divided}`}) ÷ ${exact(sum)} = ${exact(result)}`
      : `${kFormulas[normalizer]?.(exact(score) + divided, row, temperature) ?? `${normalizer} of ${exact(score)}${divided}`} = ${exact(result)}`;
  return { name: "weight", title: normalizer, about: about + warm, formula, strips: [], matrix: "weights" };
}

function outputs({ numbers, row, key, names }: Pair): NumbersStep[] {
  const { vectors, isSilenced, blanked } = numbers;
  const written: NumbersStep = {
    name: "written",
    title: "output projection",
    about: `The projection turns the head’s output into what it adds for ${names.query}. The layer’s output is the sum over its heads.`,
    formula: "",
    strips: [],
  };
  const { output } = row;
  const [v, share] = [rowAt(vectors.values, key), row.weights[key] ?? NaN];
  const weighted = v.map((value) => share * value);
  const blank = blanked.includes(key) ? " This token is blanked, so its value is 0." : "";
  const silenced = isSilenced ? " This head is silenced, so its output is multiplied by 0." : "";
  return [
    {
      name: "value",
      title: "× v",
      about: `What ${names.key} hands over is its value, of which ${names.query} takes the weight’s share.${blank}`,
      formula: `weight · v, with weight = ${exact(share)}`,
      strips: [{ name: "v", values: v }, { name: "weight · v", values: weighted }],
      matrix: "values",
      explain: (dim) => `${exact(share)} · ${factor(v[dim] ?? NaN)} = ${exact(weighted[dim] ?? NaN)}`,
    },
    {
      name: "output",
      title: "Σ weight · v",
      about: `What ${names.query} takes from all keys together is the head’s output.${silenced}`,
      formula: "",
      strips: [{ name: "output", values: output }],
      matrix: "outputs",
      explain: (dim) => `${isSilenced ? "0 · (" : ""}${termsOf(numbers, row, dim)}${isSilenced ? ")" : ""} = ${exact(output[dim] ?? NaN)}`,
    },
    written,
  ];
}

/** The most terms of a sum that are written. */
const kMostTerms = 3;

/** The largest terms that give one number of the output, and the sum of the others. */
function termsOf({ vectors, keyTokens }: HeadNumbers, { weights, maskedScores }: RowNumbers, dim: number): string {
  const valueOf = (key: number): number => rowAt(vectors.values, key)[dim] ?? NaN;
  const terms = Array.from(weights, (weight, key) => ({ key, weight, value: valueOf(key) }))
    .filter(({ key }) => maskedScores[key] !== -Infinity)
    .sort((a, b) => Math.abs(b.weight * b.value) - Math.abs(a.weight * a.value));
  const written = terms.slice(0, kMostTerms)
    .map(({ key, weight, value }) => `${exact(weight)} · ${factor(value)} of ${tokenName(keyTokens[key] ?? "")}`);
  const rest = terms.slice(kMostTerms);
  const sum = rest.reduce((sum, { weight, value }) => sum + weight * value, 0);
  return written.join(" + ") + (rest.length > 0 ? ` + ${factor(sum)} of ${rest.length} others` : "");
}

/** A head's share in what its layer writes for a query. */
export interface Share {
  readonly head: number;
  /** The length of what the head writes. */
  readonly length: number;
  /** The distance by which it moves the sum of all heads in that sum's own direction; over all heads this sums to 1. */
  readonly share: number;
}

export function sharesOf(written: readonly Float32Array[]): { shares: Share[]; total: number } {
  const ofAll = (dim: number): number => written.reduce((all, of) => all + (of[dim] ?? 0), 0);
  const sum = new Float32Array(written[0]?.length ?? 0).map((_, dim) => ofAll(dim));
  const square = dot(sum, sum);
  const shareOf = (of: Float32Array): number => (square > 0 ? dot(of, sum) / square : 0);
  const shares = written.map((of, head) => ({ head, length: Math.sqrt(dot(of, of)), share: shareOf(of) }));
  return { shares, total: Math.sqrt(square) };
}
