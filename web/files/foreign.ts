// SPDX-License-Identifier: Apache-2.0
/** Files of other kinds, by how they begin, so that a refusal can say what they are. */

const kBeginnings: readonly (readonly [beginning: string, words: string])[] = [
  ["\x89PNG", "a picture"],
  ["\xff\xd8\xff", "a picture"],
  ["GIF8", "a picture"],
  ["RIFF", "a picture or a sound"],
  ["%PDF", "a PDF document"],
  ["\x89HDF", "an HDF5 file"],
  ["\x1f\x8b", "packed with gzip"],
  ["GGUF", "a GGUF model"],
  ["\0asm", "a WebAssembly module"],
  ...["\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05"].map((beginning) => [beginning, "a Python pickle, as PyTorch writes"] as const),
];

/** Names the kind of these bytes, if it is known to have no maps. */
export function foreignKind(bytes: Uint8Array): string | undefined {
  const beginning = String.fromCharCode(...bytes.subarray(0, 256));
  if (/^\s*<(!doctype html|html|head|body|!--)/i.test(beginning)) return "an HTML page, as servers send for addresses that they do not have";
  if (/^\s*<(\?xml|svg)/i.test(beginning)) return "XML or an SVG picture";
  // ONNX begins with its version, a small number, and the name of what wrote it.
  if (bytes[0] === 8 && (bytes[1] ?? 0) < 32 && bytes[2] === 0x12) return "an ONNX model";
  return kBeginnings.find(([of]) => beginning.startsWith(of))?.[1];
}
