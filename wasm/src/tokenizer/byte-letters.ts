// SPDX-License-Identifier: Apache-2.0
/** Vocabularies write bytes in two ways: as letters, or by names. */

/**
 * The printable character for each byte, as in GPT-2's vocabulary: the Latin-1 character of the byte if it is printable, and otherwise the
 * next unused one from U+0100 on.
 */
const kLetters: readonly string[] = (() => {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    return String.fromCharCode(isPrintable ? byte : next++);
  });
})();

const kBytes: ReadonlyMap<string, number> = new Map(kLetters.map((letter, byte) => [letter, byte]));
const kUtf8 = new TextEncoder();

/** Writes each byte of the text's UTF-8 as one printable character. */
export function byteLetters(text: string): string {
  let letters = "";
  for (const byte of kUtf8.encode(text)) letters += kLetters[byte] ?? "";
  return letters;
}

/** Returns the bytes of a text that byteLetters wrote, or undefined when it contains another character. */
export function bytesOfLetters(letters: string): Uint8Array | undefined {
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) {
    const byte = kBytes.get(letters.charAt(i));
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

/** The name of a byte, such as <0xE2>. */
export function byteName(byte: number): string {
  return `<0x${hex(byte)}>`;
}

/** Two hexadecimal digits. */
export function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, "0");
}

/** The byte that a name stands for. */
export function byteOfName(name: string): number | undefined {
  const digits = /^<0x([0-9A-F]{2})>$/.exec(name)?.[1];
  return digits === undefined ? undefined : parseInt(digits, 16);
}
