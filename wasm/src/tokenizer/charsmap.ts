// SPDX-License-Identifier: Apache-2.0
import type { Field } from "./fields.js";

const kUnitSize = 4;
const kValue = 0x7fffffff; // the bits of a value; the remaining one marks units that are values

/** A unit of the double array is a node, with the label that leads to it and the way to its children, or a value. */
const isValue = (unit: number): boolean => unit > kValue;
const labelOf = (unit: number): number => isValue(unit) ? -1 : unit & 0xff;
const hasValue = (node: number): boolean => (node >>> 8 & 1) !== 0;
/** The place of a node's value. Its child for a byte is at this place XOR the byte. */
const baseOf = (place: number, node: number): number => (place ^ node >>> 10 << ((node & 1 << 9) >>> 6)) >>> 0;

function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/**
 * SentencePiece's table of texts and their replacements. Its bytes are the size of a trie, the trie as a double array
 * (https://github.com/s-yata/darts-clone), and the replacements, each of which ends in a zero byte.
 */
export class Charsmap {
  readonly #trie: Uint32Array;
  readonly #replacements: Uint8Array;
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  /** Reads the Base64 of tokenizer.json. It throws unless every step through the trie stays inside it, and every replacement inside the text. */
  constructor(field: Field) {
    const bytes = fromBase64(field.text()) ?? field.fail("Base64");
    if (bytes.length < kUnitSize) field.fail("the size of a trie, and a trie");
    const view = new DataView(bytes.buffer);
    const size = view.getUint32(0, true);
    if (size % kUnitSize !== 0 || size > bytes.length - kUnitSize) {
      field.fail(`a trie of ${size} bytes, a multiple of 4, as it says itself`);
    }
    this.#trie = Uint32Array.from({ length: size / kUnitSize }, (_, i) => view.getUint32(kUnitSize * (i + 1), true));
    this.#replacements = bytes.subarray(kUnitSize + size);
    this.#check(field);
  }

  #unit(place: number): number {
    return this.#trie[place] ?? 0;
  }

  #check(field: Field): void {
    const [trie, replacements] = [this.#trie, this.#replacements];
    if (trie.length === 0) field.fail("a trie that is not empty");
    if (!isUtf8(replacements)) field.fail("replacements in UTF-8");
    for (const [place, unit] of trie.entries()) {
      if (isValue(unit)) continue;
      const base = baseOf(place, unit);
      if ((base | 0xff) >= trie.length) {
        field.fail(`a trie of nodes inside it; that of unit ${place} has children outside`);
      }
      if (!hasValue(unit)) continue;
      const value = this.#unit(base) & kValue;
      if (((replacements[value] ?? 0x80) & 0xc0) === 0x80) {
        field.fail(`places of characters of the replacements; unit ${base} has ${value}`);
      }
    }
  }

  /**
   * Returns the replacement of the shortest beginning of `text` that has one. The rest of `text` does not count: Hugging Face's library looks
   * up a grapheme as a whole, and replaces all of it.
   */
  find(text: string): string | undefined {
    let place = baseOf(0, this.#unit(0));
    for (const byte of this.#encoder.encode(text)) {
      place ^= byte;
      const node = this.#unit(place);
      if (byte === 0 || labelOf(node) !== byte) return undefined;
      place = baseOf(place, node);
      if (hasValue(node)) return this.#replacementAt(this.#unit(place) & kValue);
    }
    return undefined;
  }

  #replacementAt(begin: number): string {
    const end = this.#replacements.indexOf(0, begin);
    return this.#decoder.decode(this.#replacements.subarray(begin, end < 0 ? undefined : end));
  }
}
