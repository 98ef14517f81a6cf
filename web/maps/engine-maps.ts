// SPDX-License-Identifier: Apache-2.0
/** Maps that the engine computes. */
import type { AsyncAttentionMaps, AsyncModelAttention } from "headlens";
import { isEqual } from "../state/lists.js";
import type { CellMask } from "./mask.js";
import type { Run } from "./run.js";
import { blockBegin, KnownOverviews, type MapSource, type Overview, type Part, type Picture, type Range, type Size } from "./source.js";

/** Something of the engine that has maps: `layer` is the batch where there are no layers. */
type Engine = Pick<AsyncModelAttention | AsyncAttentionMaps, "map" | "overview" | "rowSummaries">;

interface AskedOverviews {
  readonly heads: Range;
  readonly pool: Size;
  readonly overviews: Promise<readonly Overview[]>;
}

/** The sizes in which overviews of a layer are kept. */
const kAskedSizes = 2;

/** Maps with more cells are computed in pieces. */
const kLargeMap = 1 << 25;

type Facts = Pick<MapSource, "tokens" | "keyTokens" | "tokenCount" | "heads" | "maskOf" | "pieces"> & { readonly run?: Run };

const fitting = ([rows, cols]: Size, height: number, width: number): Size => [
  Math.max(Math.min(rows, height), 1),
  Math.max(Math.min(cols, width), 1),
];

export class EngineMaps implements MapSource {
  readonly tokens: readonly string[];
  readonly keyTokens: readonly string[];
  readonly tokenCount: number;
  readonly heads: readonly number[];
  readonly maskOf: (layer: number) => CellMask;
  readonly fixedMost = 1;
  readonly run: Run | undefined;
  readonly pieces: MapSource["pieces"];
  readonly #engine: Engine;
  readonly #known = new KnownOverviews();
  /** The overviews that were asked for last of each layer: those of the open head are often larger than those of all. */
  readonly #asked = new Map<number, readonly AskedOverviews[]>();

  constructor(engine: Engine, facts: Facts) {
    this.#engine = engine;
    ({ tokens: this.tokens, keyTokens: this.keyTokens, tokenCount: this.tokenCount } = facts);
    ({ heads: this.heads, maskOf: this.maskOf, run: this.run, pieces: this.pieces } = facts);
  }

  async part(layer: number, head: number, part: Part, size: Size): Promise<Picture> {
    const [[top, bottom], cols] = [part.rows, this.keyTokens.length];
    const pool = fitting(size, bottom - top, part.cols[1] - part.cols[0]);
    // The overview of a short text has all of its numbers, so that the engine is not asked for whole rows of them again.
    const known = this.known(layer, head)?.picture.values;
    if (known?.length === this.tokens.length * cols && pool[0] === bottom - top && pool[1] === cols)
      return { part, size: pool, values: known.subarray(top * cols, bottom * cols) };
    const { data } = await this.#engine.map(layer, head, { ...part, pool, pooling: "max" });
    return { part, size: pool, values: data };
  }

  /** Two views that want the same are given the same. */
  async overviews(layer: number, heads: Range, size: Size): Promise<readonly Overview[]> {
    const pool = fitting(size, this.tokens.length, this.keyTokens.length);
    const known = this.#asked.get(layer) ?? [];
    const asked = known.find((one) => isEqual(one.pool, pool) && one.heads[0] <= heads[0] && one.heads[1] >= heads[1]);
    if (asked) return (await asked.overviews).slice(heads[0] - asked.heads[0], heads[1] - asked.heads[0]);
    const overviews = this.#compute(layer, heads, pool);
    this.#asked.set(layer, [{ heads, pool, overviews }, ...known].slice(0, kAskedSizes));
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
