// SPDX-License-Identifier: Apache-2.0
/** Maps that were computed elsewhere and are given as arrays. They are pooled here, where they are. */
import type { TensorLike } from "headlens";
import { both, causalMask, type CellMask, givenMask, kOpen } from "./mask.js";
import { type Numbers, showShape, tensorOf, type Weights } from "./nested.js";
import { KnownOverviews, type Lease, type MapSource, nextTurn } from "./source.js";
import type { Overview, Part, Picture, Range, Size } from "./source.js";
import { factsOf, pooled, type Values, type WholeMap } from "./whole.js";

export const shapeOf = (tensor: TensorLike): readonly number[] => ("shape" in tensor ? tensor.shape : tensor.dims);

/** The names of an axis, by default its numbers. Throws when there are fewer or more than the axis has. */
export function names(what: string, given: readonly string[] | undefined, count: number): readonly string[] {
  if (given && given.length !== count)
    throw new Error(`${what}: ${given.length} names for ${count} ${what === "tokens" ? "rows" : "columns"}`);
  return given ?? Array.from({ length: count }, (_, index) => String(index));
}

export interface GivenWeights {
  /** [T,S], [H,T,S] or [L,H,T,S], or a list with one tensor [H,T,S] for each layer, whose numbers of heads may differ. */
  readonly weights: Weights;
  /** For each value of one tensor, whether it is known (1) or not (0). By default all are. */
  readonly known?: Uint8Array | undefined;
  readonly tokens: readonly string[] | undefined;
  readonly keyTokens: readonly string[] | undefined;
  /** [T,S], nonzero where a query may look at a key. */
  readonly mask: Numbers | undefined;
  /** Masks the cells above the diagonal. */
  readonly causal: boolean;
}

/** The values of one layer's heads, one after the other. */
interface Layer extends Values {
  readonly heads: number;
}

interface Layers {
  readonly layers: readonly Layer[];
  readonly size: Size;
}

function floatsOf(name: string, tensor: TensorLike, shape: readonly number[]): Float32Array {
  const { data } = tensor;
  const values = data instanceof Float32Array ? data : Float32Array.from(data, Number);
  const count = shape.reduce((product, size) => product * size, 1);
  if (values.length !== count)
    throw new Error(`${name}: ${values.length} values do not fill the shape ${showShape(shape)}`);
  if (count === 0) throw new Error(`${name} has shape ${showShape(shape)}, expected at least one element`);
  return values;
}

function readTensor(
  name: string, numbers: Numbers, ranks: readonly number[],
): { shape: readonly number[]; values: Float32Array } {
  const tensor = tensorOf(name, numbers);
  const shape = shapeOf(tensor);
  const expected = ["(T, S)", "(H, T, S)", "(L, H, T, S)"].filter((_, index) => ranks.includes(index + 2));
  if (!ranks.includes(shape.length)) {
    const words = [expected.slice(0, -1).join(", "), expected.at(-1)].filter(Boolean).join(" or ");
    throw new Error(`${name} has shape ${showShape(shape)}, expected ${words}`);
  }
  return { shape, values: floatsOf(name, tensor, shape) };
}

/** The part with this index of values that are cut into parts of one length. */
function partOf({ values, known }: Values, index: number, length: number): Values {
  const [begin, end] = [index * length, (index + 1) * length];
  return { values: values.subarray(begin, end), known: known?.subarray(begin, end) };
}

/** Reads arrays into layers. Throws an Error that says which shape does not fit. */
function readLayers({ weights, known }: GivenWeights): Layers {
  if (!isList(weights)) {
    const { shape, values } = readTensor("weights", weights, [2, 3, 4]);
    const [layers = 1, heads = 1, rows = 0, cols = 0] = [...Array<number>(4 - shape.length).fill(1), ...shape];
    const length = heads * rows * cols;
    const layer = (_: unknown, index: number): Layer => ({ heads, ...partOf({ values, known }, index, length) });
    return { layers: Array.from({ length: layers }, layer), size: [rows, cols] };
  }
  if (weights.length === 0) throw new Error("weights: an empty list, expected one array (H, T, S) for each layer");
  const read = weights.map((tensor, layer) => readTensor(`weights[${layer}]`, tensor, [3]));
  const [, rows = 0, cols = 0] = read[0]?.shape ?? [];
  const wrong = read.findIndex(({ shape }) => shape[1] !== rows || shape[2] !== cols);
  if (wrong >= 0)
    throw new Error(`weights[${wrong}] has shape ${showShape(read[wrong]?.shape ?? [])}, expected (H, ${rows}, ${cols}) as weights[0] has`);
  const layers = read.map(({ shape, values }): Layer => ({ heads: shape[0] ?? 0, values, known: undefined }));
  return { layers, size: [rows, cols] };
}

/** Tells a list of tensors from nested lists of numbers. */
function isList(weights: Weights): weights is readonly TensorLike[] {
  if (!Array.isArray(weights)) return false;
  const first: unknown = weights[0];
  return weights.length === 0 || (typeof first === "object" && first !== null && "data" in first);
}

/** Reads a mask [T,S]. */
export function readMask(mask: Numbers | undefined, causal: boolean, [rows, cols]: Size): CellMask {
  if (!mask) return causal ? causalMask() : kOpen;
  const tensor = tensorOf("mask", mask);
  const shape = shapeOf(tensor);
  if (shape.length !== 2 || shape[0] !== rows || shape[1] !== cols || tensor.data.length !== rows * cols)
    throw new Error(`mask has shape ${showShape(shape)} and ${tensor.data.length} values, expected (${rows}, ${cols})`);
  const given = givenMask(tensor.data, cols);
  return causal ? both(given, causalMask()) : given;
}

/** The cells that are looked at before the page has its turn. */
const kTurnCells = 1 << 20;

class GivenMaps implements MapSource {
  readonly tokens: readonly string[];
  readonly keyTokens: readonly string[];
  readonly tokenCount: number;
  readonly heads: readonly number[];
  readonly #mask: CellMask;
  readonly #layers: readonly Layer[];
  readonly #size: Size;
  readonly #signed: boolean;
  readonly #known = new KnownOverviews();
  #fixedMost: number | undefined;
  /** The largest magnitudes of the heads that were looked at. */
  readonly #largest = new Map<string, number>();
  #cellsOfTurn = 0;

  constructor(given: GivenWeights) {
    const { tokens, keyTokens, mask, causal } = given;
    const { layers, size } = readLayers(given);
    const [rows, cols] = size;
    this.#layers = layers;
    this.#size = size;
    this.heads = layers.map(({ heads }) => heads);
    this.tokens = names("tokens", tokens, rows);
    this.keyTokens = names("keyTokens", keyTokens ?? (rows === cols ? tokens : undefined), cols);
    this.tokenCount = this.tokens.length;
    this.#mask = readMask(mask, causal, size);
    this.#signed = layers.some(({ values }) => hasNegative(values));
  }

  maskOf(): CellMask {
    return this.#mask;
  }

  get fixedMost(): number {
    const ofLayer = (count: number, layer: number): number[] =>
      Array.from({ length: count }, (_, head) => this.#largestOf(layer, head));
    return (this.#fixedMost ??= Math.max(this.#signed ? 0 : 1, ...this.heads.flatMap(ofLayer)));
  }

  async part(layer: number, head: number, part: Part, size: Size): Promise<Picture> {
    await this.#takeTurn((part.rows[1] - part.rows[0]) * (part.cols[1] - part.cols[0]));
    return pooled(this.#headOf(layer, head), part, size);
  }

  async overviews(layer: number, heads: Range, size: Size): Promise<readonly Overview[]> {
    const [rows, cols] = this.#size;
    const overviews: Overview[] = [];
    for (let head = heads[0]; head < heads[1]; head++) {
      await this.#takeTurn(rows * cols);
      const ofHead = this.#headOf(layer, head);
      this.#largestOf(layer, head);
      const whole: Part = { rows: [0, rows], cols: [0, cols] };
      overviews.push({ picture: pooled(ofHead, whole, size), ...factsOf(ofHead) });
    }
    return this.#known.add(layer, heads[0], overviews);
  }

  known(layer: number, head: number): Overview | undefined {
    return this.#known.get(layer, head);
  }

  #headOf(layer: number, head: number): WholeMap {
    const [rows, cols] = this.#size;
    const values = partOf(this.#layers[layer] ?? { values: new Float32Array(), known: undefined }, head, rows * cols);
    return { ...values, size: this.#size, mask: this.#mask, signed: this.#signed };
  }

  #largestOf(layer: number, head: number): number {
    const key = `${layer} ${head}`;
    const known = this.#largest.get(key) ?? largestOf(this.#headOf(layer, head).values);
    this.#largest.set(key, known);
    return known;
  }

  async #takeTurn(cells: number): Promise<void> {
    this.#cellsOfTurn += cells;
    if (this.#cellsOfTurn < kTurnCells) return;
    this.#cellsOfTurn = 0;
    await nextTurn();
  }
}

// Loops over indexes are twelve times as fast here as those over elements.

/** The numbers whose signs are looked at together, a multiple of four. */
const kSigns = 1 << 16;

/** Looks at the signs of many numbers at a time, since nothing is drawn before it is known. */
function hasNegative(values: Float32Array): boolean {
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  for (let begin = 0; begin < bits.length; begin += kSigns) {
    const end = Math.min(begin + kSigns, bits.length);
    let all = 0;
    for (let i = begin; i < end; i += 4) all |= bits[i]! | bits[i + 1]! | bits[i + 2]! | bits[i + 3]!;
    // Zeros and NaN may have the sign, too, and at the end the numbers that follow were looked at.
    if (all < 0 && values.subarray(begin, end).some((value) => value < 0)) return true;
  }
  return false;
}

/** The largest finite magnitude. */
function largestOf(values: Float32Array): number {
  let [most, i] = [0, 0];
  while (i < values.length) {
    const magnitude = Math.abs(values[i++] as number);
    if (magnitude > most && magnitude !== Infinity) most = magnitude;
  }
  return most;
}

/** The maps of arrays that were computed elsewhere, which are borrowed. Throws an Error that says which shape does not fit. */
export const givenMaps = (given: GivenWeights): Lease => ({ maps: new GivenMaps(given), release: () => undefined });
