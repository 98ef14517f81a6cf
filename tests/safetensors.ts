// SPDX-License-Identifier: Apache-2.0
/** Reads and writes case files (safetensors) for the tests of every interface. It does not use the code under test. */
import { readFileSync } from "node:fs";

type Data = Float32Array | Float64Array | Int32Array | Uint8Array | Int8Array;

export interface FileTensor {
  readonly dtype: string;
  readonly data: Data;
  readonly shape: number[];
}

export interface Safetensors {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, FileTensor>;
}

interface Entry {
  readonly dtype: string;
  readonly shape: number[];
  readonly data_offsets: readonly [number, number];
}

function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

function decode(dtype: string, bytes: ArrayBuffer): Data {
  if (dtype === "F32") return new Float32Array(bytes);
  if (dtype === "F64") return new Float64Array(bytes);
  if (dtype === "I32") return new Int32Array(bytes);
  if (dtype === "I8") return new Int8Array(bytes);
  if (dtype === "U8" || dtype === "BOOL") return new Uint8Array(bytes);
  if (dtype === "F16") return Float32Array.from(new Uint16Array(bytes), halfToFloat);
  if (dtype === "BF16") return new Float32Array(Uint32Array.from(new Uint16Array(bytes), (bits) => bits << 16).buffer);
  throw new Error(`no test knows the type ${dtype}`);
}

export function readSafetensors(path: string): Safetensors {
  const file = readFileSync(path);
  const headerEnd = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString("utf8", 8, headerEnd)) as Record<string, unknown>;
  const tensors = new Map<string, FileTensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const { dtype, shape, data_offsets: [begin, end] } = entry as Entry;
    const bytes = Uint8Array.from(file.subarray(headerEnd + begin, headerEnd + end)).buffer;
    tensors.set(name, { dtype, shape, data: decode(dtype, bytes) });
  }
  return { metadata: (header.__metadata__ ?? {}) as Record<string, string>, tensors };
}

export function tensorOf(file: Safetensors, name: string): FileTensor {
  const tensor = file.tensors.get(name);
  if (!tensor) throw new Error(`no tensor ${name} in the file`);
  return tensor;
}

/** A file with this header, right or wrong, followed by these bytes. */
export function withHeader(header: string, body: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(header);
  const file = new Uint8Array(8 + text.length + body.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  file.set(body, 8 + text.length);
  return file;
}

export interface GivenTensor {
  readonly data: Float32Array | Int32Array | BigInt64Array | Uint8Array | Int8Array;
  readonly shape: readonly number[];
  /** By default, the type of the array. */
  readonly writtenAs?: "BOOL";
}

function dtypeOf(data: GivenTensor["data"]): string {
  if (data instanceof Float32Array) return "F32";
  if (data instanceof BigInt64Array) return "I64";
  if (data instanceof Int8Array) return "I8";
  return data instanceof Int32Array ? "I32" : "U8";
}

export function writeSafetensors(
  tensors: Readonly<Record<string, GivenTensor>>, metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let end = 0;
  for (const [name, { data, shape, writtenAs = dtypeOf(data) }] of Object.entries(tensors)) {
    header[name] = { dtype: writtenAs, shape, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const body = new Uint8Array(end);
  end = 0;
  for (const { data } of Object.values(tensors)) {
    body.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), end);
    end += data.byteLength;
  }
  return withHeader(JSON.stringify(header), body);
}
