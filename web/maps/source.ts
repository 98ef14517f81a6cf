// SPDX-License-Identifier: Apache-2.0
/**
 * The maps that views draw, behind one interface: those of a model that reads a text, arrays that were computed
 * elsewhere, or maps of given queries and keys. Numbers leave a source for what is looked at only.
 */
import type { CellMask } from "./mask.js";
import type { Run } from "./run.js";
import type { HeadFacts } from "./scale.js";

export type Range = readonly [begin: number, end: number];
export type Size = readonly [rows: number, cols: number];

/** A part of a map in cells, both ranges half-open. */
export interface Part {
  readonly rows: Range;
  readonly cols: Range;
}

/** A part of a map pooled to `size` numbers: in each block the largest, by its magnitude where there are negative ones. */
export interface Picture {
  readonly part: Part;
  readonly size: Size;
  readonly values: Float32Array;
  /** 0 for blocks of which no cell is known. Without it all are. */
  readonly known?: Uint8Array;
}

/** One row of a picture, as a picture. */
export function rowOf({ part: { rows, cols }, size: [, width], values, known }: Picture, row: number): Picture {
  const [begin, end] = [row * width, (row + 1) * width];
  return {
    part: { rows: [rows[0] + row, rows[0] + row + 1], cols },
    size: [1, width],
    values: values.subarray(begin, end),
    ...(known && { known: known.subarray(begin, end) }),
  };
}

/** A whole head as a small picture, with what its scale is chosen from. */
export interface Overview extends HeadFacts {
  readonly picture: Picture;
}

export interface MapSource {
  /** The names of the rows (queries) and of the columns (keys). */
  readonly tokens: readonly string[];
  readonly keyTokens: readonly string[];
  /** The tokens as the model's tokenizer has them, where readers are shown others: characters in the place of bytes. */
  readonly pieces?: { readonly rows: readonly string[]; readonly cols: readonly string[] } | undefined;
  /** The number of tokens of the whole text. It exceeds `tokens` when only the beginning was read. */
  readonly tokenCount: number;
  /** The number of heads of each layer. */
  readonly heads: readonly number[];
  /** The run of the model whose maps these are; undefined for arrays. */
  readonly run?: Run | undefined;
  /** For maps that were merged or filtered: the tokens [begin, end) of each row and column in the maps as they are. */
  readonly places?: { readonly rows: readonly Range[]; readonly cols: readonly Range[] } | undefined;
  /** The name of cells that are not known; "left out" where a reader filters them. */
  readonly unknownName?: string;
  /** The cells that the heads of a layer may not look at. */
  maskOf(layer: number): CellMask;
  /** The end of the fixed scale: 1 for weights, and for given arrays their largest magnitude when that is more. */
  readonly fixedMost: number;
  /** Computes a part of one head's map, pooled to at most `size`. */
  part(layer: number, head: number, part: Part, size: Size): Promise<Picture>;
  /** Computes overviews of heads [begin, end) of a layer, pooled to at most `size`. */
  overviews(layer: number, heads: Range, size: Size): Promise<readonly Overview[]>;
  /** The overview of a head that was computed last, if there is one. */
  known(layer: number, head: number): Overview | undefined;
}

/** The tokens of rows and columns as the model has them, for what is taken elsewhere. */
export const piecesOf = ({ pieces, tokens, keyTokens }: MapSource): NonNullable<MapSource["pieces"]> =>
  pieces ?? { rows: tokens, cols: keyTokens };

/** A source that is held, and what gives it back. */
export interface Lease {
  readonly maps: MapSource;
  /** A sentence that says how the file of the maps was understood, if they are of one. */
  readonly understood?: string | undefined;
  release(this: void): void;
}

/** The first cell of a block, when `count` cells are pooled to `blocks`: blocks are equal to within one cell. */
export function blockBegin(block: number, count: number, blocks: number): number {
  return Math.floor((block * count) / blocks);
}

/** The larger of the numbers of cells that a block has across and down, as in "max of 16×16". */
export function blockSize({ part: { rows, cols }, size }: Picture): Size {
  return [Math.ceil((rows[1] - rows[0]) / size[0]), Math.ceil((cols[1] - cols[0]) / size[1])];
}

/** The overviews of a source by layer and head, of each head the one with the most numbers. */
export class KnownOverviews {
  readonly #known = new Map<string, Overview>();

  get(layer: number, head: number): Overview | undefined {
    return this.#known.get(`${layer} ${head}`);
  }

  add(layer: number, first: number, overviews: readonly Overview[]): readonly Overview[] {
    const sizeOf = (overview?: Overview): number => overview?.picture.values.length ?? 0;
    overviews.forEach((overview, index) => {
      const before = this.get(layer, first + index);
      if (sizeOf(overview) >= sizeOf(before)) this.#known.set(`${layer} ${first + index}`, overview);
    });
    return overviews;
  }
}

export function checkHead({ heads }: MapSource, layer: number, head: number): void {
  const check = (name: string, value: number, count: number): void => {
    if (!Number.isInteger(value) || value < 0 || value >= count)
      throw new Error(`${name}: ${value} is not one of 0 to ${count - 1}`);
  };
  check("layer", layer, heads.length);
  check("head", head, heads[layer] ?? 0);
}

/** The blocks on a side of an overview that is fetched for its scale only. */
const kOverview = 256;

/** The overview of a head, which is fetched when none is known. */
export async function overviewOf(maps: MapSource, layer: number, head: number): Promise<Overview> {
  const known = maps.known(layer, head);
  const [overview] = known ? [known] : await maps.overviews(layer, [head, head + 1], [kOverview, kOverview]);
  if (!overview) throw new Error(`layer ${layer}, head ${head} has no map`);
  return overview;
}

/** True for the error of maps that were asked for something after they had been released, or while they were computed no more. */
export function isReleased(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return error instanceof Error && (code === "aborted" || code === "disposed");
}

/** The code of the error of a model that was given no picture, for which the element shows a place. */
export const kNoPicture = "no-picture";

/** Lets the page take its turn in the middle of long work. */
export const nextTurn = (): Promise<void> => new Promise((next) => setTimeout(next));
