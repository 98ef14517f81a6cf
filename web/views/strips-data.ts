// SPDX-License-Identifier: Apache-2.0
/** The numbers of the strips: the means of a map's columns and rows over the cells that may be seen. */
import { checkHead, type MapSource, nextTurn, type Picture } from "../maps/source.js";

/** Longer texts have strips of their first tokens. */
export const kMostTokens = 512;

/** A head's map, with NaN where a cell is masked or not known. */
export interface Cells {
  readonly rows: number;
  readonly cols: number;
  readonly values: Float32Array;
}

/** Puts NaN into the cells of a part that are masked or not known. */
function seen(maps: MapSource, layer: number, { part: { rows, cols }, values, known }: Picture): Float32Array {
  const mask = maps.maskOf(layer);
  const width = cols[1] - cols[0];
  return values.map((value, cell) => {
    const [row, col] = [rows[0] + Math.floor(cell / width), cols[0] + (cell % width)];
    return known?.[cell] === 0 || mask.hides(row, row + 1, col, col + 1) ? NaN : value;
  });
}

export async function cellsOf(maps: MapSource, layer: number, head: number): Promise<Cells> {
  checkHead(maps, layer, head);
  const rows = Math.min(maps.tokens.length, kMostTokens);
  const cols = Math.min(maps.keyTokens.length, kMostTokens);
  const picture = await maps.part(layer, head, { rows: [0, rows], cols: [0, cols] }, [rows, cols]);
  return { rows, cols, values: seen(maps, layer, picture) };
}

/** A mean over the numbers that are there; NaN over none. */
function mean(values: Iterable<number>): number {
  let [sum, count] = [0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += value;
    count++;
  }
  return count === 0 ? NaN : sum / count;
}

/** The weight with which each key is looked at: the mean of its column over those of `rows` that may see it. */
export function keyMeans({ rows, cols, values }: Cells, chosen?: readonly number[]): number[] {
  const of = chosen ?? Array.from({ length: rows }, (_, row) => row);
  return Array.from({ length: cols }, (_, col) => mean(of.map((row) => values[row * cols + col] ?? NaN)));
}

/** The weight with which each query looks at the chosen keys: its mean weight over those of them that it may see. */
export function queryMeans({ rows, cols, values }: Cells, chosen: readonly number[]): number[] {
  return Array.from({ length: rows }, (_, row) => mean(chosen.map((col) => values[row * cols + col] ?? NaN)));
}

/** The largest weight of each query; NaN where it sees no key. */
export function largestOf({ rows, cols, values }: Cells): number[] {
  return Array.from({ length: rows }, (_, row) => {
    const own = [...values.subarray(row * cols, (row + 1) * cols)].filter((value) => !Number.isNaN(value));
    return own.reduce((most, value) => (Math.abs(value) > Math.abs(most) || Number.isNaN(most) ? value : most), NaN);
  });
}

/** The strength with which each head links queries to keys: the mean weight over their pairs that may be seen, as [layer][head]. */
export async function pairMeans(
  maps: MapSource, queries: readonly number[], keys: readonly number[],
): Promise<number[][]> {
  const cols = [Math.min(...keys), Math.max(...keys) + 1] as const;
  const width = cols[1] - cols[0];
  const weightsOf = async (layer: number, head: number, row: number): Promise<number[]> => {
    const picture = await maps.part(layer, head, { rows: [row, row + 1], cols }, [1, width]);
    const values = seen(maps, layer, picture);
    return keys.map((key) => values[key - cols[0]] ?? NaN);
  };
  const one = async (layer: number, head: number): Promise<number> =>
    mean((await Promise.all(queries.map((row) => weightsOf(layer, head, row)))).flat());
  return Promise.all(maps.heads.map((count, layer) =>
    Promise.all(Array.from({ length: count }, (_, head) => one(layer, head)))));
}

/** A head's means of columns. */
export interface HeadMeans {
  readonly layer: number;
  readonly head: number;
  readonly means: readonly number[];
}

/** The means of all heads' columns. `told` is called with what is there, and false ends it. */
export async function allMeans(
  maps: MapSource, signal: AbortSignal, told: (heads: readonly HeadMeans[], count: number) => void,
): Promise<void> {
  const all: HeadMeans[] = [];
  const total = maps.heads.reduce((sum, count) => sum + count, 0);
  for (const [layer, count] of maps.heads.entries())
    for (let head = 0; head < count; head++) {
      const cells = await cellsOf(maps, layer, head);
      signal.throwIfAborted();
      all.push({ layer, head, means: keyMeans(cells) });
      told(all, total);
      await nextTurn();
      signal.throwIfAborted();
    }
}

export interface Found {
  readonly layer: number;
  readonly head: number;
  readonly value: number;
  /** The place of the token that this head looks at most. */
  readonly key: number;
}

/** The places of the tokens that begin with what was typed; capitals do not matter, and neither does the space before a word. */
export function placesOf(tokens: readonly string[], typed: string): number[] {
  const word = typed.trim().toLowerCase();
  if (word === "") return [];
  const all = tokens.slice(0, kMostTokens).map((token, place) => ({ token: token.trimStart().toLowerCase(), place }));
  return all.filter(({ token }) => token.startsWith(word)).map(({ place }) => place);
}

/** The heads that look most at these keys, on average. */
export function lookers(heads: readonly HeadMeans[], places: readonly number[], most: number): Found[] {
  const found = heads.map(({ layer, head, means }): Found => {
    const at = (key: number): number => means[key] ?? NaN;
    const key = places.reduce((best, place) => (at(place) > at(best) || Number.isNaN(at(best)) ? place : best));
    return { layer, head, value: mean(places.map(at)), key };
  });
  return found.filter(({ value }) => !Number.isNaN(value)).sort((a, b) => b.value - a.value).slice(0, most);
}
