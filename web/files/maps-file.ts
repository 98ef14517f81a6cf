// SPDX-License-Identifier: Apache-2.0
/** Reads maps of attention from a file, whose format is told by its content. */
import { csvMaps } from "./csv.js";
import { foreignKind } from "./foreign.js";
import type { Given } from "./given-maps.js";
import { jsonMaps } from "./json.js";
import { parseJson, textOf } from "./json-values.js";
import { kAccepted, kMaxBytes } from "./limits.js";
import { isNpy, npyMaps } from "./npy.js";
import { npzMaps } from "./npz.js";
import { isSafetensors, safetensorsMaps } from "./safetensors.js";

const kZip = [0x50, 0x4b, 3, 4];

/** Reads a file's maps. `file` is its name in messages. Rejects with an Error that says what the file is and what was expected. */
export async function readMaps(bytes: Uint8Array<ArrayBuffer>, file: string): Promise<Given> {
  if (bytes.length === 0) throw new Error(`${file} is empty, expected ${kAccepted}`);
  if (bytes.length > kMaxBytes) throw new Error(`${file} has ${bytes.length} bytes, expected at most ${kMaxBytes}`);
  if (isSafetensors(bytes)) return safetensorsMaps(file, bytes);
  if (isNpy(bytes)) return npyMaps(file, bytes);
  if (kZip.every((byte, index) => bytes[index] === byte)) return npzMaps(file, bytes);
  const foreign = foreignKind(bytes);
  if (foreign) throw new Error(`${file} is ${foreign}, expected ${kAccepted}`);
  const text = textOf(file, bytes);
  return /^\s*[[{]/.test(text) ? jsonMaps(file, parseJson(file, text)) : csvMaps(file, text);
}
