// SPDX-License-Identifier: Apache-2.0
/**
 * Reads maps from a safetensors file. Only the arrays of maps are read: a cache of a model's run may hold many more, of any type, which
 * the package's readSafetensors would read as well.
 */
import type { Given } from "./given-maps.js";
import { membersOf, parseJson, textOf, tokensOf } from "./json-values.js";
import { countOf, show } from "./limits.js";
import { readNumbers, typeInWords } from "./numbers.js";
import { type StoredArray, storedMaps } from "./stored.js";

const kLengthBytes = 8;

/** Tells such a file by the eight bytes of a length, which is below 4 GB, and the brace after them. */
export const isSafetensors = (bytes: Uint8Array): boolean =>
  bytes[kLengthBytes] === 0x7b && bytes.subarray(4, kLengthBytes).every((byte) => byte === 0);

interface Entry {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly count: number;
  readonly begin: number;
  readonly end: number;
}

function entryOf(file: string, name: string, described: unknown): Entry {
  const place = `${file}: ${show(name)}`;
  const { dtype, shape, data_offsets: offsets } = membersOf(described) ?? {};
  const [begin, end] = Array.isArray(offsets) ? (offsets as unknown[]) : [];
  if (typeof dtype !== "string" || !Array.isArray(shape) || !Number.isSafeInteger(begin) || !Number.isSafeInteger(end))
    throw new Error(`${place} is ${show(described)}, expected an object with dtype, shape and data_offsets`);
  const count = countOf(place, shape);
  return { name, dtype, shape: shape as number[], count, begin: begin as number, end: end as number };
}

/** The bytes of the arrays have to follow each other without holes up to the end. */
function checkOrder(file: string, entries: readonly Entry[], size: number): void {
  let at = 0;
  for (const { name, begin, end } of [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== at || end < begin) throw new Error(`${file}: ${show(name)} has bytes ${begin} to ${end}, expected to begin at ${at}`);
    at = end;
  }
  if (at !== size) throw new Error(`${file} has ${size} bytes of numbers, expected ${at}`);
}

export function safetensorsMaps(file: string, bytes: Uint8Array<ArrayBuffer>): Given {
  const start = kLengthBytes + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (start > bytes.length) throw new Error(`${file} claims a header of ${start - kLengthBytes} bytes, expected at most ${bytes.length - kLengthBytes}`);
  const header = membersOf(parseJson(`${file}: the header`, textOf(file, bytes.subarray(kLengthBytes, start)))) ?? {};
  const { __metadata__: metadata, ...described } = header;
  const data = bytes.subarray(start);
  const entries = Object.entries(described).map(([name, entry]) => entryOf(file, name, entry));
  checkOrder(file, entries, data.length);
  const arrays = entries.map(({ name, dtype, shape, count, begin, end }): StoredArray => {
    const read = (): Float32Array => readNumbers(`${file}: ${show(name)}`, dtype, data.subarray(begin, end), count);
    return { name, type: typeInWords(dtype), shape, read };
  });
  const { tokens, pieces, key_tokens: keyTokens, key_pieces: keyPieces, causal } = membersOf(metadata) ?? {};
  const list = (name: string, json: unknown): unknown => (typeof json === "string" ? parseJson(`${file}: ${name}`, json) : undefined);
  return storedMaps(file, arrays, {
    tokens: tokensOf(`${file}: tokens`, list("pieces", pieces), list("tokens", tokens)),
    keyTokens: tokensOf(`${file}: key_tokens`, list("key_tokens", keyTokens ?? keyPieces)),
    causal: causal === "true",
  });
}
