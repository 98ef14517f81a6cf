// SPDX-License-Identifier: Apache-2.0
/**
 * The maps that the views draw, behind one interface: those of a model that reads a text, or arrays that were computed
 * elsewhere.
 */
import type { AsyncEngine, AsyncModel, ColorOptions, Image, Tensor, TensorLike } from "headlens";
import type { Lease } from "./engine.js";
import { formatValue } from "./format.js";
import { tokenName } from "./tokens.js";

/** The range of values that a picture's colours represent. */
export interface Range {
  readonly colormap: NonNullable<ColorOptions["colormap"]>;
  readonly min: number;
  readonly max: number;
}

export type Theme = "light" | "dark";

export interface Maps {
  /** The names of the rows (queries) and of the columns (keys). */
  readonly tokens: readonly string[];
  readonly keyTokens: readonly string[];
  /** The number of tokens of the whole text. It exceeds `tokens` when only the beginning was read. */
  readonly tokenCount: number;
  readonly layers: number;
  readonly heads: number;
  readonly range: Range;
  /** The values of one head, [queries, keys]. */
  map(layer: number, head: number): Promise<Tensor>;
  /** The colours of one head, one pixel per cell. Masked cells are transparent. */
  pixels(layer: number, head: number, theme: Theme): Promise<Image>;
  /** The colours of all heads, as [layer][head]. */
  allPixels(theme: Theme): Promise<Image[][]>;
  release(): void;
}

/** The maps of a model that reads a text. Takes over the lease. */
export function modelMaps(model: AsyncModel, { attention, release }: Lease): Maps {
  const range: Range = { colormap: "sequential", min: 0, max: 1 };
  return {
    tokens: attention.tokens,
    keyTokens: attention.tokens,
    tokenCount: attention.tokenCount,
    layers: model.info.layers,
    heads: model.info.heads,
    range,
    map: (layer, head) => attention.map(layer, head),
    // The attention knows whether its model is causal, so it needs no `causal` here.
    pixels: (layer, head, theme) => attention.pixels(layer, head, { ...range, theme }),
    allPixels: (theme) => attention.allPixels({ ...range, theme }),
    release,
  };
}

export interface GivenArrays {
  /** [T,S], [H,T,S] or [L,H,T,S]; NaN cells are masked. */
  weights: TensorLike;
  tokens: readonly string[] | undefined;
  keyTokens: readonly string[] | undefined;
  /** Masks the cells above the diagonal. */
  causal: boolean;
}

const showShape = (shape: readonly number[]): string => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

/** The maps of arrays that were computed elsewhere. Throws an Error that says which shape does not fit. */
export function arrayMaps(engine: AsyncEngine, given: GivenArrays): Maps {
  const shape = "shape" in given.weights ? given.weights.shape : given.weights.dims;
  const rank = shape.length;
  if (rank < 2 || rank > 4)
    throw new Error(`weights has shape ${showShape(shape)}, expected (T, S), (H, T, S) or (L, H, T, S)`);
  const [layers = 1, heads = 1, rows = 0, cols = 0] = [...Array<number>(4 - rank).fill(1), ...shape];
  const { data } = given.weights;
  const values = ArrayBuffer.isView(data) ? new Float32Array(data) : Float32Array.from(data, Number);
  if (values.length !== layers * heads * rows * cols)
    throw new Error(`weights: ${values.length} values do not fill the shape ${showShape(shape)}`);
  if (values.length === 0) throw new Error(`weights has shape ${showShape(shape)}, expected at least one element`);
  const tokens = named("tokens", given.tokens, rows);
  const keyTokens = named("keyTokens", given.keyTokens ?? (rows === cols ? given.tokens : undefined), cols);
  const range = rangeOf(values);
  const map = (layer: number, head: number): Tensor => {
    const begin = (layer * heads + head) * rows * cols;
    return { data: values.slice(begin, begin + rows * cols), shape: [rows, cols] };
  };
  const pixels = (layer: number, head: number, theme: Theme): Promise<Image> =>
    engine.colorize(map(layer, head), { ...range, theme, causal: given.causal });
  const rowPixels = (layer: number, theme: Theme): Promise<Image[]> =>
    Promise.all(Array.from({ length: heads }, (_, head) => pixels(layer, head, theme)));
  return {
    tokens,
    keyTokens,
    tokenCount: tokens.length,
    layers,
    heads,
    range,
    map: (layer, head) => Promise.resolve(map(layer, head)),
    pixels,
    allPixels: (theme) => Promise.all(Array.from({ length: layers }, (_, layer) => rowPixels(layer, theme))),
    release: () => undefined,
  };
}

function named(what: string, names: readonly string[] | undefined, count: number): readonly string[] {
  if (names && names.length !== count)
    throw new Error(`${what}: ${names.length} names for ${count} ${what === "tokens" ? "rows" : "columns"}`);
  return names ?? Array.from({ length: count }, (_, index) => String(index));
}

/**
 * The range for these values. It is 0 to 1 for weights, wider for larger values, and symmetric around 0 when some are
 * negative.
 */
function rangeOf(values: Float32Array): Range {
  let min = 0;
  let max = 0;
  for (const value of values) {
    if (value < min && value !== -Infinity) min = value;
    if (value > max && value !== Infinity) max = value;
  }
  if (min === 0) return { colormap: "sequential", min: 0, max: max <= 1 ? 1 : max };
  const bound = Math.max(-min, max);
  return { colormap: "diverging", min: -bound, max: bound };
}

/** One head that is ready to draw. */
export interface HeadPicture {
  readonly layer: number;
  readonly head: number;
  readonly matrix: Tensor;
  readonly image: Image;
}

export const isMasked = (image: Image, row: number, col: number): boolean =>
  image.data[(row * image.width + col) * 4 + 3] === 0;

/** A sentence about the strongest link among the queries that have a choice of keys. */
export function strongestLink(maps: Maps, matrix: Tensor, image: Image): string {
  const { width: cols, height: rows } = image;
  let best = { value: -Infinity, row: 0, col: 0 };
  for (let row = 0; row < rows; row++) {
    let choices = 0;
    let top = { value: -Infinity, row, col: 0 };
    for (let col = 0; col < cols; col++) {
      if (isMasked(image, row, col)) continue;
      choices++;
      const value = matrix.data[row * cols + col] ?? NaN;
      if (value > top.value) top = { value, row, col };
    }
    if (top.value > best.value && (choices > 1 || rows === 1)) best = top;
  }
  if (best.value === -Infinity) return "every key is masked";
  const { tokens, keyTokens, range } = maps;
  const share = range.max === 1 && range.min === 0 ? `${(best.value * 100).toFixed(0)} %` : formatValue(best.value);
  return `strongest link ${tokenName(tokens[best.row] ?? "")} to ${tokenName(keyTokens[best.col] ?? "")} ${share}`;
}
