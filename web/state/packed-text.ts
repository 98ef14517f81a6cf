// SPDX-License-Identifier: Apache-2.0
/** Long texts in the letters of an address, in compressed form. */

/** The most bytes that an address of strangers may unpack to. */
const kMostBytes = 1 << 20;

async function through(
  stream: ReadableWritablePair<Uint8Array, BufferSource>, bytes: BufferSource,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let count = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    pieces.push(Uint8Array.from(part.value));
    count += part.value.length;
    if (count > kMostBytes) throw new Error(`the address holds more than ${kMostBytes} bytes`);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** Compresses a text. */
export async function pack(text: string): Promise<string> {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Reads a compressed text. Rejects when it is not one. */
export async function unpack(packed: string): Promise<string> {
  try {
    const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(new DecompressionStream("deflate-raw"), bytes));
  } catch (error) {
    throw new Error("the address holds no readable text: was it cut off?", { cause: error });
  }
}
