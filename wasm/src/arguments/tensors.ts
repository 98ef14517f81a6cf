// SPDX-License-Identifier: Apache-2.0
/** The caller's tensors become inputs of the wasm module. Every claim about data and shape is checked here, before anything is copied. */
import { reading, show, showShape, wrong } from "../module/failures.js";
import type { NumberArray, RawInput } from "../module/module.js";
import { HeadlensError } from "../types/errors.js";
import type { TensorLike } from "../types/index.js";

/**
 * The module is given typed arrays, which may be the caller's. Copying one (`set`) and reading its elements runs no code of the page's.
 * Reading its properties may, so that `lengthOf` tells its length.
 */
export interface Input extends RawInput {
  /** The name that messages give it, and the number of elements that it had when it was read. */
  readonly label: string;
  readonly length: number;
}

export function isTensorLike(value: unknown): value is TensorLike {
  return typeof value === "object" && value !== null && "data" in value && ("shape" in value || "dims" in value);
}

/**
 * These tell what a typed array is, whatever it says of itself through properties or a class of its own. The tag is "Float32Array" for such
 * an array, and undefined for a DataView. That holds across realms, where instanceof does not.
 */
const kNone: readonly unknown[] = [];
function intrinsic<T>(name: PropertyKey): (array: ArrayBufferView) => T {
  const accessor = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), name);
  // eslint-disable-next-line @typescript-eslint/unbound-method -- what it is called on is given below
  const get = accessor?.get as () => T;
  return (array) => Reflect.apply(get, array, kNone) as T; // this is the quickest way of all
}
const tagOf = intrinsic<string | undefined>(Symbol.toStringTag);
const bufferOf = intrinsic<ArrayBufferLike>("buffer");
const offsetOf = intrinsic<number>("byteOffset");
export const lengthOf = intrinsic<number>("length");

export type Bytes = Uint8Array | Uint8ClampedArray;

type Maker = new (buffer: ArrayBufferLike, byteOffset?: number, length?: number) => NumberArray | Bytes;
const kMakers: Readonly<Record<string, Maker>> = {
  Float32Array, Float64Array, Int32Array, Uint8Array, Uint8ClampedArray,
};

/**
 * Returns a view of our own of the same elements. It has none any more when its buffer is moved away or shrinks below them. `tag` and
 * `length` are the array's.
 */
function viewOf<T extends NumberArray | Bytes>(array: ArrayBufferView, tag: string, length: number): T {
  const Own = kMakers[tag] as Maker;
  // Of a detached buffer, whose arrays have the length 0, there are no views.
  return (length === 0 ? new Own(new ArrayBuffer(0)) : new Own(bufferOf(array), offsetOf(array), length)) as T;
}

/** Returns true when arrays of the buffer may become longer: one without a length of its own follows the buffer's. */
function canResize(buffer: ArrayBufferLike): boolean {
  const { resizable, growable } = buffer as { readonly resizable?: boolean; readonly growable?: boolean };
  return resizable === true || growable === true;
}

/** Returns the input with a view of our own, for code that looks at the properties of its data, too. */
export function withOwnView(input: Input): Input {
  return { ...input, data: viewOf<NumberArray>(input.data, tagOf(input.data) as string, input.length) };
}

/** Returns a view of our own of a picture's or a file's bytes, and undefined for anything else. */
export function bytesOf(data: unknown): Bytes | undefined {
  const tag = ArrayBuffer.isView(data) ? tagOf(data) : undefined;
  const isBytes = tag === "Uint8Array" || tag === "Uint8ClampedArray";
  return isBytes ? viewOf(data as Uint8Array, tag, lengthOf(data as Uint8Array)) : undefined;
}

/** Returns the bytes of a file that is given as an ArrayBuffer or a Uint8Array; undefined of anything else. */
export function fileBytesOf(given: unknown): Bytes | undefined {
  const isBuffer = /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(given));
  return isBuffer ? new Uint8Array(given as ArrayBuffer) : bytesOf(given);
}

/** Returns the kind as messages name it: "Float32Array", "array of number", … */
function kindOf(data: unknown): string {
  if (Array.isArray(data)) return `array of ${typeof data[0]}`;
  if (ArrayBuffer.isView(data)) return tagOf(data) ?? "DataView";
  return data === null ? "null" : typeof data;
}

export const kTensor = "a tensor { data, shape }";

function shapeOf(name: string, tensor: { readonly shape?: unknown; readonly dims?: unknown }): number[] {
  const shape: unknown = "shape" in tensor ? tensor.shape : tensor.dims;
  if (!Array.isArray(shape)) throw wrong("shape", `${name}.shape`, show(shape), "an array of numbers");
  const sizes: number[] = [];
  for (const size of shape as unknown[]) {
    if (!Number.isSafeInteger(size) || (size as number) < 0) {
      throw wrong("shape", `${name}.shape`, showShape(shape), "whole numbers from 0 up");
    }
    sizes.push(size as number);
  }
  return sizes;
}

/** Returns the number of elements. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (const n of shape) size *= n;
  return size;
}

/** Returns true when the number of elements is exact, each size of 0 counted as 1: doubles round larger numbers. */
export function isExact(shape: readonly number[]): boolean {
  let size = 1;
  for (const n of shape) size *= n || 1;
  return Number.isSafeInteger(size);
}

function checkExact(name: string, shape: readonly number[]): void {
  if (isExact(shape)) return;
  throw wrong("memory", name, showShape(shape), "a product below 2^53, each 0 counted as 1", "has shape");
}

const kFloatKinds = ["Float32Array", "Float64Array", "Int32Array", "array of number"];
const kBooleanKinds = ["Uint8Array", "array of boolean"];
const kIntegerKinds = ["Int32Array", "array of number"];

interface Checked {
  readonly kind: string;
  readonly shape: number[];
  readonly data: NumberArray;
  readonly length: number;
}

function gone(label: string, length: number, before: number): HeadlensError {
  const message = `${label}.data had ${before} values, and ${length} when it was to be copied: its buffer was moved or resized meanwhile`;
  return new HeadlensError("dtype", message, { argument: `${label}.data`, got: `${length} values`, expected: `${before} values` });
}

/** Checks a tensor. `kinds` ends with a kind of plain arrays, which is the kind of an empty one. */
function checked(name: string, tensor: unknown, kinds: readonly string[]): Checked {
  return reading(name, () => {
    if (!isTensorLike(tensor)) throw wrong("dtype", name, show(tensor), kTensor);
    const shape = shapeOf(name, tensor);
    const data: unknown = tensor.data;
    const isEmptyList = Array.isArray(data) && data.length === 0;
    const kind = isEmptyList ? kinds.at(-1) as string : kindOf(data);
    if (!kinds.includes(kind)) throw wrong("dtype", `${name}.data`, kind, kinds.join(", "));
    const size = sizeOf(shape);
    if (size === 0 || !Number.isSafeInteger(size)) checkExact(name, shape);
    const isView = ArrayBuffer.isView(data);
    const length = isView ? lengthOf(data) : (data as readonly unknown[]).length;
    if (size !== length) {
      throw wrong("shape", `${name}.data`, `${length} values`, `${size} for shape ${showShape(shape)}`, "has");
    }
    if (!isView) return { kind, shape, length, data: copyOf(name, data as readonly unknown[], size, kind) };
    return { kind, shape, length, data: canResize(bufferOf(data)) ? viewOf(data, kind, length) : data as NumberArray };
  });
}

/**
 * Copies a plain array, which may be a proxy, so that each element is read once. Typed arrays convert anything with Number(), silently,
 * but a stray string or undefined must not become a number.
 */
function copyOf(name: string, data: readonly unknown[], size: number, kind: string): NumberArray {
  const type = kind === "array of boolean" ? "boolean" : "number";
  const own = type === "boolean" ? new Uint8Array(size) : new Float64Array(size);
  for (let i = 0; i < size; ++i) {
    const value = data[i];
    if (typeof value !== type) throw wrong("dtype", `${name}.data[${i}]`, show(value), `a ${type} like data[0]`);
    own[i] = value as number; // true becomes 1
  }
  return own;
}

/** This is an array that will be copied, with the number of elements that it had when it was read. */
export interface Seen {
  readonly label: string;
  readonly data: ArrayBufferView;
  readonly length: number;
}

/**
 * Throws unless all data are still there: other arguments' getters may have moved or resized their buffers since they were read. It has to
 * be called right before they are copied, when the last of the page's code has run.
 */
export function expectThere(all: readonly Seen[]): void {
  for (const { label, data, length } of all) {
    const now = lengthOf(data);
    if (now !== length) throw gone(label, now, length);
  }
}

export function floats(name: string, tensor: TensorLike): Input {
  const { shape, data, length } = checked(name, tensor, kFloatKinds);
  return { name, label: name, dtype: "f32", shape, data, length };
}

export function booleans(name: string, tensor: TensorLike): Input {
  const { shape, data, length } = checked(name, tensor, kBooleanKinds);
  return { name, label: name, dtype: "u8", shape, data, length };
}

/** Reads a mask. Its data decide what it does: booleans or bytes select cells, numbers are added to the scores. */
export function mask(name: string, tensor: TensorLike): Input {
  const kinds = [...kFloatKinds.filter((k) => k !== "Int32Array"), ...kBooleanKinds];
  const { kind, shape, data, length } = checked(name, tensor, kinds);
  return { name, label: name, dtype: kBooleanKinds.includes(kind) ? "u8" : "f32", shape, data, length };
}

function wholeNumbers(name: string, tensor: TensorLike, least: number, expected: string): Input {
  const { shape, data, length } = checked(name, tensor, kIntegerKinds);
  for (let i = 0; i < length; ++i) {
    const value = data[i] as number;
    if (!Number.isInteger(value) || value < least || value > 0x7fffffff) {
      throw wrong("value", `${name}.data[${i}]`, String(value), expected);
    }
  }
  return { name, label: name, dtype: "i32", shape, data, length };
}

/** Reads sizes or ids. */
export function lengths(name: string, tensor: TensorLike): Input {
  return wholeNumbers(name, tensor, 0, "a whole number from 0 up");
}

export function integers(name: string, tensor: TensorLike): Input {
  return wholeNumbers(name, tensor, -0x80000000, "a whole number of 32 bits");
}

/** Returns the tensors of a state dict by their names. It is an object, or a Map or another iterable of pairs. */
export function entriesOf(name: string, state: unknown): [name: string, tensor: TensorLike][] {
  if (typeof state !== "object" || state === null) {
    throw wrong("dtype", name, show(state), "an object of tensors, or a Map");
  }
  return reading(name, () => {
    if (!(Symbol.iterator in state)) return Object.entries(state) as [string, TensorLike][];
    const names = new Set<string>();
    return Array.from(state as Iterable<unknown>, (entry) => {
      const [key, tensor] = Array.isArray(entry) ? entry as unknown[] : [];
      if (typeof key !== "string") throw wrong("dtype", name, show(entry), "pairs of a name and a tensor", "holds");
      if (names.has(key)) throw wrong("value", name, `${show(key)} twice`, "each name once", "has");
      names.add(key);
      return [key, tensor as TensorLike];
    });
  });
}

/** One result has its place here. */
export interface Output {
  /** The array is the caller's own, and the result holds it then. */
  readonly array: Float32Array;
  /** The number of elements that it had when it was read. */
  readonly length: number;
}

/** Returns a view of our own of its elements. */
export function viewOfOutput({ array, length }: Output): Float32Array {
  return viewOf<Float32Array>(array, "Float32Array", length);
}

// eslint-disable-next-line @typescript-eslint/unbound-method -- what it is called on is given below
const set = Float32Array.prototype.set;

/** Writes a result, whatever methods the array has of its own. */
export function write(values: Float32Array, { array }: Output): void {
  set.call(array, values);
}

/** Places go by the results' names. */
export type Outputs = ReadonlyMap<string, Output>;

/** Returns the arrays of the option `out`, which are the caller's own and no copies. */
export function outputs(out: unknown): Outputs {
  if (Object.prototype.toString.call(out) !== "[object Object]") {
    throw wrong("option", "out", show(out), "an object of tensors, such as an earlier result");
  }
  const arrays = new Map<string, Output>();
  for (const [name, tensor] of Object.entries(out as object) as [string, unknown][]) {
    if (tensor === undefined || tensor === null) continue;
    if (!isTensorLike(tensor)) throw wrong("dtype", `out.${name}`, show(tensor), kTensor);
    const data: unknown = tensor.data;
    const kind = kindOf(data);
    if (kind !== "Float32Array") throw wrong("dtype", `out.${name}.data`, kind, "Float32Array");
    const output = { array: data as Float32Array, length: lengthOf(data as Float32Array) };
    for (const [other, earlier] of arrays) {
      if (overlap(earlier, output)) {
        throw wrong("value", `out.${name}`, `memory with out.${other}`, "memory of its own", "shares");
      }
    }
    arrays.set(name, output);
  }
  return arrays;
}

/** Throws unless all arrays of `out` are as long as when they were read, as `expectThere` has it. */
export function expectOutThere(out: Outputs): void {
  for (const [name, { array, length }] of out) {
    const now = lengthOf(array);
    if (now !== length) throw gone(`out.${name}`, now, length);
  }
}

function overlap(a: Output, b: Output): boolean {
  const end = ({ array, length }: Output): number => offsetOf(array) + length * Float32Array.BYTES_PER_ELEMENT;
  return bufferOf(a.array) === bufferOf(b.array) && end(a) > offsetOf(b.array) && end(b) > offsetOf(a.array);
}

/**
 * Returns the tensor as a plain object that structured cloning keeps whole, and that drags no larger buffer along. Its data are added to
 * `seen`: they have to be there still when the object is cloned.
 */
export function plain(label: string, tensor: TensorLike, seen: Seen[]): TensorLike {
  const data: unknown = tensor.data;
  const shape: unknown = "shape" in tensor ? tensor.shape : tensor.dims;
  const tag = (ArrayBuffer.isView(data) ? tagOf(data) : undefined) ?? "";
  if (!Object.hasOwn(kMakers, tag)) return { data, shape } as TensorLike;
  const view = viewOf(data as NumberArray, tag, lengthOf(data as NumberArray));
  const sent = isPart(view) ? view.slice() : view;
  seen.push({ label, data: sent, length: sent.length });
  return { data: sent, shape } as TensorLike;
}

/** Returns true when a buffer can move to another thread, also for one of another realm. A shared buffer is there already. */
export function canMove(buffer: ArrayBufferLike): buffer is ArrayBuffer {
  return Object.prototype.toString.call(buffer) === "[object ArrayBuffer]";
}

/** Returns true when its buffer holds more than the array. */
export function isPart({ byteLength, buffer }: ArrayBufferView): boolean {
  return byteLength !== buffer.byteLength;
}
