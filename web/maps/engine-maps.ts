// SPDX-License-Identifier: Apache-2.0
/** Maps that the engine computes: of a model that reads a text, and of given queries and keys. */
import type { AsyncAttentionMaps, AsyncModelAttention } from "headlens";
import type { GivenQueries, Progress } from "./computing.js";
import { sharedEngine, sharedModel } from "./engine.js";
import { causalMask, type CellMask, kOpen } from "./mask.js";
import { blockBegin, KnownOverviews, type Lease, type MapSource, type Overview, type Part, type Picture, type Range, type Size } from "./source.js";
import { names, readMask, shapeOf } from "./given.js";
import { tensorOf } from "./nested.js";

/** Something of the engine that has maps: `layer` is the batch where there are no layers. */
type Engine = Pick<AsyncModelAttention | AsyncAttentionMaps, "map" | "overview" | "rowSummaries">;

/** Maps with more cells are computed in pieces. */
const kLargeMap = 1 << 25;

type Facts = Pick<MapSource, "tokens" | "keyTokens" | "tokenCount" | "heads" | "maskOf">;

const fitting = ([rows, cols]: Size, height: number, width: number): Size => [
  Math.max(Math.min(rows, height), 1),
  Math.max(Math.min(cols, width), 1),
];

class EngineMaps implements MapSource {
  readonly tokens: readonly string[];
  readonly keyTokens: readonly string[];
  readonly tokenCount: number;
  readonly heads: readonly number[];
  readonly maskOf: (layer: number) => CellMask;
  readonly fixedMost = 1;
  readonly #engine: Engine;
  readonly #known = new KnownOverviews();
  /** The overviews that were asked for last of each layer. */
  readonly #asked = new Map<number, { heads: Range; pool: Size; overviews: Promise<readonly Overview[]> }>();

  constructor(engine: Engine, facts: Facts) {
    this.#engine = engine;
    ({ tokens: this.tokens, keyTokens: this.keyTokens, tokenCount: this.tokenCount } = facts);
    ({ heads: this.heads, maskOf: this.maskOf } = facts);
  }

  async part(layer: number, head: number, part: Part, size: Size): Promise<Picture> {
    const pool = fitting(size, part.rows[1] - part.rows[0], part.cols[1] - part.cols[0]);
    const { data } = await this.#engine.map(layer, head, { ...part, pool, pooling: "max" });
    return { part, size: pool, values: data };
  }

  /** Two views that want the same are given the same. */
  async overviews(layer: number, heads: Range, size: Size): Promise<readonly Overview[]> {
    const pool = fitting(size, this.tokens.length, this.keyTokens.length);
    const asked = this.#asked.get(layer);
    if (asked?.pool.join() === pool.join() && asked.heads[0] <= heads[0] && asked.heads[1] >= heads[1])
      return (await asked.overviews).slice(heads[0] - asked.heads[0], heads[1] - asked.heads[0]);
    const overviews = this.#compute(layer, heads, pool);
    this.#asked.set(layer, { heads, pool, overviews });
    overviews.catch(() => this.#asked.delete(layer));
    return overviews;
  }

  async #compute(layer: number, heads: Range, pool: Size): Promise<readonly Overview[]> {
    const [rows, cols] = [this.tokens.length, this.keyTokens.length];
    const whole: Part = { rows: [0, rows], cols: [0, cols] };
    if (rows * cols > kLargeMap) {
      const overviews: Overview[] = [];
      for (let head = heads[0]; head < heads[1]; head++) overviews.push(await this.#inBands(layer, head, whole, pool));
      return this.#known.add(layer, heads[0], overviews);
    }
    const { maps, largest, keys } = await this.#engine.overview(layer, { heads, pool, pooling: "max" });
    const cells = pool[0] * pool[1];
    const overviewOf = (_: unknown, index: number): Overview => ({
      picture: { part: whole, size: pool, values: maps.data.subarray(index * cells, (index + 1) * cells) },
      largest: largest.data.subarray(index * rows, (index + 1) * rows),
      keys: keys.data.subarray(index * rows, (index + 1) * rows),
      signed: false,
    });
    return this.#known.add(layer, heads[0], Array.from({ length: heads[1] - heads[0] }, overviewOf));
  }

  /** The overview of a large map, one row of blocks at a time, so that what is looked at meanwhile need not wait for it. */
  async #inBands(layer: number, head: number, whole: Part, size: Size): Promise<Overview> {
    const [[, rows], cols] = [whole.rows, size[1]];
    const values = new Float32Array(size[0] * cols);
    for (let block = 0; block < size[0]; block++) {
      const band: Range = [blockBegin(block, rows, size[0]), blockBegin(block + 1, rows, size[0])];
      const { data } = await this.#engine.map(layer, head, { rows: band, pool: [1, cols], pooling: "max" });
      values.set(data, block * cols);
    }
    const { largest, keys } = await this.#engine.rowSummaries(layer, head);
    return { picture: { part: whole, size, values }, largest: largest.data, keys: keys.data, signed: false };
  }

  known(layer: number, head: number): Overview | undefined {
    return this.#known.get(layer, head);
  }
}

/** Loads a model, which stays. Rejects when `signal` ends the wait for it. */
export async function loadModel(model: string, signal: AbortSignal, onProgress: Progress): Promise<void> {
  const loading = sharedModel(model, (...progress) => signal.aborted || onProgress(...progress));
  const ended = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  await Promise.race([loading, ended]);
}

/** A run of a model that is under way or held, for as many elements as want it. */
interface Run {
  readonly lease: Promise<Lease>;
  readonly abort: AbortController;
  /** Told the share of the run that is done. */
  readonly listeners: Set<(done: number) => void>;
  users: number;
}

/** The runs by model and text. */
const runs = new Map<string, Run>();

function startRun(model: string, text: string): Run {
  const abort = new AbortController();
  const listeners: Run["listeners"] = new Set();
  const lease = attend(model, text, abort.signal, (done) => listeners.forEach((listener) => listener(done)));
  return { lease, abort, listeners, users: 0 };
}

async function attend(
  model: string, text: string, signal: AbortSignal, onProgress: (done: number) => void,
): Promise<Lease> {
  const loaded = await sharedModel(model);
  const attention = await loaded.attend(text, { truncate: true, signal, onProgress });
  const { layers, heads, causal, windows } = loaded.info;
  const masks = Array.from({ length: layers }, (_, layer) => causal ? causalMask(windows[layer]) : kOpen);
  const { tokens, tokenCount } = attention;
  const facts = {
    tokens,
    keyTokens: tokens,
    tokenCount,
    heads: Array<number>(layers).fill(heads),
    maskOf: (layer: number) => masks[layer] ?? kOpen,
  };
  return { maps: new EngineMaps(attention, facts), release: () => attention.dispose() };
}

/**
 * Runs the model on a text, or on as much of its beginning as the model has positions for. Elements that show the same
 * text share one run, which ends early when none of them wants it any more. `onProgress` is told the share that is done.
 */
export async function modelMaps(
  model: string, text: string, signal: AbortSignal, onProgress: (done: number) => void,
): Promise<Lease> {
  const key = `${model}\n${text}`;
  const run = runs.get(key) ?? startRun(model, text);
  runs.set(key, run);
  run.users++;
  run.listeners.add(onProgress);
  let held = true;
  const release = (): void => {
    if (!held) return;
    held = false;
    if (--run.users > 0) return;
    if (runs.get(key) === run) runs.delete(key);
    run.abort.abort();
    run.lease.then((lease) => lease.release(), () => undefined);
  };
  signal.addEventListener("abort", release);
  try {
    const { maps } = await run.lease;
    signal.throwIfAborted();
    return { maps, release };
  } catch (error) {
    release();
    throw error;
  } finally {
    signal.removeEventListener("abort", release);
    run.listeners.delete(onProgress);
  }
}

/** The maps of given queries and keys, of any length. The engine keeps copies of both until they are released. */
export async function computedMaps(given: GivenQueries): Promise<Lease> {
  const engine = await sharedEngine();
  const { softmaxScale, causal } = given;
  const [queries, keys] = [tensorOf("queries", given.queries), tensorOf("keys", given.keys)];
  const mask = given.mask && tensorOf("mask", given.mask);
  const shown = mask && { shape: shapeOf(mask), data: Uint8Array.from(mask.data, Number) };
  const maps = await engine.attentionMaps(queries, keys, {
    isCausal: causal,
    enableGqa: true,
    ...(softmaxScale !== undefined && softmaxScale !== null && { scale: softmaxScale }),
    ...(shown && { attnMask: shown, maskTrue: "keep" }),
  });
  try {
    const [rows, cols] = [maps.queries, maps.keys];
    const cells = readMask(mask, causal, [rows, cols]);
    const tokens = names("tokens", given.tokens, rows);
    const facts = {
      tokens,
      keyTokens: names("keyTokens", given.keyTokens ?? (rows === cols ? given.tokens : undefined), cols),
      tokenCount: tokens.length,
      heads: Array<number>(maps.batches).fill(maps.heads),
      maskOf: () => cells,
    };
    return { maps: new EngineMaps(maps, facts), release: () => maps.dispose() };
  } catch (error) {
    maps.dispose();
    throw error;
  }
}
