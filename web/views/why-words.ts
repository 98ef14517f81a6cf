// SPDX-License-Identifier: Apache-2.0
/** The reason for a link in words, and the numbers that its score becomes on the way to a weight. */
import type { CellExplanation, RowExplanation, StreamPart } from "headlens";
import { formatValue } from "../maps/format.js";
import { type Naming, partInWords, partName, type Side } from "../maps/parts.js";
import type { Run } from "../maps/run.js";
import { tokenName } from "../maps/tokens.js";
import { percent, signed } from "./expected.js";

/** A link of a head that is explained, perhaps against another key of its row. */
export interface Link {
  readonly row: number;
  readonly key: number;
  readonly against: number | undefined;
  readonly cell: CellExplanation;
  readonly rowExplained: RowExplanation;
}

interface Pair {
  readonly query: StreamPart;
  readonly key: StreamPart;
  readonly value: number;
}

/** Parts that are those of every key alike, and so no reason for one of them. */
const isOfAllKeys = ({ kind }: StreamPart): boolean => kind === "norm" || kind === "projection";

/** The pair of parts that adds most to the score, or takes most from it where `sign` is −1. */
function leadingPair({ terms, queryParts, keyParts }: CellExplanation, sign: number): Pair {
  let best = keyParts.findIndex((part) => !isOfAllKeys(part));
  terms.data.forEach((term, index) => {
    const isReason = !isOfAllKeys(keyParts[index % keyParts.length] as StreamPart);
    if (isReason && sign * term > sign * (terms.data[best] ?? 0)) best = index;
  });
  const [query, key] = [queryParts[Math.floor(best / keyParts.length)], keyParts[best % keyParts.length]];
  return { query: query as StreamPart, key: key as StreamPart, value: terms.data[best] ?? 0 };
}

/** A part of two keys that are compared: "what head 1.3 wrote at them". */
function sharedInWords(part: StreamPart, naming: Naming): string {
  const name = partName(part, naming);
  switch (part.kind) {
    case "token":
    case "position":
    case "segment":
      return `their ${name === "patch" ? "patches" : `${name}s`}`;
    case "head":
    case "cross":
      return `what ${name} wrote at them`;
    case "feedForward":
      return `what the feed-forward network of layer ${part.layer ?? 0} wrote at them`;
    case "bias":
    case "norm":
    case "projection":
      return `the ${name} at them`;
  }
}

export interface Reason {
  readonly sentence: string;
  /** The amount that the pair of parts of the sentence adds. */
  readonly size: string;
}

export function reasonOf(
  { row, key, against, cell, rowExplained }: Link, naming: Readonly<Record<Side, Naming>>,
  tokens: readonly string[], keyTokens: readonly string[],
): Reason {
  const [query, looked] = [tokenName(tokens[row] ?? ""), tokenName(keyTokens[key] ?? "")];
  const { weights, maskedScores } = rowExplained.steps;
  const isMost = weights.data.every((weight) => !(weight > (weights.data[key] ?? NaN)));
  const pair = leadingPair(cell, cell.score < 0 && (against !== undefined || !isMost) ? -1 : 1);
  const share = (of: number): string => percent(weights.data[of] ?? NaN);
  const from = partInWords(pair.query, naming.query, tokens[row] ?? "");
  const count = cell.queryParts.length * cell.keyParts.filter((part) => !isOfAllKeys(part)).length;
  const what = against === undefined ? "score" : "difference";
  const size = `The ${pair.value < 0 ? "most negative" : "largest"} of ${count} pairs of parts that depend on the key: ${signed(pair.value, 2)} of the ${what} ${formatValue(cell.score, 2)}.`;
  if (maskedScores.data[key] === -Infinity)
    return { sentence: `${query} may not look at ${looked}: the mask hides it. Without the mask its score would be ${formatValue(cell.score, 2)}.`, size };
  if (against !== undefined) {
    const other = tokenName(keyTokens[against] ?? "");
    const how = cell.score < 0 ? "less than at" : "rather than at";
    const sentence = `${query} looks at ${looked} (${share(key)}) ${how} ${other} (${share(against)}) because ${from} tells apart ${sharedInWords(pair.key, naming.key)}.`;
    return { sentence, size };
  }
  const meets = `${from} meets ${partInWords(pair.key, naming.key, keyTokens[key] ?? "")}`;
  if (isMost) return { sentence: `${query} looks at ${looked} (${share(key)}) because ${meets}.`, size };
  const moves = cell.score < 0 ? "lowers" : "raises";
  return { sentence: `${query} gives ${looked} ${share(key)}. What ${moves} its score most: ${meets}.`, size };
}

export interface Step {
  readonly name: string;
  readonly value: string;
}

const exact = (value: number): string =>
  Number.isFinite(value) ? formatValue(value, 3) : value < 0 ? "−∞" : Number.isNaN(value) ? "none" : "∞";

/** The numbers from the score to the weight, and the names of the steps that change nothing. */
export function chainOf({ cell, against }: Link, { changes }: Run): { steps: Step[]; unchanged: string[] } {
  const { score, steps: { cappedScores, biasedScores, maskedScores, weights } } = cell;
  const isDifference = against !== undefined;
  const stages = [
    { name: "soft cap", before: score, value: cappedScores },
    { name: "position bias", before: cappedScores, value: biasedScores },
    { name: "mask", before: biasedScores, value: maskedScores },
  ];
  const changed = stages.filter(({ before, value }) => !Object.is(before, value));
  const temperature = changes.temperature === 1 ? "" : ` at temperature ${changes.temperature}`;
  const weight = isDifference ? `${signed(100 * weights, 1)} points` : percent(weights);
  return {
    steps: [
      { name: isDifference ? "difference of the scores" : "scaled score q·k", value: exact(score) },
      ...changed.map(({ name, value }) => ({ name, value: exact(value) })),
      { name: `${isDifference ? "difference of the weights" : "weight"} (${changes.normalizer}${temperature})`, value: weight },
    ],
    unchanged: stages.filter((stage) => !changed.includes(stage)).map(({ name }) => name),
  };
}

/** Says that the parts add up, and by how much they do not. */
export function sumInWords(sum: number, score: number): string {
  const rest = score - sum;
  const remainder = rest === 0 ? "0" : rest.toExponential(0).replace(/-/g, "−");
  return `The parts add up to ${formatValue(sum, 3)} of ${formatValue(score, 3)}; remainder ${remainder}.`;
}
