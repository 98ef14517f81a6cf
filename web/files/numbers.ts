// SPDX-License-Identifier: Apache-2.0
/** Numbers of files, little-endian, as 32-bit floats. */
import { show } from "./limits.js";

interface Kind {
  readonly bytes: number;
  read(this: void, bytes: Uint8Array<ArrayBuffer>): Float32Array;
}

type Plain = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float64Array;

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

function kind<T>(List: Maker<T>, convert: (values: T) => Float32Array): Kind {
  return { bytes: List.BYTES_PER_ELEMENT, read: (bytes) => convert(viewOf(List, bytes)) };
}

const plain = (List: Maker<Plain>): Kind => kind(List, (values) => new Float32Array(values));

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
  ["F64", plain(Float64Array)],
  ["F32", kind(Float32Array, (values) => values)],
  ["F16", kind(Uint16Array, fromHalves)],
  ["BF16", kind(Uint16Array, fromBfloats)],
  ["BOOL", plain(Uint8Array)],
  ["U8", plain(Uint8Array)],
  ["I8", plain(Int8Array)],
  ["U16", plain(Uint16Array)],
  ["I16", plain(Int16Array)],
  ["U32", plain(Uint32Array)],
  ["I32", plain(Int32Array)],
  ["U64", kind(BigUint64Array, fromLongs)],
  ["I64", kind(BigInt64Array, fromLongs)],
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

/** The name in words, such as "float32" for F32. */
export const typeInWords = (name: string): string =>
  name.toLowerCase().replace(/^(b?f|i|u)(?=\d)/, (letter) => ({ f: "float", bf: "bfloat", i: "int", u: "uint" })[letter] ?? letter);
