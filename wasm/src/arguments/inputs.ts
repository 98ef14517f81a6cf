// SPDX-License-Identifier: Apache-2.0
/** The caller's tensors become inputs of the wasm module. Every claim about data and shape is checked here, before anything is copied. */
import { reading, show, showShape, wrong } from "../module/failures.js";
import type { NumberArray, RawInput } from "../module/module.js";
import type { TensorLike } from "../types/index.js";
import { isExact, sizeOf } from "./sizes.js";
import { bufferOf, isTensorLike, kindOf, kTensor, lengthOf, tagOf, viewOf } from "./tensors.js";

/**
 * The module is given typed arrays, which may be the caller's. Copying one (`set`) and reading its elements runs no code of the page's.
 * Reading its properties may, so that `lengthOf` tells its length.
 */
export interface Input extends RawInput {
  /** The name that messages give it, and the number of elements that it had when it was read. */
  readonly label: string;
  readonly length: number;
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
