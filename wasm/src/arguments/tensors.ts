// SPDX-License-Identifier: Apache-2.0
/** The caller's tensors and arrays are looked at here, whatever they say of themselves. Inputs are made of them in inputs.ts. */
import { reading, show, wrong } from "../module/failures.js";
import type { NumberArray } from "../module/module.js";
import { HeadlensError } from "../types/errors.js";
import type { TensorLike } from "../types/index.js";

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
  // oxlint-disable-next-line typescript/unbound-method -- what it is called on is given below
  const get = accessor?.get as () => T;
  return (array) => Reflect.apply(get, array, kNone) as T; // this is the quickest way of all
}
export const tagOf = intrinsic<string | undefined>(Symbol.toStringTag);
export const bufferOf = intrinsic<ArrayBufferLike>("buffer");
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
export function viewOf<T extends NumberArray | Bytes>(array: ArrayBufferView, tag: string, length: number): T {
  const Own = kMakers[tag] as Maker;
  // Of a detached buffer, whose arrays have the length 0, there are no views.
  return (length === 0 ? new Own(new ArrayBuffer(0)) : new Own(bufferOf(array), offsetOf(array), length)) as T;
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
export function kindOf(data: unknown): string {
  if (Array.isArray(data)) return `array of ${typeof data[0]}`;
  if (ArrayBuffer.isView(data)) return tagOf(data) ?? "DataView";
  return data === null ? "null" : typeof data;
}

export const kTensor = "a tensor { data, shape }";

function gone(label: string, length: number, before: number): HeadlensError {
  const message = `${label}.data had ${before} values, and ${length} when it was to be copied: its buffer was moved or resized meanwhile`;
  return new HeadlensError("dtype", message, { argument: `${label}.data`, got: `${length} values`, expected: `${before} values` });
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

// oxlint-disable-next-line typescript/unbound-method -- what it is called on is given below
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
