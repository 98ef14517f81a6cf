// SPDX-License-Identifier: Apache-2.0
/** The other side of a comparison: what it is, its map, and how it differs from the open head. */
import { modelMaps } from "../maps/model-runs.js";
import type { Run } from "../maps/run.js";
import type { MapSource } from "../maps/source.js";
import { type Head, headsOf, headName } from "../state/lists.js";
import type { State } from "../state/state.js";

/** The most aligned tokens that are shown. */
export const kMostPairs = 512;

export type Kind = "text" | "head" | "model" | "unchanged";
export type Pair = readonly [a: number, b: number];
type Difference = Awaited<ReturnType<Run["engine"]["difference"]>>;

/** Two maps of aligned tokens, and B less A, [pairs, pairs] each. */
export interface Aligned {
  readonly kind: Kind;
  readonly maps: MapSource;
  readonly layer: number;
  readonly tokensA: readonly string[];
  readonly tokensB: readonly string[];
  readonly pairs: readonly Pair[];
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly change: Float32Array;
  readonly divergences: Float32Array | undefined;
  /** Absent where two heads are compared. */
  readonly difference: Difference | undefined;
  release(this: void): void;
}

/** The kinds that a run can be compared by. Differences of encoder–decoders are not computed by the engine. */
export function kindsOf({ info, attention, unchanged }: Run): Kind[] {
  if (info.encoder) return ["head"];
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
  was: "is", is: "was", red: "blue",
};

/** A text that differs in one word. */
export function proposalFor(text: string): string {
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

async function wholeMap(
  maps: MapSource, layer: number, head: number, pairs: readonly Pair[], side: 0 | 1,
): Promise<Float32Array> {
  const count = (pairs.at(-1)?.[side] ?? -1) + 1;
  const all = [0, count] as const;
  const { values } = await maps.part(layer, head, { rows: all, cols: all }, [count, count]);
  return Float32Array.from({ length: pairs.length ** 2 }, (_, cell) => {
    const [row, col] = [pairs[Math.floor(cell / pairs.length)], pairs[cell % pairs.length]];
    return values[(row?.[side] ?? 0) * count + (col?.[side] ?? 0)] ?? NaN;
  });
}

async function withHead(maps: MapSource, { layer, head, compareHead }: Readonly<State>): Promise<Aligned> {
  const [other] = headsOf("compareHead", compareHead || otherHead(maps, layer, head));
  if (!other || other.head >= (maps.heads[other.layer] ?? 0))
    throw new Error(`compareHead: the model has no head ${JSON.stringify(compareHead)}`);
  const rows = Math.min(maps.tokens.length, kMostPairs);
  const cols = Math.min(maps.keyTokens.length, kMostPairs);
  if (maps.run?.shown === "cross" || rows !== cols)
    throw new Error("compare: rows and columns of cross-attention are other tokens, which cannot be aligned");
  const pairs = Array.from({ length: rows }, (_, index): Pair => [index, index]);
  const mapOf = (of: Head): Promise<Float32Array> => wholeMap(maps, of.layer, of.head, pairs, 0);
  const [a, b] = await Promise.all([mapOf({ layer, head }), mapOf(other)]);
  return {
    kind: "head", maps, layer, tokensA: maps.tokens, tokensB: maps.tokens, pairs, a, b, difference: undefined,
    change: b.map((value, cell) => value - (a[cell] ?? 0)), divergences: undefined, release: () => undefined,
  };
}

/** Opens the other side. What is opened is released by the caller, or here when it fails. */
export async function openOther(
  maps: MapSource, run: Run, state: Readonly<State>, signal: AbortSignal,
): Promise<Aligned> {
  const kind = kindOf(run, state);
  if (kind === "head") return withHead(maps, state);
  const { layer, head } = state;
  const reading = {
    ...run.reading,
    ...(kind === "text" && { text: state.compareText || proposalFor(run.reading.text) }),
    ...(kind === "model" && { model: state.compareModel || run.reading.model }),
  };
  const changes = kind === "unchanged"
    ? { ...run.changes, ablate: [], zeroToken: [], forbid: [], causal: false, temperature: 1, normalizer: "softmax" }
    : run.changes;
  const { maps: other, release } = await modelMaps({ reading, changes, attention: run.shown }, signal, () => undefined);
  let difference: Difference | undefined;
  try {
    const attention = other.run?.attention ?? run.unchanged;
    difference = await run.engine.difference(run.attention, attention);
    const pairs = difference.pairs.slice(0, kMostPairs);
    if (pairs.length === 0) throw new Error("compare: the two have no token in common");
    if (head >= (other.heads[layer] ?? 0)) throw new Error(`compareModel: ${reading.model} has no head ${layer}.${head}`);
    const [a, b, change, divergences] = await Promise.all([
      wholeMap(maps, layer, head, pairs, 0), wholeMap(other, layer, head, pairs, 1),
      changeOf(difference, layer, head, pairs.length),
      run.info.logits > 0 && !run.info.image ? difference.divergences() : undefined,
    ]);
    signal.throwIfAborted();
    const opened = difference;
    const releaseAll = (): void => {
      opened.dispose();
      release();
    };
    const kl = divergences && divergences.data.length >= pairs.length ? Float32Array.from(divergences.data) : undefined;
    return {
      kind, maps, layer, tokensA: maps.tokens, tokensB: other.tokens, pairs, a, b, change, difference,
      divergences: kl, release: releaseAll,
    };
  } catch (error) {
    difference?.dispose();
    release();
    throw error;
  }
}

/** B less A among the first `count` pairs. */
export async function changeOf(
  difference: Difference, layer: number, head: number, count: number,
): Promise<Float32Array> {
  const { data, shape } = await difference.map(layer, head, { rows: [0, count] });
  const width = shape[1] ?? count;
  const at = (cell: number): number => Math.floor(cell / count) * width + (cell % count);
  return Float32Array.from({ length: count * count }, (_, cell) => data[at(cell)] ?? NaN);
}
