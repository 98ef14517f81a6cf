// SPDX-License-Identifier: Apache-2.0
/** Numbers of files, little-endian, as 32-bit floats. */
import { show } from "./limits.js";

interface Kind {
  readonly words: string;
  readonly bytes: number;
  read(this: void, bytes: Uint8Array<ArrayBuffer>): Float32Array;
}

type Integers = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array;

interface Maker<T> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer, offset: number, length: number): T;
}

/** The numbers themselves where they lie at a multiple of their size, and else a copy. */
function viewOf<T>(List: Maker<T>, bytes: Uint8Array<ArrayBuffer>): T {
  const size = List.BYTES_PER_ELEMENT;
  const { buffer, byteOffset, length } = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  return new List(buffer, byteOffset, length / size);
}

function kind<T>(words: string, List: Maker<T>, convert: (values: T) => Float32Array): Kind {
  return { words, bytes: List.BYTES_PER_ELEMENT, read: (bytes) => convert(viewOf(List, bytes)) };
}

function integers(words: string, List: Maker<Integers>): Kind {
  return kind(words, List, (values) => new Float32Array(values));
}

/** The values of all halves, which are made when the first are read. */
let halves: Float32Array | undefined;

function halfOf(bits: number): number {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
}

function fromHalves(bits: Uint16Array): Float32Array {
  const table = (halves ??= Float32Array.from({ length: 1 << 16 }, (_, of) => halfOf(of)));
  const values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) values[i] = table[bits[i] as number] as number;
  return values;
}

function fromBfloats(bits: Uint16Array): Float32Array {
  const wide = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) wide[i] = (bits[i] as number) << 16;
  return new Float32Array(wide.buffer);
}

function fromLongs(longs: BigInt64Array | BigUint64Array): Float32Array {
  const values = new Float32Array(longs.length);
  for (let i = 0; i < longs.length; i++) values[i] = Number(longs[i]);
  return values;
}

/** The kinds of numbers by the names that safetensors gives them. */
const kKinds: ReadonlyMap<string, Kind> = new Map([
  ["F64", kind("float64", Float64Array, (values) => new Float32Array(values))],
  ["F32", kind("float32", Float32Array, (values) => values)],
  ["F16", kind("float16", Uint16Array, fromHalves)],
  ["BF16", kind("bfloat16", Uint16Array, fromBfloats)],
  ["BOOL", integers("bool", Uint8Array)],
  ["U8", integers("uint8", Uint8Array)],
  ["I8", integers("int8", Int8Array)],
  ["U16", integers("uint16", Uint16Array)],
  ["I16", integers("int16", Int16Array)],
  ["U32", integers("uint32", Uint32Array)],
  ["I32", integers("int32", Int32Array)],
  ["U64", kind("uint64", BigUint64Array, fromLongs)],
  ["I64", kind("int64", BigInt64Array, fromLongs)],
]);

/** The kind of numbers with this name. Throws an Error that begins with `place`. */
export function kindOf(place: string, name: string): Kind {
  const known = kKinds.get(name);
  if (!known) throw new Error(`${place} has the type ${show(name)}, expected ${[...kKinds.keys()].join(", ")}`);
  return known;
}

/** Reads bytes that have to be as many as `count` numbers have. */
export function readNumbers(place: string, name: string, bytes: Uint8Array<ArrayBuffer>, count: number): Float32Array {
  const { bytes: size, read } = kindOf(place, name);
  if (bytes.length !== count * size) throw new Error(`${place} has ${bytes.length} bytes of numbers, expected ${count * size}`);
  return read(bytes);
}

export const typeInWords = (name: string): string => kKinds.get(name)?.words ?? name;
