// SPDX-License-Identifier: Apache-2.0
/** Chooses maps, or queries and keys, among the arrays that a file has under names. */
import type { TensorLike } from "headlens";
import { showShape } from "../maps/nested.js";
import type { Facts, Given } from "./given-maps.js";
import { show } from "./limits.js";

/** An array of a file, whose numbers are read when they are wanted. */
export interface StoredArray {
  readonly name: string;
  /** The type of its numbers, in words. */
  readonly type: string;
  readonly shape: readonly number[];
  read(this: void): Float32Array;
}

/** The names that libraries give to maps. The first that a file has is taken, and its other arrays are left out. */
const kMaps = [
  /\bhook_pattern$/, // TransformerLens
  /\battention_prob(abilitie)?s\b/, // nnterp
  /^attentions?([._-]?\d+)?$/, // output_attentions of transformers, and the program's own
  /\b(attn|attention)_(weights|probs)\b/,
  /^(weights|maps)([._-]?\d+)?$/,
  /^arr_\d+$/, // numpy.savez
];
const kQueries = /^(q|queries)([._-]?\d+)?$/;
const kKeys = /^(k|keys)([._-]?\d+)?$/;
const kMask = /^mask$/;

/**
 * The axes of an array in words, such as "heads × queries × keys", and its shape without a batch of 1 between layers and heads. Throws an
 * Error when it has other axes.
 */
export function axesOf(place: string, shape: readonly number[], last = "keys"): { shape: readonly number[]; words: string } {
  const axes = ["layers", "heads", "queries", last];
  if (shape.length === 5 && shape[1] === 1) return { shape: shape.filter((_, axis) => axis !== 1), words: `layers × batch × heads × queries × ${last}` };
  if (shape.length < 2 || shape.length > 4)
    throw new Error(`${place} has shape ${showShape(shape)}, expected (T, S), (H, T, S) or (L, H, T, S)`);
  return { shape, words: axes.slice(-shape.length).join(" × ") };
}

/** The arrays whose names match, in their natural order. */
function matching(arrays: readonly StoredArray[], pattern: RegExp): StoredArray[] {
  const found = arrays.filter(({ name }) => pattern.test(name));
  return found.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** All arrays, where they are one or differ in a number of their names only. */
function alike(file: string, arrays: readonly StoredArray[]): StoredArray[] {
  const kinds = new Set(arrays.map(({ name }) => name.replace(/\d+/, "#")));
  if (kinds.size === 1) return matching(arrays, /^/);
  const names = arrays.slice(0, 6).map(({ name }) => show(name)).join(", ");
  throw new Error(`${file} has ${arrays.length} arrays${names && `: ${names}`}${arrays.length > 6 ? ", …" : ""}, expected maps under names such as "attentions.0" or "blocks.0.attn.hook_pattern", or "queries" with "keys"`);
}

/** The arrays of one kind as they are drawn, and how they were understood. */
interface Reading {
  readonly numbers: TensorLike | readonly TensorLike[];
  readonly words: string;
}

/** A layer as [H,T,S], without a batch axis of 1. */
function layerOf(file: string, { name, shape, read }: StoredArray): TensorLike {
  const [batch, ...rest] = [...Array<number>(Math.max(4 - shape.length, 0)).fill(1), ...shape];
  if (shape.length < 2 || shape.length > 4 || batch !== 1)
    throw new Error(`${file}: ${show(name)} has shape ${showShape(shape)}, expected (H, T, S) or (1, H, T, S)`);
  return { data: read(), shape: rest };
}

/** Arrays of one kind: one for each layer, or one of all. */
function readAll(file: string, arrays: readonly StoredArray[], last: string): Reading {
  const [first] = arrays as [StoredArray];
  const { name, type, shape, read } = first;
  const axes = axesOf(file, shape, last);
  const words = `${type} ${showShape(shape)}, read as `;
  if (arrays.length === 1 && !kMaps[0]?.test(name))
    return { numbers: { data: read(), shape: axes.shape }, words: words + axes.words };
  return {
    numbers: arrays.map((array) => layerOf(file, array)),
    words: `${arrays.length === 1 ? "1 layer" : `${arrays.length} layers`} from ${show(name)} on: ${words}${axes.words.replace("layers", "batch")}`,
  };
}

/** Layers of one shape as one array, which is what queries and keys have to be. */
function stacked(what: string, numbers: Reading["numbers"]): TensorLike {
  if (!Array.isArray(numbers)) return numbers as TensorLike;
  const layers = numbers as { data: Float32Array; shape: number[] }[];
  const [{ data, shape }] = layers as [(typeof layers)[number]];
  const all = new Float32Array(data.length * layers.length);
  layers.forEach((layer, index) => {
    if (String(layer.shape) !== String(shape))
      throw new Error(`${what} of layer ${index} have shape ${showShape(layer.shape)}, expected ${showShape(shape)} as layer 0 has`);
    all.set(layer.data, index * data.length);
  });
  return { data: all, shape: [layers.length, ...shape] };
}

/** The maps of a file's arrays. Throws an Error that says what is there when none of them can be maps. */
export function storedMaps(file: string, stored: readonly StoredArray[], facts: Facts): Given {
  const [mask] = matching(stored, kMask);
  const arrays = stored.filter((array) => array !== mask);
  const beside = { ...facts, ...(mask && { mask: { data: mask.read(), shape: mask.shape } }) };
  const [queries, keys] = [matching(arrays, kQueries), matching(arrays, kKeys)];
  const known = kMaps.map((pattern) => matching(arrays, pattern)).find((found) => found.length > 0);
  if (!known && queries.length > 0 && keys.length > 0) {
    const [ofQueries, ofKeys] = [readAll(file, queries, "width"), readAll(file, keys, "width")];
    return {
      ...beside,
      queries: stacked(`${file}: the queries`, ofQueries.numbers),
      keys: stacked(`${file}: the keys`, ofKeys.numbers),
      understood: `${file}: queries and keys, from which maps are computed; ${ofQueries.words}`,
    };
  }
  const maps = known ?? alike(file, arrays);
  const { numbers, words } = readAll(file, maps, "keys");
  const others = arrays.length - maps.length;
  const left = others > 0 ? `; ${others} other ${others === 1 ? "array is" : "arrays are"} left out` : "";
  return { ...beside, weights: numbers, understood: `${file}: ${words}${left}` };
}
