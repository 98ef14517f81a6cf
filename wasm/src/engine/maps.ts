// SPDX-License-Identifier: Apache-2.0
/** Maps of heads, which are computed when they are looked at: those of a model's layers, and those of given queries and keys. */
import { apiName, checkOptions, namesIn, toRequest } from "../arguments/names.js";
import { listOf } from "../arguments/options.js";
import { floats } from "../arguments/inputs.js";
import { expectThere } from "../arguments/tensors.js";
import { guarded, reading, show, unwrap, within, wrong } from "../module/failures.js";
import type { HeadlensModule, HeadMapsHandle, MapsHandle } from "../module/module.js";
import { HandleResource, type Resource } from "../module/resource.js";
import type {
  AttentionMaps, AttentionMapsOptions, MapOptions, Maybe, Overview, OverviewOptions, RowSummaries,
  RowSummariesOptions, Tensor, TensorLike,
} from "../types/index.js";

/** Returns a test for whole numbers from 0 to below that end. */
export function isBelow(end: number): (value: unknown) => boolean {
  return (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) < end;
}

export function checkIndex(name: string, value: unknown, below: number): void {
  if (isBelow(below)(value)) return;
  throw wrong("value", name, show(value), below > 0 ? `a whole number from 0 to ${below - 1}` : "nothing: there are none");
}

export function ifGiven<T>(option: unknown, read: () => T): T | undefined {
  return option === undefined ? undefined : read();
}

export function checkRange(name: string, range: unknown, length: number): [number, number] {
  const [begin, end] = checkPair(name, range, 0, length);
  if (begin > end) throw wrong("value", name, show(range), "a beginning that is not after the end");
  return [begin, end];
}

function checkPair(name: string, pair: unknown, min: number, max: number): [number, number] {
  const isInRange = (n: unknown): boolean => Number.isInteger(n) && (n as number) >= min && (n as number) <= max;
  const numbers = reading(name, () => listOf<number>(pair, isInRange));
  if (numbers?.length === 2) return numbers as [number, number];
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} up` : `from ${min} to ${max}`;
  throw wrong("value", name, show(pair), `two whole numbers ${range}`);
}

const kPooling = ["mean", "max"];

/** Reads how a part of a map becomes a picture: the sizes of that, and whether it has the largest weights. A part without cells is not pooled. */
function pictureOf(
  rows: number, cols: number, pool: unknown, caller: string, pooling: string,
): [rows: number, cols: number, largest: boolean] {
  if (!kPooling.includes(pooling)) {
    throw within(caller, wrong("option", "pooling", show(pooling), `one of ${kPooling.map(show).join(", ")}`));
  }
  const most = ifGiven(pool, () => checkPair("pool", pool, 1, Number.MAX_SAFE_INTEGER));
  if (!most || rows === 0 || cols === 0) return [rows, cols, false];
  return [Math.min(most[0], rows), Math.min(most[1], cols), pooling === "max"];
}

/** The sizes of maps, which are those of `count` layers or batches. The module has the first of them under the number `first`. */
export interface MapSizes {
  readonly of: "layer" | "batch";
  readonly first: number;
  readonly count: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

/** Each method takes what is held after the caller's options are read, whose getters may have disposed of it. */
export abstract class WasmHeadMaps<H extends HeadMapsHandle> extends HandleResource<H> {
  readonly #sizes: MapSizes;
  readonly #parts: Readonly<Record<string, MapSizes>>;

  /** `parts` are the sizes of an encoder–decoder's attentions by their names, of which `sizes` are the decoder's. */
  constructor(
    what: string, make: () => H, sizes: MapSizes, owner: Resource<unknown>,
    parts: Readonly<Record<string, MapSizes>> = {},
  ) {
    super(what, make, owner);
    this.#sizes = sizes;
    this.#parts = parts;
  }

  map(index: number, head: number, options?: Maybe<MapOptions>): Tensor {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    const { rows, cols, pool, pooling, attention } = checkOptions<MapOptions>("map", options);
    const { first, queries, keys } = this.sizesFor("map", attention, index, head);
    const [top, bottom] = ifGiven(rows, () => checkRange("rows", rows, queries)) ?? [0, queries];
    const [left, right] = ifGiven(cols, () => checkRange("cols", cols, keys)) ?? [0, keys];
    const picture = pictureOf(bottom - top, right - left, pool, "map", pooling ?? "mean");
    const handle = this.held;
    return guarded("map", () => unwrap(handle.map(first + index, head, top, bottom, left, right, ...picture), apiName));
  }

  rowSummaries(index: number, head: number, options?: Maybe<RowSummariesOptions>): RowSummaries {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    const { rows, attention } = checkOptions<RowSummariesOptions>("rowSummaries", options);
    const { first, queries } = this.sizesFor("rowSummaries", attention, index, head);
    const [begin, end] = ifGiven(rows, () => checkRange("rows", rows, queries)) ?? [0, queries];
    const handle = this.held;
    return guarded("rowSummaries", () => {
      const { data } = unwrap(handle.rowSummaries(first + index, head, begin, end), apiName);
      const [lse, largest, keys] = [0, 1, 2].map((row): Tensor => {
        const length = end - begin;
        return { data: data.slice(row * length, (row + 1) * length), shape: [length] };
      }) as [Tensor, Tensor, Tensor];
      return { lse, largest, keys };
    });
  }

  overview(index: number, options?: Maybe<OverviewOptions>): Overview {
    void this.held; // a disposed object is reported before anything that is wrong with the arguments
    const { heads, pool: given, pooling = "max", attention } = checkOptions<OverviewOptions>("overview", options);
    const { of, first, count, heads: all, queries, keys } = this.partOf("overview", attention);
    checkIndex(of, index, count);
    const pool = given ?? [queries || 1, keys || 1];
    const [begin, end] = ifGiven(heads, () => checkRange("heads", heads, all)) ?? [0, all];
    const picture = pictureOf(queries, keys, pool, "overview", pooling);
    const [rows, cols] = picture;
    const handle = this.held;
    return guarded("overview", () => {
      const tensor = (...sizes: number[]): Tensor => {
        const shape = [end - begin, ...sizes];
        return { data: new Float32Array(shape.reduce((size, n) => size * n)), shape };
      };
      const maps = tensor(rows, cols), largest = tensor(queries), visible = tensor(queries);
      const to = { maps: maps.data, largest: largest.data, keys: visible.data };
      unwrap(handle.fillOverview(first + index, begin, end, ...picture, to), apiName);
      return { maps, largest, keys: visible };
    });
  }

  /** Returns the sizes of the maps among which is that head's. */
  protected sizesFor(caller: string, attention: unknown, index: number, head: number): MapSizes {
    const sizes = this.partOf(caller, attention);
    checkIndex(sizes.of, index, sizes.count);
    checkIndex("head", head, sizes.heads);
    return sizes;
  }

  /** Returns the sizes of the attention that is meant. */
  protected partOf(caller: string, attention: unknown): MapSizes {
    if (attention === undefined) return this.#sizes;
    const part = new Map(Object.entries(this.#parts)).get(attention as string);
    if (part) return part;
    const names = Object.keys(this.#parts).map(show).join(", ");
    throw within(caller, wrong("option", "attention", show(attention), names ? `one of ${names}` : "an encoder–decoder"));
  }
}

export class WasmAttentionMaps extends WasmHeadMaps<MapsHandle> implements AttentionMaps {
  readonly batches: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;

  private constructor(handle: MapsHandle, engine: Resource<unknown>) {
    const [batches, heads, queries, keys] = handle.sizes();
    super("attentionMaps", () => handle, { of: "batch", first: 0, count: batches, heads, queries, keys }, engine);
    this.batches = batches;
    this.heads = heads;
    this.queries = queries;
    this.keys = keys;
  }

  /** `module` is called after the caller's data are read, whose getters may have disposed of the engine. */
  static of(
    module: () => HeadlensModule, engine: Resource<unknown>, q: TensorLike, k: TensorLike,
    options: Maybe<AttentionMapsOptions>,
  ): WasmAttentionMaps {
    const { json, inputs: more } = toRequest("attentionMaps", options);
    const inputs = [{ ...floats("q", q), name: "query" }, { ...floats("k", k), name: "key" }, ...more];
    const made = module();
    expectThere(inputs);
    const handle = guarded("attentionMaps", () => unwrap(made.createMaps(inputs, json), namesIn(inputs)));
    return new WasmAttentionMaps(handle, engine);
  }
}
