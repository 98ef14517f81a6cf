// SPDX-License-Identifier: Apache-2.0
/** Reads arrays of NumPy: `.npy` files of versions 1 to 3, also those inside of an `.npz`. */
import type { Given } from "./given-maps.js";
import { countOf, show } from "./limits.js";
import { readNumbers, typeInWords } from "./numbers.js";
import { type StoredArray, storedMaps } from "./stored.js";

const kMagic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // "\x93NUMPY"

/** NumPy's name of a type, such as "<f4", as safetensors has it; undefined for what is not little-endian numbers. */
function dtypeOf(type: string): string | undefined {
  const [, letter, bytes] = /^[<=|]([fiub])([1248])$/.exec(type) ?? [];
  if (letter === undefined) return undefined;
  return letter === "b" ? "BOOL" : `${letter.toUpperCase()}${8 * Number(bytes)}`;
}

export const isNpy = (bytes: Uint8Array): boolean => kMagic.every((byte, index) => bytes[index] === byte);

interface Header {
  readonly type: string;
  readonly isFortran: boolean;
  readonly shape: readonly number[];
  /** The byte at which the numbers begin. */
  readonly start: number;
}

/** Reads the header, a Python dictionary of which three entries matter. */
function headerOf(file: string, bytes: Uint8Array): Header {
  if (!isNpy(bytes)) throw new Error(`${file} does not begin as .npy files do, expected "\\x93NUMPY"`);
  const isWide = (bytes[6] ?? 0) > 1;
  const start = isWide ? 12 : 10;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = bytes.length < start ? Infinity : isWide ? view.getUint32(8, true) : view.getUint16(8, true);
  if (length > bytes.length - start) throw new Error(`${file} has a header of ${length} bytes, expected at most ${Math.max(bytes.length - start, 0)}`);
  const text = new TextDecoder("latin1").decode(bytes.subarray(start, start + length));
  const [, type] = /'descr': *'([^']*)'/.exec(text) ?? [];
  const [, order] = /'fortran_order': *(True|False)/.exec(text) ?? [];
  const [, sizes] = /'shape': *\(([\d, ]*)\)/.exec(text) ?? [];
  if (type === undefined || order === undefined || sizes === undefined)
    throw new Error(`${file} has the header ${show(text.trim())}, expected plain numbers with 'descr', 'fortran_order' and 'shape'`);
  const shape = sizes.split(",").filter((size) => size.trim() !== "").map(Number);
  return { type, isFortran: order === "True", shape, start: start + length };
}

/** Numbers whose first axis runs fastest, in the order in which the last does. */
function inRows(values: Float32Array, shape: readonly number[]): Float32Array {
  const strides = shape.map((_, axis) => shape.slice(0, axis).reduce((product, size) => product * size, 1));
  const ordered = new Float32Array(values.length);
  const place = shape.map(() => 0);
  for (let to = 0, from = 0; to < ordered.length; to++) {
    ordered[to] = values[from] as number;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis] as number;
      if (++(place[axis] as number) < (shape[axis] as number)) break;
      from -= (strides[axis] as number) * (shape[axis] as number);
      place[axis] = 0;
    }
  }
  return ordered;
}

/** An array of numbers; `name` is that of its kind in an `.npz`. */
export function npyArray(file: string, name: string, bytes: Uint8Array<ArrayBuffer>): StoredArray {
  const { type, isFortran, shape, start } = headerOf(file, bytes);
  const count = countOf(file, shape);
  const dtype = dtypeOf(type);
  if (dtype === undefined) {
    const words = type.endsWith("O") ? " (Python objects, which are not read)" : "";
    throw new Error(`${file} has the type ${show(type)}${words}, expected little-endian numbers such as "<f4"`);
  }
  const read = (): Float32Array => {
    const values = readNumbers(file, dtype, bytes.subarray(start), count);
    return isFortran ? inRows(values, shape) : values;
  };
  return { name, type: typeInWords(dtype), shape, read };
}

/** An array of texts, which are UTF-32 of one length, filled up with zeros; undefined where it has something else. */
export function npyTexts(file: string, bytes: Uint8Array<ArrayBuffer>): string[] | undefined {
  const { type, shape, start } = headerOf(file, bytes);
  const width = Number(/^<U(\d+)$/.exec(type)?.[1] ?? NaN);
  if (!(width > 0)) return undefined;
  const count = countOf(file, shape);
  const [length, expected] = [bytes.length - start, count * width * 4];
  if (length !== expected) throw new Error(`${file} has ${length} bytes of texts, expected ${expected}`);
  const codes = new Uint32Array(bytes.slice(start).buffer);
  const charOf = (code: number): string => (code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd");
  const textAt = (_: unknown, index: number): string => Array.from(codes.subarray(index * width, (index + 1) * width), charOf).join("").replace(/\0+$/, "");
  return Array.from({ length: count }, textAt);
}

export const npyMaps = (file: string, bytes: Uint8Array<ArrayBuffer>): Given => storedMaps(file, [npyArray(file, "maps", bytes)], {});
