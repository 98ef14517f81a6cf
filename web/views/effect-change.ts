// SPDX-License-Identifier: Apache-2.0
/** A change of the model: its predictions before and after, token by token, and the heads whose maps it changes most. */
import type { AsyncDifference, AsyncModelAttention, HeadPatch, PredictionChanges } from "headlens";
import type { Expected } from "../maps/expected.js";
import type { Run } from "../maps/run.js";
import { nextTurn } from "../maps/source.js";
import { tokenName, tokenText } from "../maps/tokens.js";
import { headName } from "../state/lists.js";
import { expectedAt, predictedAt } from "./expected.js";
import type { RunMaps } from "./followed.js";

/** The most tokens and heads that are listed. */
const kTokens = 10;
const kHeads = 5;
const kWords = 3;
/** The most words of a text that are quoted. */
const kQuoted = 12;
/** Maps of more cells together are not compared. */
const kMostCells = 1 << 28;

/** A head, and the share of its attention that stands elsewhere after the change. */
export interface MovedHead {
  readonly layer: number;
  readonly head: number;
  readonly moved: number;
}

/** The heads of a model by how much they changed, as far as they have been compared. */
export interface MovedHeads {
  /** True where the maps are too large for that. */
  readonly isTooMuch: boolean;
  isStarted: boolean;
  done: number;
  readonly total: number;
  largest: readonly MovedHead[];
}

/** Two runs of one text. */
export interface Change {
  /** The change in words: "head 3.4 is silenced". */
  readonly words: string;
  readonly before: AsyncModelAttention;
  readonly after: AsyncModelAttention;
  readonly difference: AsyncDifference;
  /** For each token, how surprised the changed model would be by what the unchanged one expects, in nats. */
  readonly divergences: Float32Array;
  readonly heads: MovedHeads;
  isOver: boolean;
}

/** The prediction at one token, before and after a change. */
export interface ChangeAt {
  readonly change: Change;
  readonly expected: readonly Expected[];
  readonly changes: PredictionChanges | undefined;
}

/** The reader's changes in words. */
export function changesInWords({ changes, info, attention }: Run): string {
  const { ablate, zeroToken, forbid, causal, temperature, normalizer } = changes;
  const list = [
    ...ablate.map((head) => `${info.encoder ? `${head.attention} ` : ""}head ${headName(head)} is silenced`),
    ...zeroToken.map((token) => `${tokenName(attention.tokens[token] ?? "")} is blanked`),
    ...forbid.map((distance) => `links over a distance of ${distance} are forbidden`),
    ...(causal && !info.causal ? ["later tokens are hidden"] : []),
    ...(temperature === 1 ? [] : [`the temperature is ${temperature}`]),
    ...(normalizer === "softmax" ? [] : [`${normalizer} stands in the place of softmax`]),
  ];
  return list.join(", ");
}

export async function compare(run: Run, after: AsyncModelAttention, words: string): Promise<Change> {
  const { unchanged: before, info } = run;
  const difference = await run.engine.difference(before, after);
  const divergences = info.logits > 0 ? (await difference.divergences()).data : new Float32Array();
  const total = info.layers * info.heads;
  const isTooMuch = difference.pairs.length ** 2 * total > kMostCells;
  const heads = { isTooMuch, isStarted: false, done: 0, total, largest: [] };
  return { words, before, after, difference, divergences, heads, isOver: false };
}

export async function changeAt(change: Change, { info, shown }: Run, row: number): Promise<ChangeAt> {
  if (info.logits === 0 || shown === "encoder") return { change, expected: [], changes: undefined };
  const position = predictedAt(info, row);
  const pair = info.image ? 0 : change.difference.pairs.findIndex(([token]) => token === position);
  const [expected, changes] = await Promise.all([
    expectedAt(change.after, change.before, position, kTokens),
    pair < 0 ? undefined : change.difference.predictionChanges({ pair, top: kWords }),
  ]);
  return { change, expected, changes };
}

/** Compares the maps of all heads, the decoder's where there are several attentions. `changed` is called now and then. */
export async function findMovedHeads(change: Change, { info }: Run, changed: () => void): Promise<void> {
  const { heads, difference } = change;
  const rows = difference.pairs.length;
  if (heads.isTooMuch || heads.isStarted) return;
  heads.isStarted = true;
  const moved: MovedHead[] = [];
  for (let index = 0; index < heads.total && !change.isOver; index++) {
    const [layer, head] = [Math.floor(index / info.heads), index % info.heads];
    const { data } = await difference.map(layer, head);
    const sum = data.reduce((of, value) => of + Math.abs(value), 0);
    if (sum > 0) moved.push({ layer, head, moved: sum / 2 / rows });
    heads.done = index + 1;
    if (index % 16 < 15 && heads.done < heads.total) continue;
    heads.largest = [...moved].sort((a, b) => b.moved - a.moved).slice(0, kHeads);
    changed();
    await nextTurn();
  }
}

export function endChange(change: Change | undefined): void {
  if (!change || change.isOver) return;
  change.isOver = true;
  change.difference.dispose();
}

/** A run in which a head gives what it gives in another text. */
export interface Patched {
  readonly attention: AsyncModelAttention;
  readonly words: string;
}

/**
 * Patches a head with its outputs in another text: at all tokens if both texts have as many, and else at the given
 * rows. Returns a sentence where neither can be done.
 */
export async function patchFrom(
  { run, tokens }: RunMaps, layer: number, head: number, text: string, rows: readonly number[],
): Promise<Patched | string> {
  const { model, reading, info, shown, of } = run;
  const pair = shown === "encoder" ? { source: text, target: reading.text } : { source: reading.source, target: text };
  const input = info.encoder ? pair : text;
  const from = await model.attend(input, { keepParts: true, ...(reading.textPair !== "" && { textPair: reading.textPair }) });
  try {
    const read = shown === "encoder" ? from.sourceTokens : from.tokens;
    const [theirs, ours] = [read?.length ?? 0, tokens.length];
    const positions = theirs === ours ? undefined : rows.filter((row) => row < theirs);
    if (positions?.length === 0)
      return `The other text has ${theirs} tokens and this one has ${ours}, so not all can be patched. Pin tokens that both have, and those are.`;
    const patch: HeadPatch = await model.patch({ from, layer, head, ...of, ...(positions && { positions }) });
    const attention = await run.unchanged.again({ patches: [patch], keepHidden: info.logits > 0 });
    const where = positions ? positions.map((row) => tokenName(tokens[row] ?? "")).join(", ") : "all tokens";
    return { attention, words: `${info.encoder ? `${shown} ` : ""}head ${layer}.${head} gives what it gives in ${textInWords(text)}, at ${where}` };
  } finally {
    from.dispose();
  }
}

/** The beginning of a text in quotation marks, with invisible characters made visible. */
function textInWords(text: string): string {
  const words = text.split(" ");
  const first = words.slice(0, kQuoted).map((word) => tokenText(word, 20)).join(" ");
  return `“\u2068${first}${words.length > kQuoted ? " …" : ""}\u2069”`;
}

/** The reason why a model's heads cannot be patched from another text; undefined where they can. */
export function whyNoPatch({ info }: Run): string | undefined {
  return info.image ? "A head is patched from another text, and this model reads pictures." : undefined;
}

/** The text that a patch of a head comes from instead: of an encoder's head the source. */
export const patchedText = ({ reading, shown }: Run): string => (shown === "encoder" ? reading.source : reading.text);
