// SPDX-License-Identifier: Apache-2.0
/** The other side of a comparison: what it is, its map, and how it differs from the open head. */
import { modelMaps } from "../maps/model-runs.js";
import type { AttentionName, Run } from "../maps/run.js";
import type { MapSource } from "../maps/source.js";
import { type Head, headsOf, headName } from "../state/lists.js";
import type { State } from "../state/state.js";

/** The most aligned tokens that are shown. */
export const kMostPairs = 512;

export type Kind = "text" | "head" | "model" | "unchanged";
export type Pair = readonly [a: number, b: number];
type Difference = Awaited<ReturnType<Run["engine"]["difference"]>>;

/** The tokens of one side of both maps, and which of them correspond. */
export interface Axis {
  readonly a: readonly string[];
  readonly b: readonly string[];
  readonly pairs: readonly Pair[];
}

/** Two maps of aligned tokens, and B less A, [rows' pairs, columns' pairs] each. */
export interface Aligned {
  readonly kind: Kind;
  readonly maps: MapSource;
  readonly layer: number;
  readonly rows: Axis;
  /** The same object as the rows where a text looks at itself. */
  readonly cols: Axis;
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly change: Float32Array;
  /** The prediction's change at each pair of the rows; undefined where rows expect nothing. */
  readonly divergences: Float32Array | undefined;
  /** Absent where two heads are compared. */
  readonly difference: Difference | undefined;
  release(this: void): void;
}

/** The kinds that a run can be compared by. */
export function kindsOf({ info, attention, unchanged }: Run): Kind[] {
  const own: Kind[] = info.image ? ["head", "model"] : ["text", "head", "model"];
  return attention === unchanged ? own : ["unchanged", ...own];
}

/** The kind that the state names, or else a telling one. */
export function kindOf(run: Run, state: Readonly<State>): Kind {
  const kinds = kindsOf(run);
  const named: readonly (readonly [Kind, string])[] = [
    ["text", state.compareText], ["head", state.compareHead], ["model", state.compareModel],
  ];
  return named.find(([kind, value]) => value !== "" && kinds.includes(kind))?.[0] ?? kinds[0] ?? "head";
}

const kSwaps: Readonly<Record<string, string>> = {
  queen: "king", king: "queen", boy: "girl", girl: "boy", he: "she", she: "he", man: "woman", cat: "dog", dog: "cat",
  was: "is", is: "was", red: "blue", chat: "chien", chien: "chat", garçon: "chat", fille: "femme",
};

/** The field of a reading that another text takes the place of: an encoder reads the source alone. */
const textField = ({ shown }: Run): "source" | "text" => (shown === "encoder" ? "source" : "text");

/** A text that differs in one word. */
export function proposalFor(run: Run): string {
  const text = run.reading[textField(run)];
  const found = text.split(/\b/).find((word) => Object.hasOwn(kSwaps, word));
  if (found) return text.replace(new RegExp(`\\b${found}\\b`), kSwaps[found] ?? found);
  const word = /\p{L}+(?=\P{L}*$)/u.exec(text)?.[0];
  const at = text.lastIndexOf(word ?? "");
  return word ? `${text.slice(0, at)}cat${text.slice(at + word.length)}` : "The cat";
}

/** The head beside the open one. */
export function otherHead({ heads }: MapSource, layer: number, head: number): string {
  const count = heads[layer] ?? 1;
  const other = count > 1 ? { layer, head: (head + 1) % count } : { layer: (layer + 1) % heads.length, head: 0 };
  return headName(other);
}

/** The weights of a head where both the query and the key are paired. */
async function wholeMap(
  maps: MapSource, layer: number, head: number, { rows, cols }: Pick<Aligned, "rows" | "cols">, side: 0 | 1,
): Promise<Float32Array> {
  const endOf = ({ pairs }: Axis): number => (pairs.at(-1)?.[side] ?? -1) + 1;
  const [height, width] = [endOf(rows), endOf(cols)];
  const { values } = await maps.part(layer, head, { rows: [0, height], cols: [0, width] }, [height, width]);
  const at = (row: Pair, col: Pair): number => values[row[side] * width + col[side]] ?? NaN;
  return Float32Array.from(rows.pairs.flatMap((row) => cols.pairs.map((col) => at(row, col))));
}

/** Tokens that correspond to themselves. */
function sameTokens(tokens: readonly string[]): Axis {
  const count = Math.min(tokens.length, kMostPairs);
  return { a: tokens, b: tokens, pairs: Array.from({ length: count }, (_, index): Pair => [index, index]) };
}

async function withHead(maps: MapSource, { layer, head, compareHead }: Readonly<State>): Promise<Aligned> {
  const [other] = headsOf("compareHead", compareHead || otherHead(maps, layer, head));
  if (!other || other.head >= (maps.heads[other.layer] ?? 0))
    throw new Error(`compareHead: the model has no head ${JSON.stringify(compareHead)}`);
  const rows = sameTokens(maps.tokens);
  const cols = maps.keyTokens === maps.tokens ? rows : sameTokens(maps.keyTokens);
  const mapOf = (of: Head): Promise<Float32Array> => wholeMap(maps, of.layer, of.head, { rows, cols }, 0);
  const [a, b] = await Promise.all([mapOf({ layer, head }), mapOf(other)]);
  return {
    kind: "head", maps, layer, rows, cols, a, b, difference: undefined,
    change: b.map((value, cell) => value - (a[cell] ?? 0)), divergences: undefined, release: () => undefined,
  };
}

/** The reading of the other side. */
function otherReading(run: Run, kind: Kind, { compareText, compareModel }: Readonly<State>): Run["reading"] {
  if (kind === "text") return { ...run.reading, [textField(run)]: compareText || proposalFor(run) };
  return kind === "model" ? { ...run.reading, model: compareModel || run.reading.model } : run.reading;
}

/** The rows and columns of the maps that are shown of two runs. */
function axesOf(
  a: MapSource, b: MapSource, { pairs, sourcePairs = [] }: Difference, shown: AttentionName,
): Pick<Aligned, "rows" | "cols"> {
  const [ofRows, ofCols] = [shown === "encoder" ? sourcePairs : pairs, shown === "decoder" ? pairs : sourcePairs];
  const rows = { a: a.tokens, b: b.tokens, pairs: ofRows.slice(0, kMostPairs) };
  if (ofRows === ofCols) return { rows, cols: rows };
  return { rows, cols: { a: a.keyTokens, b: b.keyTokens, pairs: ofCols.slice(0, kMostPairs) } };
}

const kUnchanged = { ablate: [], zeroToken: [], forbid: [], causal: false, temperature: 1, normalizer: "softmax" };

/** Opens the other side. What is opened is released by the caller, or here when it fails. */
export async function openOther(
  maps: MapSource, run: Run, state: Readonly<State>, signal: AbortSignal,
): Promise<Aligned> {
  const kind = kindOf(run, state);
  if (kind === "head") return withHead(maps, state);
  const { shown } = run;
  const reading = otherReading(run, kind, state);
  const asked = { reading, changes: kind === "unchanged" ? kUnchanged : run.changes, attention: shown };
  const { maps: other, release } = await modelMaps(asked, signal, () => undefined);
  let difference: Difference | undefined;
  try {
    if (other.run?.shown !== shown) throw new Error(`compareModel: ${reading.model} has no ${shown} attention`);
    difference = await run.engine.difference(run.attention, other.run.attention);
    const opened = difference;
    const aligned = await differing(maps, other, opened, run, state);
    signal.throwIfAborted();
    const releaseAll = (): void => {
      opened.dispose();
      release();
    };
    return { ...aligned, kind, release: releaseAll };
  } catch (error) {
    difference?.dispose();
    release();
    throw error;
  }
}

/** The numbers of two runs of models. */
async function differing(
  maps: MapSource, other: MapSource, difference: Difference, { shown, info }: Run, { layer, head }: Readonly<State>,
): Promise<Omit<Aligned, "kind" | "release">> {
  const axes = axesOf(maps, other, difference, shown);
  const { rows, cols } = axes;
  if (rows.pairs.length === 0 || cols.pairs.length === 0) throw new Error("compare: the two have no token in common");
  if (head >= (other.heads[layer] ?? 0))
    throw new Error(`compareModel: ${other.run?.reading.model ?? "the other model"} has no head ${layer}.${head}`);
  const expects = info.logits > 0 && !info.image && shown !== "encoder";
  const [a, b, change, kl] = await Promise.all([
    wholeMap(maps, layer, head, axes, 0), wholeMap(other, layer, head, axes, 1),
    changeOf(difference, layer, head, { ...axes, maps }),
    expects ? difference.divergences() : undefined,
  ]);
  const divergences = kl && kl.data.length >= rows.pairs.length ? Float32Array.from(kl.data) : undefined;
  return { maps, layer, rows, cols, a, b, change, difference, divergences };
}

/** B less A among the pairs. */
export async function changeOf(
  difference: Difference, layer: number, head: number, { rows, cols, maps }: Pick<Aligned, "rows" | "cols" | "maps">,
): Promise<Float32Array> {
  const [height, count] = [rows.pairs.length, cols.pairs.length];
  const shown = maps.run?.shown ?? "decoder";
  const which = shown === "decoder" ? {} : { attention: shown };
  const { data, shape } = await difference.map(layer, head, { rows: [0, height], ...which });
  const width = shape[1] ?? count;
  const at = (cell: number): number => Math.floor(cell / count) * width + (cell % count);
  return Float32Array.from({ length: height * count }, (_, cell) => data[at(cell)] ?? NaN);
}
