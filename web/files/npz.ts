// SPDX-License-Identifier: Apache-2.0
/** Reads `.npz` files of NumPy, which are zips of `.npy` files. The browser unpacks them, while the page goes on. */
import type { Given } from "./given-maps.js";
import { kAccepted, kMaxBytes, show } from "./limits.js";
import { npyArray, npyTexts } from "./npy.js";
import { storedMaps } from "./stored.js";

/** Files that are packed tighter than the format can are there to exhaust memory. */
const kMostPacked = 1032;
const kEndBytes = 22;
const kEndSign = 0x06054b50;
const kDeflated = 8;

interface Packed {
  readonly name: string;
  readonly isDeflated: boolean;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly size: number;
}

/** The files in a zip's directory. Throws a RangeError where it leads out of the file. */
function packedFiles(bytes: Uint8Array<ArrayBuffer>): Packed[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const half = (at: number): number => view.getUint16(at, true);
  const word = (at: number): number => view.getUint32(at, true);
  let end = bytes.length - kEndBytes;
  while (word(end) !== kEndSign) end--;
  const files: Packed[] = [];
  for (let at = word(end + 16), left = half(end + 10); left > 0; left--) {
    const next = at + 46 + half(at + 28) + half(at + 30) + half(at + 32);
    const start = word(at + 42) + 30 + half(word(at + 42) + 26) + half(word(at + 42) + 28);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + half(at + 28)));
    const packed = bytes.subarray(start, start + word(at + 20));
    files.push({ name, isDeflated: half(at + 10) === kDeflated, bytes: packed, size: word(at + 24) });
    at = next;
  }
  return files;
}

/** Refuses a zip before it is unpacked when its arrays claim too much, and returns these. */
function arraysIn(file: string, files: readonly Packed[]): Packed[] {
  if (files.some(({ name }) => /(^|\/)data\.pkl$/.test(name)))
    throw new Error(`${file} is a PyTorch file (a zip with a pickle), expected ${kAccepted}`);
  const arrays = files.filter(({ name }) => name.endsWith(".npy"));
  if (arrays.length === 0) throw new Error(`${file} is a zip without arrays (.npy), expected ${kAccepted}`);
  let total = 0;
  for (const { name, bytes, size, isDeflated } of arrays) {
    total += size;
    if (total > kMaxBytes || size > (isDeflated ? kMostPacked * bytes.length : bytes.length))
      throw new Error(`${file}: ${show(name)} claims ${size} bytes, packed into ${bytes.length}, expected at most ${kMostPacked} times as many, and ${kMaxBytes} in all`);
  }
  return arrays;
}

/** Unpacks no more than the directory says. */
async function unpacked(file: string, { name, isDeflated, bytes, size }: Packed): Promise<Uint8Array<ArrayBuffer>> {
  if (!isDeflated) return bytes;
  const content = new Uint8Array(size);
  let at = 0;
  try {
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      content.set(next.value, at); // which throws where there is more
      at += next.value.length;
    }
  } catch (cause) {
    throw new Error(`${file}: ${show(name)} cannot be unpacked to ${size} bytes`, { cause });
  }
  return content.subarray(0, at);
}

export async function npzMaps(file: string, bytes: Uint8Array<ArrayBuffer>): Promise<Given> {
  let files: readonly Packed[];
  try {
    files = packedFiles(bytes);
  } catch (cause) {
    throw new Error(`${file} is not a whole zip`, { cause });
  }
  const texts = new Map<string, string[]>();
  const arrays = [];
  for (const packed of arraysIn(file, files)) {
    const name = packed.name.replace(/\.npy$/, "");
    const content = await unpacked(file, packed);
    const found = npyTexts(`${file}: ${name}`, content);
    if (found) texts.set(name, found);
    else arrays.push(npyArray(`${file}: ${name}`, name, content));
  }
  return storedMaps(file, arrays, { tokens: texts.get("tokens"), keyTokens: texts.get("key_tokens") });
}
