// SPDX-License-Identifier: Apache-2.0
/**
 * Maps as a reader wants to see them: pieces of words merged, keys hidden, segments chosen, small weights left out, heads
 * combined. The model's numbers stay what they are; these are pictures made of them.
 */
import { headsOf } from "../state/lists.js";
import type { Shaping } from "../state/state.js";
import type { CellMask } from "./mask.js";
import type { Run } from "./run.js";
import { KnownOverviews, type MapSource, type Overview, type Part, type Picture, type Range, type Size } from "./source.js";
import { isSpecial } from "./tokens.js";
import { factsOf, pooled, type WholeMap } from "./whole.js";
import { isPunctuation, wordsOf, wordText } from "./word-groups.js";

const kHidden = ["sink", "special", "punctuation"] as const;
const kMerges = ["none", "words"] as const;
const kCombinations = ["none", "mean", "max", "norm"] as const;
const kSegmentLinks = ["all", "AA", "AB", "BA", "BB"] as const;

/** Shapes need whole maps in memory, so longer texts are only shown as they are. */
const kMostTokens = 2048;
/** The maps that are kept. */
const kKept = 4;

/** The ways in which maps are shaped. */
export interface Shape {
  readonly combine: (typeof kCombinations)[number];
  readonly heads: string;
  readonly threshold: number;
  readonly topK: number;
  readonly hide: readonly (typeof kHidden)[number][];
  readonly merge: (typeof kMerges)[number];
  readonly segments: (typeof kSegmentLinks)[number];
}

function known<T extends string>(name: string, value: string, all: readonly T[]): T {
  const found = all.find((one) => one === value);
  if (found === undefined) throw new Error(`${name}: ${JSON.stringify(value)} is not known; ${all.join(", ")} are`);
  return found;
}

/** Reads the shape of a state; undefined where maps are shown as they are. Throws an Error that names what is not known. */
export function shapeOf(state: Readonly<Shaping>): Shape | undefined {
  const { threshold, topK, heads } = state;
  if (!(threshold >= 0)) throw new Error(`threshold: ${threshold} is not a number from 0 on`);
  if (!(Number.isInteger(topK) && topK >= 0)) throw new Error(`top-k: ${topK} is not a whole number from 0 on`);
  const shape: Shape = {
    combine: known("combine", state.combine, kCombinations),
    heads: state.combine === "none" ? "" : heads,
    threshold,
    topK,
    hide: state.hide.split(/[\s,]+/).filter((word) => word !== "").map((word) => known("hide", word, kHidden)),
    merge: known("merge", state.merge, kMerges),
    segments: known("segments", state.segments, kSegmentLinks),
  };
  const isPlain = shape.combine === "none" && threshold === 0 && topK === 0 && shape.hide.length === 0 &&
    shape.merge === "none" && shape.segments === "all";
  return isPlain ? undefined : shape;
}

/** Tokens that stand together as one row or column: cells [begin, end) of the map as it is. */
type Groups = readonly Range[];

const single = (_: unknown, index: number): Range => [index, index + 1];

/** The map of one head as it is. */
interface Raw {
  readonly values: Float32Array;
  readonly known: Uint8Array | undefined;
}

export class ShapedMaps implements MapSource {
  readonly tokens: readonly string[];
  readonly keyTokens: readonly string[];
  readonly tokenCount: number;
  readonly heads: readonly number[];
  readonly run: Run | undefined;
  readonly unknownName = "left out";
  /** The tokens of each row and column in the maps as they are. */
  readonly places: { readonly rows: Groups; readonly cols: Groups };
  readonly #known = new KnownOverviews();
  readonly #maps = new Map<string, Promise<WholeMap>>();

  /** `source` must live as long as these maps. */
  constructor(private readonly source: MapSource, private readonly shape: Shape) {
    const { tokens, keyTokens, run } = source;
    if (Math.max(tokens.length, keyTokens.length) > kMostTokens)
      throw new Error(`maps of more than ${kMostTokens} tokens are only shown as they are: merge, hide, segments, combine, threshold and top-k are for shorter texts`);
    const { rows, cols } = groupsOf(source, shape);
    if (rows.length === 0 || cols.length === 0) throw new Error("no token is left of this text: hide or filter less");
    this.places = { rows, cols };
    this.tokens = rows.map(([begin, end]) => wordText(tokens.slice(begin, end)));
    this.keyTokens = cols.map(([begin, end]) => wordText(keyTokens.slice(begin, end)));
    this.tokenCount = rows.length;
    this.heads = source.heads;
    this.run = run;
  }

  get fixedMost(): number {
    return this.source.fixedMost;
  }

  maskOf(layer: number): CellMask {
    const mask = this.source.maskOf(layer);
    const { rows, cols } = this.places;
    return {
      hides(rowBegin, rowEnd, colBegin, colEnd) {
        for (let row = rowBegin; row < rowEnd; row++)
          for (let col = colBegin; col < colEnd; col++)
            if (!mask.hides(...(rows[row] as Range), ...(cols[col] as Range))) return false;
        return true;
      },
    };
  }

  async part(layer: number, head: number, part: Part, size: Size): Promise<Picture> {
    const [begin, end] = part.rows;
    const isFew = 2 * (end - begin) <= this.tokens.length;
    if (!isFew || this.#maps.has(`${layer} ${head}`)) return pooled(await this.#whole(layer, head), part, size);
    // A few rows of many heads, as lines draw them, need no whole maps.
    const rows = await this.#compute(layer, head, part.rows);
    return { ...pooled(rows, { rows: [0, end - begin], cols: part.cols }, size), part };
  }

  async overviews(layer: number, heads: Range, size: Size): Promise<readonly Overview[]> {
    const whole: Part = { rows: [0, this.tokens.length], cols: [0, this.keyTokens.length] };
    const overviews: Overview[] = [];
    for (let head = heads[0]; head < heads[1]; head++) {
      const map = await this.#whole(layer, head);
      overviews.push({ picture: pooled(map, whole, size), ...factsOf(map) });
    }
    return this.#known.add(layer, heads[0], overviews);
  }

  known(layer: number, head: number): Overview | undefined {
    return this.#known.get(layer, head);
  }

  #whole(layer: number, head: number): Promise<WholeMap> {
    const key = `${layer} ${head}`;
    const map = this.#maps.get(key) ?? this.#compute(layer, head, [0, this.tokens.length]);
    this.#maps.delete(key);
    this.#maps.set(key, map);
    map.catch(() => this.#maps.delete(key));
    for (const old of this.#maps.keys()) {
      if (this.#maps.size <= kKept) break;
      this.#maps.delete(old);
    }
    return map;
  }

  /** The rows [begin, end) of the map of a head. */
  async #compute(layer: number, head: number, [begin, end]: Range): Promise<WholeMap> {
    const rows = this.places.rows.slice(begin, end);
    const [top, bottom] = [rows[0]?.[0] ?? 0, rows.at(-1)?.[1] ?? 0];
    const raw = await combined(this.source, this.shape, layer, head, [top, bottom]);
    const own = rows.map(([from, to]): Range => [from - top, to - top]);
    const cells = grouped(raw, own, this.places.cols, this.source.keyTokens.length);
    const mask = this.maskOf(layer);
    const shifted: CellMask = { hides: (from, to, left, right) => mask.hides(begin + from, begin + to, left, right) };
    const size: Size = [rows.length, this.keyTokens.length];
    return leftOut({ ...cells, size, mask: shifted, signed: false }, this.shape);
  }
}

/** The rows and columns that a shape leaves, each with the tokens that it stands for. */
function groupsOf({ tokens, keyTokens, run, heads }: MapSource, shape: Shape): { rows: Groups; cols: Groups } {
  const group = (names: readonly string[]): Groups => (shape.merge === "words" ? wordsOf(names, { run }) : names.map(single));
  let [rows, cols] = [group(tokens), group(keyTokens)];
  if (shape.segments !== "all") {
    const begin = secondSegment(tokens, run);
    const isIn = (letter: string | undefined) => ([first]: Range): boolean => (first >= begin) === (letter === "B");
    rows = rows.filter(isIn(shape.segments[0]));
    cols = cols.filter(isIn(shape.segments[1]));
  }
  const isHidden = ([begin, end]: Range): boolean => {
    const names = keyTokens.slice(begin, end);
    return shape.hide.some((kind) => (kind === "sink" ? begin === 0 : names.every(kind === "special" ? isSpecial : isPunctuation)));
  };
  if (heads.length === 0) return { rows, cols };
  return { rows, cols: cols.filter((range) => !isHidden(range)) };
}

/** The first token of the second of two texts, which follows the first separator. */
function secondSegment(tokens: readonly string[], run: Run | undefined): number {
  const separator = tokens.findIndex((token) => token === "[SEP]" || token === "</s>");
  if (!run?.reading.textPair || separator < 0)
    throw new Error("segments: the text is one, and only two texts of a model that compares them have segments");
  return separator + 1;
}

/** These rows of the map of one head, or of several heads combined. */
async function combined(
  source: MapSource, { combine, heads }: Shape, layer: number, head: number, rows: Range,
): Promise<Raw> {
  if (combine === "none") return rowsOf(source, layer, head, rows);
  if (combine === "norm") return weightedByNorms(source, layer, head, rows);
  const listed = headsOf("heads", heads).filter((one) => one.head < (source.heads[one.layer] ?? 0));
  const all = Array.from({ length: source.heads[layer] ?? 0 }, (_, index) => ({ layer, head: index }));
  const chosen = listed.length > 0 ? listed : all;
  const maps: Raw[] = [];
  for (const one of chosen) maps.push(await rowsOf(source, one.layer, one.head, rows));
  const [first] = maps;
  if (!first) throw new Error(`layer: ${layer} has no heads`);
  const of = combine === "mean"
    ? (cell: number): number => maps.reduce((sum, { values }) => sum + (values[cell] as number), 0) / maps.length
    : (cell: number): number => maps.reduce((most, { values }) => Math.max(most, values[cell] as number), -Infinity);
  return { values: first.values.map((_, cell) => of(cell)), known: first.known };
}

async function rowsOf(source: MapSource, layer: number, head: number, rows: Range): Promise<Raw> {
  const size: Size = [rows[1] - rows[0], source.keyTokens.length];
  const { values, known: isKnown } = await source.part(layer, head, { rows, cols: [0, size[1]] }, size);
  return { values, known: isKnown };
}

/** Weights times the norms of the values that they carry, the largest of which counts as 1 (Kobayashi et al. 2020). */
async function weightedByNorms(source: MapSource, layer: number, head: number, rows: Range): Promise<Raw> {
  const { run, keyTokens } = source;
  if (run?.shown !== "decoder") throw new Error("combine: norms need the values of a model's own attention");
  const values = await (await run.explained()).values(layer);
  const [groups = 1, , width = 1] = values.shape;
  const group = Math.floor((head * groups) / (source.heads[layer] ?? 1));
  const length = keyTokens.length * width;
  const own = { data: values.data.subarray(group * length, (group + 1) * length), shape: [1, keyTokens.length, width] };
  const { values: weights } = await rowsOf(source, layer, head, rows);
  const map = await run.engine.weightedMap({ data: weights, shape: [1, rows[1] - rows[0], keyTokens.length] }, own);
  return { values: map.data, known: undefined };
}

/** Merges cells: the keys of a word get their sum, and its queries their mean (Clark et al. 2019). */
function grouped({ values, known: isKnown }: Raw, rows: Groups, cols: Groups, width: number): Raw {
  const numbers = new Float32Array(rows.length * cols.length);
  const found = isKnown && new Uint8Array(numbers.length);
  rows.forEach(([top, bottom], row) => {
    cols.forEach(([left, right], col) => {
      let [sum, any] = [0, 0];
      for (let y = top; y < bottom; y++)
        for (let x = left; x < right; x++) {
          sum += values[y * width + x] as number;
          any |= isKnown?.[y * width + x] ?? 1;
        }
      numbers[row * cols.length + col] = sum / (bottom - top);
      if (found) found[row * cols.length + col] = any;
    });
  });
  return { values: numbers, known: found };
}

/** Leaves out weights that are too small, or not among the largest of their row. */
function leftOut(map: WholeMap, { threshold, topK }: Shape): WholeMap {
  if (threshold === 0 && topK === 0) return map;
  const { values, size: [rows, cols] } = map;
  const shown = map.known?.slice() ?? new Uint8Array(values.length).fill(1);
  for (let row = 0; row < rows; row++) {
    const weights = values.subarray(row * cols, (row + 1) * cols);
    const least = topK > 0 ? Math.max(threshold, weights.slice().sort().at(-Math.min(topK, cols)) ?? 0) : threshold;
    weights.forEach((weight, col) => weight < least && (shown[row * cols + col] = 0));
  }
  return { ...map, known: shown };
}
