// SPDX-License-Identifier: Apache-2.0
/** Heads read what earlier heads wrote, and this measures how strongly: from their weights alone, and on a text. */
import type { AsyncEngine, AsyncModel, HeadPath } from "headlens";
import { formatValue } from "../maps/format.js";
import { nextTurn } from "../maps/source.js";
import { type Head, headName } from "../state/lists.js";
import type { RunMaps } from "./followed.js";

export const kKinds = ["query", "key", "value"] as const;
export type Kind = (typeof kKinds)[number];

/** A pair of heads that is drawn as an arc. Paths on a text have more numbers than their weight. */
export interface Arc {
  readonly earlier: Head;
  readonly later: Head;
  readonly kind: Kind;
  /** The number by which arcs are ordered and drawn. */
  readonly value: number;
  readonly path?: HeadPath;
}

export const kThrough: Readonly<Record<Kind, string>> = { query: "queries", key: "keys", value: "values" };

/** A key that tells a path from all others. */
export const arcKey = ({ earlier, later, kind }: Arc): string => `${headName(earlier)} ${headName(later)} ${kind}`;

/** A path as it is read in the list. */
export function inWords({ earlier, later, kind, value, path }: Arc): string {
  const number = (name: string, of: number | null | undefined): string => (of === undefined ? "" : `, ${name} ${of === null ? "none" : formatValue(of, 2)}`);
  const numbers = path
    ? `${number("share", path.share)}${number("weights", path.weights)}${number("previous", path.previous)}${number("induction", path.induction)}`
    : number("score", value);
  return `${headName(earlier)} → ${headName(later)} through ${kThrough[kind]}: ${numbers.slice(2)}`;
}

/** The scores of pairs of layers, those that are known. */
export interface Scores {
  readonly arcs: readonly Arc[];
  readonly done: number;
  readonly count: number;
}

/** The scores that were computed of each model. A search that was stopped goes on where it ended. */
const known = new WeakMap<AsyncModel, Scores>();

export const knownScores = (model: AsyncModel): Scores | undefined => known.get(model);

/** Computes the scores of all pairs of layers, one after another. */
export async function computeScores(
  engine: AsyncEngine, model: AsyncModel, signal: AbortSignal, told: (scores: Scores) => void,
): Promise<void> {
  const { layers, heads: numHeads, kvHeads: numKvHeads } = model.info;
  const pairs = Array.from({ length: layers }, (_, later) =>
    Array.from({ length: later }, (_, earlier) => ({ earlier, later }))).flat();
  const begun = known.get(model);
  const arcs = [...(begun?.arcs ?? [])];
  for (let index = begun?.done ?? 0; index < pairs.length; index++) {
    const { earlier: first, later: second } = pairs[index] as { earlier: number; later: number };
    const [before, after] = await Promise.all([model.layerWeights(first), model.layerWeights(second)]);
    signal.throwIfAborted();
    const norms = { ...(before.norm && { earlierNorm: before.norm }), ...(after.norm && { laterNorm: after.norm }) };
    const scores = await engine.compositionScores(before.state, after.state, { numHeads, numKvHeads, ...norms });
    signal.throwIfAborted();
    for (const kind of kKinds)
      scores[kind].forEach((row, later) => row.forEach((value, earlier) => {
        if (value === null) return;
        arcs.push({ earlier: { layer: first, head: earlier }, later: { layer: second, head: later }, kind, value });
      }));
    const all = { arcs: [...arcs], done: index + 1, count: pairs.length };
    known.set(model, all);
    told(all);
    await nextTurn();
    signal.throwIfAborted();
  }
}

/** The paths on this text, as arcs. */
export async function textArcs(
  { run }: RunMaps, rank: "share" | "induction", top: number, signal: AbortSignal,
): Promise<Arc[]> {
  const explained = await run.explained();
  signal.throwIfAborted();
  const paths = await explained.paths({ rank, top, signal });
  signal.throwIfAborted();
  return paths.map((path) => ({
    earlier: path.earlier, later: path.later, kind: path.kind, value: (rank === "induction" ? path.score : path.share) ?? 0, path,
  }));
}

/** A link of the later head, and what the earlier head had looked at from the token that carries what it wrote. */
export interface Shared {
  readonly row: number;
  readonly col: number;
  /** The token at which the earlier head wrote: the later head's query, or else its key. */
  readonly via: number;
  readonly from: number;
}

/** The place where both heads of a pair look most strongly, by the product of their weights. */
export async function sharedOf({ run, tokens }: RunMaps, { earlier, later, kind }: Arc): Promise<Shared> {
  const asked = [earlier, later].map(({ layer, head }) => run.attention.map(layer, head, run.of));
  const [first, second] = await Promise.all(asked);
  const count = tokens.length;
  const at = (map: typeof first, row: number, col: number): number => map?.data[row * count + col] ?? 0;
  // Each token has the one that it looks at most, besides itself, in the earlier head.
  const isMore = (via: number, from: number, best: number): boolean =>
    from !== via && (best === via || at(first, via, from) > at(first, via, best));
  const sources = tokens.map((_, via) =>
    tokens.reduce((best, _of, from) => (isMore(via, from, best) ? from : best), via));
  let best: Shared = { row: 0, col: 0, via: 0, from: 0 };
  let most = -1;
  for (let row = 0; row < count; row++)
    for (let col = 0; col < count; col++) {
      const via = kind === "query" ? row : col;
      const from = sources[via] ?? via;
      const both = from === via ? 0 : at(second, row, col) * at(first, via, from);
      if (both > most) [best, most] = [{ row, col, via, from }, both];
    }
  return best;
}
