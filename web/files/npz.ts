// SPDX-License-Identifier: Apache-2.0
/** Reads `.npz` files of NumPy, which are zips of `.npy` files. */
import { unzipSync, type UnzipFileInfo } from "fflate";
import type { Given } from "./given-maps.js";
import { kAccepted, kMaxBytes, show } from "./limits.js";
import { npyArray, npyTexts } from "./npy.js";
import { storedMaps } from "./stored.js";

/** More files, or files that are packed tighter than the format can, are there to exhaust memory. */
const kMaxFiles = 10_000;
const kMostPacked = 1032;

/** Takes the arrays of a zip, and refuses them before they are unpacked when they claim too much. */
function arrayFilter(file: string): (entry: UnzipFileInfo) => boolean {
  let [files, total] = [0, 0];
  return ({ name, size, originalSize }) => {
    if (++files > kMaxFiles) throw new Error(`${file} has more than ${kMaxFiles} files, expected fewer`);
    if (/(^|\/)data\.pkl$/.test(name)) throw new Error(`${file} is a PyTorch file (a zip with a pickle), expected ${kAccepted}`);
    if (!name.endsWith(".npy")) return false;
    total += Math.max(size, originalSize);
    if (total > kMaxBytes || originalSize > kMostPacked * size + kMostPacked)
      throw new Error(`${file}: ${show(name)} claims ${originalSize} bytes, packed into ${size}, expected at most ${kMostPacked} times as many, and ${kMaxBytes} in all`);
    return true;
  };
}

function unzipped(file: string, bytes: Uint8Array<ArrayBuffer>): [string, Uint8Array<ArrayBuffer>][] {
  const filter = arrayFilter(file);
  try {
    return Object.entries(unzipSync(bytes, { filter })).map(([name, content]) => [name.replace(/\.npy$/, ""), content]);
  } catch (error) {
    // The filter's own errors name the file already.
    if (!(error instanceof Error) || error.message.startsWith(file)) throw error;
    throw new Error(`${file} cannot be unpacked: ${error.message}`, { cause: error });
  }
}

export function npzMaps(file: string, bytes: Uint8Array<ArrayBuffer>): Given {
  const contents = unzipped(file, bytes);
  if (contents.length === 0) throw new Error(`${file} is a zip without arrays (.npy), expected ${kAccepted}`);
  const texts = new Map<string, string[]>();
  const arrays = contents.flatMap(([name, content]) => {
    const place = `${file}: ${name}`;
    const found = npyTexts(place, content);
    if (found) texts.set(name, found);
    return found ? [] : [npyArray(place, name, content)];
  });
  return storedMaps(file, arrays, { tokens: texts.get("tokens"), keyTokens: texts.get("key_tokens") });
}
