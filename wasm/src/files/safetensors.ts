// SPDX-License-Identifier: Apache-2.0
/**
 * This reader of safetensors files gives its callers whole tensors, as JavaScript has them. Models go another way, straight into the
 * engine's memory, where core/src/files/safetensors.cc has the same rules, limits and types. Tests hold the two against each other.
 */
import { isExact, sizeOf } from "../arguments/sizes.js";
import { fileBytesOf } from "../arguments/tensors.js";
import { asHeadlensError, show, showIfAny, surplus, wrong } from "../module/failures.js";
import type { SafetensorsFile, SafetensorsTensor } from "../types/index.js";
import type { Blob } from "../types/web.js";

const kLengthBytes = 8;
const kMaxHeader = 100_000_000;
const kMaxFile = 2 ** 31;

/** The table of all values that 16 bits can have is made when the first are read. */
let halves: Float32Array | undefined;

function halfToFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

function fromHalves(bytes: ArrayBuffer): Float32Array {
  const table = halves ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => halfToFloat(bits));
  return Float32Array.from(new Uint16Array(bytes), (bits) => table[bits] as number);
}

function fromBfloats(bytes: ArrayBuffer): Float32Array {
  return new Float32Array(Uint32Array.from(new Uint16Array(bytes), (bits) => bits << 16).buffer);
}

/** Each type has the bytes of an element, and a function that makes an array of the file's bytes. */
const kTypes: Readonly<Record<string, readonly [number, (bytes: ArrayBuffer) => SafetensorsTensor["data"]]>> = {
  F32: [4, (bytes) => new Float32Array(bytes)], F64: [8, (bytes) => new Float64Array(bytes)],
  F16: [2, fromHalves], BF16: [2, fromBfloats],
  U8: [1, (bytes) => new Uint8Array(bytes)], BOOL: [1, (bytes) => new Uint8Array(bytes)],
  I8: [1, (bytes) => new Int8Array(bytes)],
  I32: [4, (bytes) => new Int32Array(bytes)], I64: [8, (bytes) => new BigInt64Array(bytes)],
};

/** Gives a file's bytes, wherever they are. */
interface Source {
  /** Every message begins with this name. */
  readonly name: string;
  readonly size: number;
  /** Returns a copy of the bytes from `begin` to `end`. */
  read(begin: number, end: number): Promise<ArrayBuffer>;
}

/** This is as much of a Blob as is needed. */
interface BlobLike {
  readonly name?: unknown;
  readonly size: number;
  slice(begin: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

function isBlob(source: unknown): source is BlobLike {
  const { size, slice } = (source ?? {}) as Partial<BlobLike>;
  return typeof slice === "function" && typeof size === "number" && size >= 0;
}

function sourceOf(given: unknown): Source {
  const bytes = fileBytesOf(given);
  const name = "safetensors";
  if (bytes) {
    const copy = (begin: number, end: number): ArrayBuffer => Uint8Array.from(bytes.subarray(begin, end)).buffer;
    return { name, size: bytes.length, read: (begin, end) => Promise.resolve(copy(begin, end)) };
  }
  if (!isBlob(given) || ArrayBuffer.isView(given)) {
    throw wrong("dtype", "source", show(given), "an ArrayBuffer, a Uint8Array, a Blob or a File");
  }
  const { name: file, size } = given;
  return {
    name: typeof file === "string" && file !== "" ? file : name, size,
    read: (begin, end) => given.slice(begin, end).arrayBuffer(),
  };
}

interface Entry {
  readonly name: string;
  readonly dtype: string;
  readonly shape: number[];
  readonly begin: number;
  readonly end: number;
}

/** Returns the names of a JSON object's members as they stand there, also those that stand there twice. */
function memberNames(json: string): string[] {
  const names: string[] = [];
  let depth = 0;
  let text = "";
  for (let i = 0; i < json.length; ++i) {
    const char = json[i] as string;
    if (char === "{" || char === "[") ++depth;
    else if (char === "}" || char === "]") --depth;
    else if (char === ":" && depth === 1) names.push(JSON.parse(text) as string);
    else if (char === "\"") {
      const begin = i++;
      for (; json[i] !== "\""; ++i) if (json[i] === "\\") ++i;
      if (depth === 1) text = json.slice(begin, i + 1);
    }
  }
  return names;
}

function isObject(given: unknown): given is Readonly<Record<string, unknown>> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}

/** Reads one file. Its errors begin with the file's name. */
class Reader {
  constructor(private readonly source: Source) {}

  async file(): Promise<SafetensorsFile> {
    const { size } = this.source;
    if (size > kMaxFile) throw wrong("memory", this.source.name, `${size} bytes`, `at most ${kMaxFile}`, "has");
    if (size < kLengthBytes) throw wrong("format", this.source.name, `${size} bytes`, `at least ${kLengthBytes}`, "has");
    const claimed = new DataView(await this.read(0, kLengthBytes)).getBigUint64(0, true);
    const most = Math.min(size - kLengthBytes, kMaxHeader);
    if (claimed === 0n || claimed > most) {
      this.fail("the header", `${claimed} bytes`, claimed === 0n ? "at least 1" : `at most ${most}`, "claims");
    }
    const length = Number(claimed);
    const start = kLengthBytes + length;
    const { __metadata__: metadata = {}, ...described } = this.header(await this.read(kLengthBytes, start));
    const entries = Object.entries(described).map(([name, entry]) => this.entry(name, entry, size - start));
    this.checkCoverage(entries, size - start);
    const tensors = new Map<string, SafetensorsTensor>();
    for (const { name, dtype, shape, begin, end } of entries) {
      const [, decode] = kTypes[dtype] as (typeof kTypes)[string];
      const data = decode(await this.read(start + begin, start + end));
      tensors.set(name, { dtype, shape, data } as SafetensorsTensor);
    }
    return { tensors, metadata: this.metadata(metadata) };
  }

  private fail(argument: string, got: string | undefined, expected: string, verb?: string): never {
    throw wrong("format", `${this.source.name}: ${argument}`, got, expected, verb);
  }

  private async read(begin: number, end: number): Promise<ArrayBuffer> {
    const bytes = begin === end ? new ArrayBuffer(0) : await this.source.read(begin, end);
    if (bytes.byteLength !== end - begin) {
      throw wrong("format", this.source.name, `${bytes.byteLength} bytes from ${begin} to ${end}`, `${end - begin}`, "has");
    }
    return bytes;
  }

  private header(bytes: ArrayBuffer): Record<string, unknown> {
    let header: unknown;
    let text = "";
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      header = JSON.parse(text);
    } catch {
      // It is no object, and is refused as such.
    }
    if (!isObject(header)) this.fail("the header", text === "" ? "not UTF-8" : show(text), "a JSON object");
    const names = new Set<string>();
    for (const name of memberNames(text)) {
      if (names.has(name)) this.fail("the header", `${show(name)} twice`, "once", "names");
      names.add(name);
    }
    return header;
  }

  private metadata(given: unknown): Record<string, string> {
    if (!isObject(given)) this.fail("__metadata__", show(given), "an object");
    for (const [key, value] of Object.entries(given)) {
      if (typeof value !== "string") this.fail(`__metadata__[${show(key)}]`, show(value), "a string");
    }
    return given as Record<string, string>;
  }

  private entry(name: string, given: unknown, dataSize: number): Entry {
    const tensor = `tensor ${show(name)}`;
    if (!isObject(given)) this.fail(tensor, show(given), "an object");
    const { dtype, shape, data_offsets: offsets } = given;
    if (typeof dtype !== "string" || !Object.hasOwn(kTypes, dtype)) {
      this.fail(`${tensor}.dtype`, showIfAny(dtype), Object.keys(kTypes).join(", "));
    }
    const isSizes = (sizes: unknown): sizes is number[] =>
      Array.isArray(sizes) && sizes.every((n) => Number.isSafeInteger(n) && n >= 0);
    if (!isSizes(shape)) this.fail(`${tensor}.shape`, showIfAny(shape), "a list of sizes");
    const [begin = NaN, end = NaN, ...more] = isSizes(offsets) ? offsets : [];
    if (!(begin <= end && end <= dataSize) || more.length > 0) {
      this.fail(`${tensor}.data_offsets`, showIfAny(offsets), `a begin and an end inside the ${dataSize} bytes of data`);
    }
    if (!isExact(shape)) this.fail(`${tensor}.shape`, show(shape), "a size that can be addressed");
    const bytes = sizeOf(shape) * (kTypes[dtype]?.[0] ?? NaN);
    if (bytes !== end - begin) {
      this.fail(`${tensor}.data_offsets`, show(offsets), `${bytes} bytes for shape ${show(shape)}`);
    }
    return { name, dtype, shape, begin, end };
  }

  /** Sorts the tensors as their bytes lie, which must follow each other without holes up to the end. */
  private checkCoverage(entries: Entry[], dataSize: number): void {
    entries.sort((a, b) => a.begin - b.begin || a.end - b.end);
    let at = 0;
    for (const { name, begin, end } of entries) {
      if (begin !== at) this.fail(`tensor ${show(name)}`, `byte ${begin}`, `${at}, where the one before it ends`, "begins at");
      at = end;
    }
    if (at < dataSize) throw surplus(this.source.name, dataSize - at);
  }
}

/**
 * Reads a safetensors file: from memory, or tensor by tensor from a Blob or File (`await (await fetch(url)).blob()`). Files may come from
 * strangers: at most 2 GiB, and nothing is allocated that the file's own bytes do not fill, but for 16-bit floats, which double. Integers of
 * 64 bits stay what they are, which no function here takes: `Int32Array.from(data, Number)` makes ids of them. Rejects with "format" for what
 * is no such file, naming the file and the tensor; "memory" for a file that is too large; "dtype" for another source.
 * @example
 * import { readSafetensors } from "headlens";
 * const header = new TextEncoder().encode('{"weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}');
 * const file = new Blob([BigUint64Array.of(BigInt(header.length)), header, Float32Array.of(1, 2, 3, 4)]);
 * const { tensors } = await readSafetensors(file);
 * tensors.get("weight").shape // → [2, 2]
 * const embedding = engine.embedding();
 * embedding.loadStateDict(tensors);
 * embedding.forward({ data: [1], shape: [1] }).output.data // → [3, 4]
 */
export async function readSafetensors(source: ArrayBuffer | Uint8Array | Blob): Promise<SafetensorsFile> {
  const file = sourceOf(source);
  try {
    return await new Reader(file).file();
  } catch (error) {
    throw asHeadlensError(error, error instanceof RangeError ? "memory" : "value", `${file.name} cannot be read`);
  }
}
