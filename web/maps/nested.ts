// SPDX-License-Identifier: Apache-2.0
/** Numbers as nested lists, of which a tensor is made: `[[0.9, 0.1], [0.3, 0.7]]` has the shape (2, 2). */
import type { TensorLike } from "headlens";

type NumberRow = readonly (number | boolean | null)[] | Float32Array | Float64Array | Int32Array | Uint8Array;

/**
 * Lists of lists of numbers, which have one length at each depth. The innermost may be typed arrays. `null` stands for NaN, and in a mask
 * `true` and `false` for 1 and 0.
 */
export type NestedNumbers = NumberRow | readonly NestedNumbers[];

/** A tensor or nested lists. */
export type Numbers = TensorLike | NestedNumbers;

/** Weights of all layers, or a list with one tensor for each layer. */
export type Weights = Numbers | readonly TensorLike[];

/** The most axes that anything has here: layers, batch, heads, queries and keys. */
const kMostAxes = 5;

export const showShape = (shape: readonly number[]): string => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

const isList = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));

/** The lengths of the first lists at each depth. */
function lengthsOf(name: string, value: unknown): number[] {
  const shape: number[] = [];
  for (let part = value; isList(part); part = part[0]) {
    if (shape.push(part.length) > kMostAxes) throw new Error(`${name} is nested deeper than ${kMostAxes} lists, expected numbers there`);
  }
  return shape;
}

/** Calls `visit` with each innermost list. Throws an Error that names the list that has another length than the first. */
function eachRow(
  name: string, part: unknown, [count = 0, ...inner]: readonly number[],
  visit: (row: ArrayLike<unknown>, name: string) => void,
): void {
  const what = inner.length > 0 ? "lists" : "numbers";
  if (!isList(part)) throw new Error(`${name} is of the type ${typeof part}, expected ${count} ${what}`);
  if (part.length !== count) throw new Error(`${name} has ${part.length} ${what}, expected ${count}`);
  if (inner.length === 0) return visit(part, name);
  for (let i = 0; i < count; i++) eachRow(`${name}[${i}]`, part[i], inner, visit);
}

function numberOf(place: string, value: unknown): number {
  if (value === null) return NaN;
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  throw new Error(`${place} is ${isList(value) ? "a list" : `of the type ${typeof value}`}, expected a number`);
}

const isTensor = (value: unknown): value is TensorLike =>
  typeof value === "object" && value !== null && "data" in value && ("shape" in value || "dims" in value);

/** Makes a tensor of nested lists, or returns the tensor that it is given. Throws an Error that names the place of a fault. */
export function tensorOf(name: string, numbers: Numbers): TensorLike {
  if (isTensor(numbers)) return numbers;
  if (!isList(numbers)) throw new Error(`${name} is of the type ${typeof numbers}, expected { data, shape } or nested lists of numbers`);
  const shape = lengthsOf(name, numbers);
  eachRow(name, numbers, shape, () => undefined); // memory is taken for what is there only
  const data = new Float32Array(shape.reduce((product, length) => product * length, 1));
  let at = 0;
  eachRow(name, numbers, shape, (row, place) => {
    for (let i = 0; i < row.length; i++) data[at++] = typeof row[i] === "number" ? (row[i] as number) : numberOf(`${place}[${i}]`, row[i]);
  });
  return { data, shape };
}
