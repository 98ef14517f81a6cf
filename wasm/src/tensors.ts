// SPDX-License-Identifier: Apache-2.0
/** From the caller's tensors to inputs of the wasm module: every claim about data and shape is checked here, before anything is copied. */
import { HeadlensError } from "./errors.js";
import { reading, show } from "./failures.js";
import type { NumberArray, RawInput } from "./module.js";
import type { TensorLike } from "./types.js";

export type Input = RawInput;

export function isTensorLike(value: unknown): value is TensorLike {
  return typeof value === "object" && value !== null && "data" in value && ("shape" in value || "dims" in value);
}

/** What makes "Float32Array" of such an array, and undefined of a DataView: across realms, where instanceof does not. */
const kTypedArrayTag =
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);

/** "Float32Array", "array of number", … */
function kindOf(data: unknown): string {
  if (Array.isArray(data)) return data.length === 0 ? "array of number" : `array of ${typeof data[0]}`;
  if (ArrayBuffer.isView(data)) return (kTypedArrayTag?.get?.call(data) as string | undefined) ?? "DataView";
  return data === null ? "null" : typeof data;
}

function shapeOf(name: string, tensor: TensorLike): number[] {
  const shape: unknown = "shape" in tensor ? tensor.shape : tensor.dims;
  if (!Array.isArray(shape)) throw new HeadlensError("shape", `${name}: shape is ${show(shape)}, expected an array of numbers`);
  const sizes: number[] = [];
  for (const size of shape as unknown[]) {
    if (!Number.isSafeInteger(size) || (size as number) < 0) {
      throw new HeadlensError("shape", `${name}: shape ${show(shape)} holds ${show(size)}, expected whole numbers from 0 up`);
    }
    sizes.push(size as number);
  }
  return sizes;
}

const kFloatKinds = ["Float32Array", "Float64Array", "Int32Array", "array of number"];
const kBooleanKinds = ["Uint8Array", "array of boolean"];
const kIntegerKinds = ["Int32Array", "array of number"];

interface Checked {
  readonly kind: string;
  readonly shape: number[];
  readonly data: NumberArray;
}

/** Typed arrays stay; a plain one becomes one of its kind, with the numbers as they are. */
function checked(name: string, tensor: unknown, kinds: readonly string[]): Checked {
  return reading(name, () => {
    if (!isTensorLike(tensor)) throw new HeadlensError("dtype", `${name} is ${show(tensor)}, expected a tensor { data, shape }`);
    const { data } = tensor;
    const kind = kindOf(data);
    if (!kinds.includes(kind)) throw new HeadlensError("dtype", `${name}: data is ${kind}, expected ${kinds.join(", ")}`);
    const shape = shapeOf(name, tensor);
    const size = shape.reduce((product, n) => product * n, 1);
    if (size !== data.length) {
      throw new HeadlensError("shape", `${name}: data has ${data.length} values, but shape ${show(shape)} has ${size}`);
    }
    if (ArrayBuffer.isView(data)) return { kind, shape, data };
    checkElements(name, data);
    const own = typeof data[0] === "boolean" ? new Uint8Array(size) : new Float64Array(size);
    own.set(data as readonly number[]); // true is 1
    return { kind, shape, data: own };
  });
}

/** Typed arrays convert anything with Number(), silently: a stray string or undefined must not become a number. */
function checkElements(name: string, data: readonly unknown[]): void {
  const type = typeof data[0];
  const at = data.findIndex((value) => typeof value !== type);
  if (at >= 0) throw new HeadlensError("dtype", `${name}: data[${at}] is ${show(data[at])}, expected a ${type} like data[0]`);
}

export function floats(name: string, tensor: TensorLike): Input {
  const { shape, data } = checked(name, tensor, kFloatKinds);
  return { name, dtype: "f32", shape, data };
}

export function booleans(name: string, tensor: TensorLike): Input {
  const { shape, data } = checked(name, tensor, kBooleanKinds);
  return { name, dtype: "u8", shape, data };
}

/** A mask by its data: booleans or bytes say which cells, numbers are added to the scores. */
export function mask(name: string, tensor: TensorLike): Input {
  const kinds = [...kFloatKinds.filter((k) => k !== "Int32Array"), ...kBooleanKinds];
  const { kind, shape, data } = checked(name, tensor, kinds);
  return { name, dtype: kBooleanKinds.includes(kind) ? "u8" : "f32", shape, data };
}

function wholeNumbers(name: string, tensor: TensorLike, least: number, expected: string): Input {
  const { shape, data } = checked(name, tensor, kIntegerKinds);
  for (let i = 0; i < data.length; ++i) {
    const value = data[i] as number;
    if (!Number.isInteger(value) || value < least || value > 0x7fffffff) {
      throw new HeadlensError("value", `${name}: data[${i}] is ${value}, expected ${expected}`);
    }
  }
  return { name, dtype: "i32", shape, data };
}

/** Sizes and ids. */
export function lengths(name: string, tensor: TensorLike): Input {
  return wholeNumbers(name, tensor, 0, "a whole number from 0 up");
}

export function integers(name: string, tensor: TensorLike): Input {
  return wholeNumbers(name, tensor, -0x80000000, "a whole number of 32 bits");
}

/** Where results are to go, by their names. */
export type Outputs = ReadonlyMap<string, Float32Array>;

/** The arrays of the option `out`: the caller's own, no copies. */
export function outputs(out: unknown): Outputs {
  if (Object.prototype.toString.call(out) !== "[object Object]") {
    throw new HeadlensError("option", `out is ${show(out)}, expected an object of tensors, such as an earlier result`);
  }
  const arrays = new Map<string, Float32Array>();
  for (const [name, tensor] of Object.entries(out as object) as [string, unknown][]) {
    if (tensor === undefined) continue;
    if (!isTensorLike(tensor)) throw new HeadlensError("dtype", `out.${name} is ${show(tensor)}, expected a tensor { data, shape }`);
    const { data } = tensor;
    const kind = kindOf(data);
    if (kind !== "Float32Array") throw new HeadlensError("dtype", `out.${name}: data is ${kind}, expected Float32Array`);
    for (const [other, array] of arrays) {
      if (overlap(array, data as Float32Array)) throw new HeadlensError("value", `out.${other} and out.${name} share memory`);
    }
    arrays.set(name, data as Float32Array);
  }
  return arrays;
}

function overlap(a: Float32Array, b: Float32Array): boolean {
  const isBefore = (x: Float32Array, y: Float32Array): boolean => x.byteOffset + x.byteLength <= y.byteOffset;
  return a.buffer === b.buffer && !isBefore(a, b) && !isBefore(b, a);
}

/** The same tensor as a plain object that structured cloning keeps whole, and that drags no larger buffer along. */
export function plain(tensor: TensorLike): TensorLike {
  const shape = "shape" in tensor ? tensor.shape : tensor.dims;
  const { data } = tensor;
  return { data: ArrayBuffer.isView(data) && isPart(data) ? data.slice() : data, shape };
}

/** Whether a buffer can move to another thread: one that is shared is there already. In words that hold across realms. */
export function canMove(buffer: ArrayBufferLike): buffer is ArrayBuffer {
  return Object.prototype.toString.call(buffer) === "[object ArrayBuffer]";
}

/** Whether its buffer holds more than the array. */
export function isPart({ byteLength, buffer }: ArrayBufferView): boolean {
  return byteLength !== buffer.byteLength;
}
