// SPDX-License-Identifier: Apache-2.0
/** Files of maps that tests make. */

export type Bytes = Uint8Array<ArrayBuffer>;

const bytesOf = (text: string): Bytes => Uint8Array.from(new TextEncoder().encode(text));

export const text = (content: string | object): Bytes =>
  bytesOf(typeof content === "string" ? content : JSON.stringify(content));

export const fromBase64 = (base64: string): Bytes => Uint8Array.from(Buffer.from(base64, "base64"));

export const toBase64 = (numbers: ArrayBufferView): string =>
  Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString("base64");

export interface Stored {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayBufferView;
}

function joined(parts: readonly ArrayBufferView[]): Bytes {
  const bytes = parts.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
  return Uint8Array.from(Buffer.concat(bytes));
}

/** A file whose header is given as it stands. */
export const withHeader = (header: string, data: ArrayBufferView = new Uint8Array()): Bytes =>
  joined([BigUint64Array.of(BigInt(bytesOf(header).length)), bytesOf(header), data]);

export function safetensors(arrays: Readonly<Record<string, Stored>>, metadata?: Record<string, string>): Bytes {
  const header: Record<string, unknown> = metadata ? { __metadata__: metadata } : {};
  let at = 0;
  for (const [name, { dtype, shape, data }] of Object.entries(arrays))
    header[name] = { dtype, shape, data_offsets: [at, (at += data.byteLength)] };
  return withHeader(JSON.stringify(header), joined(Object.values(arrays).map(({ data }) => data)));
}

export interface Npy {
  readonly descr: string;
  readonly shape: string;
  readonly data: ArrayBufferView;
  readonly order?: "True" | "False";
  readonly version?: 1 | 2 | 3;
  /** The length that the header claims, where it is not its own. */
  readonly claimed?: number;
}

export function npy({ descr, shape, data, order = "False", version = 1, claimed }: Npy): Bytes {
  const header = bytesOf(`{'descr': ${descr.startsWith("[") ? descr : `'${descr}'`}, 'fortran_order': ${order}, 'shape': ${shape}, }\n`);
  const length = claimed ?? header.length;
  const lengthBytes = version === 1 ? Uint16Array.of(length) : Uint32Array.of(length);
  return joined([Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, version, 0), lengthBytes, header, data]);
}
