// SPDX-License-Identifier: Apache-2.0
/** The other side of a comparison: what it is, its map, and how it differs from the open head. */
import { modelMaps } from "../maps/model-runs.js";
import type { Run } from "../maps/run.js";
import type { MapSource } from "../maps/source.js";
import { type Head, headsOf, headName } from "../state/lists.js";
import type { State } from "../state/state.js";
import { alignMaps, type Alignment, itself, type Pair, type Pairs } from "./compare-align.js";

export type Kind = "text" | "head" | "model" | "unchanged";
type Difference = Awaited<ReturnType<Run["engine"]["difference"]>>;

/** A head of a run. */
export interface Side {
  readonly maps: MapSource;
  readonly layer: number;
  readonly head: number;
  /** The words above its map. */
  readonly words: string;
}

/** The distance by which the prediction moves at each pair of the tokens that the models read, in nats. */
export interface Divergences {
  readonly pairs: Pairs["rows"];
  readonly nats: Float32Array;
}

/** The key that a row looks at most, of all that its side has, and its weight there. */
export interface Top {
  readonly key: number;
  readonly weight: number;
}

/** Two maps of aligned tokens, and B less A, [row pairs, column pairs] each. */
export interface Aligned extends Alignment {
  readonly kind: Kind;
  readonly sides: readonly [a: Side, b: Side];
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly change: Float32Array;
  /** For each row of each side, the key that it looks at most. */
  readonly tops: readonly [a: readonly Top[], b: readonly Top[]];
  /** They come after the maps, and are undefined where they cannot be said. */
  readonly divergences: Promise<Divergences | undefined>;
  /** A sentence about the alignment, where it is not that of equal tokens. */
  readonly note: string;
  /** True where each head of one side has its counterpart in the other. */
  readonly hasPartners: boolean;
  release(this: void): void;
}

/** The kinds that a run can be compared by. */
export function kindsOf({ info, attention, unchanged }: Run): Kind[] {
  const own: Kind[] = info.image ? ["head", "model"] : ["text", "head", "model"];
  return attention === unchanged ? own : ["unchanged", ...own];
}

/** The kind that the state names, or else a telling one. A head may be named besides a text or a model. */
export function kindOf(run: Run, state: Readonly<State>): Kind {
  const kinds = kindsOf(run);
  const named: readonly (readonly [Kind, string])[] = [
    ["text", state.compareText || (run.info.encoder ? state.compareSource : "")], ["model", state.compareModel],
    ["head", state.compareHead],
  ];
  return named.find(([kind, value]) => value !== "" && kinds.includes(kind))?.[0] ?? kinds[0] ?? "head";
}

export const kNothing = { compareText: "", compareSource: "", compareHead: "", compareModel: "" } as const;

/** The parts of the state that propose something telling to compare with. */
export function proposal(kind: Kind, maps: MapSource, { info, reading }: Run, state: Readonly<State>): typeof kNothing {
  const own: Partial<Record<keyof typeof kNothing, string>> = {
    text: info.encoder ? { compareSource: otherText(reading.source) } : { compareText: otherText(reading.text) },
    head: { compareHead: otherHead(maps, state.layer, state.head) },
    model: { compareModel: otherModel(info, reading.model) },
    unchanged: {},
  }[kind];
  return { ...kNothing, ...own } as typeof kNothing;
}

const kSwaps: Readonly<Record<string, string>> = {
  queen: "king", king: "queen", boy: "girl", girl: "boy", he: "she", she: "he", man: "woman", cat: "dog", dog: "cat",
  was: "is", is: "was", red: "blue",
};

/** A text in which one word is another, or two words are in each other's place. */
function otherText(text: string): string {
  const words = text.split(/\b/);
  const found = words.find((word) => Object.hasOwn(kSwaps, word));
  const partner = kSwaps[found ?? ""];
  if (found && partner) {
    const [to, from] = [words.indexOf(found), words.indexOf(partner)];
    return words.map((word, index) => (index === to ? partner : index === from ? found : word)).join("");
  }
  const word = /\p{L}+(?=\P{L}*$)/u.exec(text)?.[0];
  const at = text.lastIndexOf(word ?? "");
  return word ? `${text.slice(0, at)}cat${text.slice(at + word.length)}` : "The cat";
}

/** The head beside the open one. */
function otherHead({ heads }: MapSource, layer: number, head: number): string {
  const count = heads[layer] ?? 1;
  const other = count > 1 ? { layer, head: (head + 1) % count } : { layer: (layer + 1) % heads.length, head: 0 };
  return headName(other);
}

/** A built-in model that reads the same, if there is another one. */
function otherModel(info: Run["info"], model: string): string {
  const alike = info.image ? ["tiny-vit"] : info.encoder ? ["tiny-translator"] : ["tiny", "tiny-bert"];
  return alike.find((name) => name !== model) ?? "";
}

const endOf = (pairs: readonly Pair[], side: 0 | 1): number => (pairs.at(-1)?.[side] ?? -1) + 1;

/** The weights of a side's rows, as far as these are aligned, at its first `width` keys. */
async function rowsOf(
  { maps, layer, head }: Omit<Side, "words">, rows: readonly Pair[], side: 0 | 1, width: number,
): Promise<Float32Array> {
  const height = endOf(rows, side);
  return (await maps.part(layer, head, { rows: [0, height], cols: [0, width] }, [height, width])).values;
}

/** The weights at the aligned tokens, out of rows of `width` keys. */
function atPairs(values: Float32Array, width: number, { rows, cols }: Pairs, side: 0 | 1): Float32Array {
  const places = cols.map((pair) => pair[side]);
  const aligned = new Float32Array(rows.length * places.length);
  rows.forEach((pair, row) => {
    const [to, from] = [row * places.length, pair[side] * width];
    for (let col = 0; col < places.length; col++) aligned[to + col] = values[from + (places[col] as number)] ?? NaN;
  });
  return aligned;
}

/** The weights of a side at the aligned tokens. */
export async function mapOf(side: Omit<Side, "words">, pairs: Pairs, which: 0 | 1): Promise<Float32Array> {
  const width = endOf(pairs.cols, which);
  return atPairs(await rowsOf(side, pairs.rows, which, width), width, pairs, which);
}

/** Finds the key that each aligned row looks at most, out of rows of `width` keys. */
function topsOf(values: Float32Array, width: number, rows: readonly Pair[], side: 0 | 1): Top[] {
  return rows.map((pair) => {
    const row = values.subarray(pair[side] * width, (pair[side] + 1) * width);
    const weight = row.reduce((most, value) => (value > most ? value : most), 0);
    return { key: row.indexOf(weight), weight };
  });
}

/** The maps of two sides, their difference, and what their rows look at most. */
async function differing(sides: Aligned["sides"], pairs: Pairs): Promise<Pick<Aligned, "a" | "b" | "change" | "tops">> {
  const of = async (side: 0 | 1): Promise<[Float32Array, Top[]]> => {
    const width = sides[side].maps.keyTokens.length;
    const values = await rowsOf(sides[side], pairs.rows, side, width);
    return [atPairs(values, width, pairs, side), topsOf(values, width, pairs.rows, side)];
  };
  const [[a, topsA], [b, topsB]] = await Promise.all([of(0), of(1)]);
  return { a, b, change: b.map((value, cell) => value - (a[cell] ?? 0)), tops: [topsA, topsB] };
}

/** The head of the other side: the named one, or the open one. */
function headOf(maps: MapSource, { layer, head }: Readonly<State>, named: string): Head {
  const [other = { layer, head }] = headsOf("compare-head", named);
  if (other.head < (maps.heads[other.layer] ?? 0)) return other;
  throw new Error(`compare-head: the other model has no head ${headName(other)}; it has ${maps.heads.length} layers of ${maps.heads[0] ?? 0} heads`);
}

/** Opens the other side. What is opened is released by the caller, or here when it fails. */
export async function openOther(
  maps: MapSource, run: Run, state: Readonly<State>, signal: AbortSignal,
): Promise<Aligned> {
  const kind = kindOf(run, state);
  const isNamed = Object.keys(kNothing).some((name) => state[name as keyof typeof kNothing] !== "");
  const { compareText, compareSource, compareHead, compareModel } = isNamed ? state : proposal(kind, maps, run, state);
  if (kind === "head") return withHead(maps, state, headOf(maps, state, compareHead));
  const { reading, changes } = run;
  const asked = {
    reading: {
      ...reading,
      ...(kind === "text" && { text: compareText || reading.text, source: compareSource || reading.source }),
      ...(kind === "model" && { model: compareModel }),
    },
    changes: kind === "unchanged"
      ? { ...changes, ablate: [], zeroToken: [], forbid: [], causal: false, temperature: 1, normalizer: "softmax" }
      : changes,
    attention: run.shown,
  };
  const { maps: other, release } = await modelMaps(asked, signal, () => undefined);
  let difference: Difference | undefined;
  try {
    if (other.run?.shown !== run.shown) throw new Error(`compare: ${compareModel} has no such attention`);
    difference = isAlike(run, other.run) ? await run.engine.difference(run.attention, other.run.attention) : undefined;
    const pairs = alignMaps(maps, other, run.shown, difference);
    if (pairs.rows.length === 0 || pairs.cols.length === 0) throw new Error("compare: the two have no token in common");
    const { layer, head } = state;
    const sides = sidesOf(kind, maps, { layer, head }, other, headOf(other, state, compareHead));
    const found = await differing(sides, pairs);
    signal.throwIfAborted();
    const note = difference ? "" : "The two models cut a text into other tokens: those with the same letters are aligned.";
    const hasPartners = difference !== undefined && maps.heads.join() === other.heads.join();
    const divergences = divergencesOf(difference, run);
    divergences.catch(() => undefined); // a view that was closed meanwhile awaits it no more
    return { kind, sides, ...pairs, ...found, divergences, note, hasPartners, release };
  } catch (error) {
    difference?.dispose();
    release();
    throw error;
  }
}

async function withHead(maps: MapSource, { layer, head }: Readonly<State>, other: Head): Promise<Aligned> {
  const pairs = { rows: itself(maps.tokens.length), cols: itself(maps.keyTokens.length) };
  const sides = sidesOf("head", maps, { layer, head }, maps, other);
  const found = await differing(sides, pairs);
  return {
    kind: "head", sides, ...pairs, equal: pairs, ...found, divergences: Promise.resolve(undefined), note: "", hasPartners: false, release: () => undefined,
  };
}

function sidesOf(kind: Kind, maps: MapSource, a: Head, other: MapSource, b: Head): Aligned["sides"] {
  const [nameA = "", nameB = ""] = {
    text: ["this text", "the other text"], head: ["", ""], unchanged: ["changed", "unchanged"],
    model: [maps.run?.reading.model, other.run?.reading.model],
  }[kind];
  const words = (head: Head, name: string): string => (name === "" ? `head ${headName(head)}` : `${name}, ${headName(head)}`);
  return [{ maps, ...a, words: words(a, nameA) }, { maps: other, ...b, words: words(b, nameB) }];
}

/** True for models that have the same tokens, as far as that can be seen. */
const isAlike = ({ info: a }: Run, { info: b }: Run): boolean =>
  a.vocabSize === b.vocabSize && a.logits === b.logits && Boolean(a.image) === Boolean(b.image);

/** Computes the divergences of a difference, and disposes of it. */
async function divergencesOf(difference: Difference | undefined, { info }: Run): Promise<Divergences | undefined> {
  try {
    if (!difference || info.logits === 0 || info.image) return undefined;
    const { pairs } = difference;
    const { data } = await difference.divergences();
    return data.length === pairs.length ? { pairs, nats: Float32Array.from(data) } : undefined;
  } finally {
    difference?.dispose();
  }
}
