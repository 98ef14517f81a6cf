// SPDX-License-Identifier: Apache-2.0
/** Tokens as readers see them: a character whose bytes are split over several tokens stands in each of them, numbered. */

const kBytes = /^(\s?)((?:\u27e8[0-9A-F]{2}\u27e9)+)$/;
/** No character has more bytes, and each token has at least one. */
const kMostBytes = 4;
const kSubscript = "\u2080";

const bytesOf = (written: string): number[] =>
  Array.from(written.matchAll(/[0-9A-F]{2}/g), ([hex]) => parseInt(hex, 16));

/** The text of bytes; undefined when they are none. */
function decoded(bytes: readonly number[]): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
  } catch {
    return undefined;
  }
}

/** The token after those from `begin` on that make up whole characters, and their text; undefined when none do. */
function wholeFrom(tokens: readonly string[], begin: number): { end: number; text: string } | undefined {
  const bytes: number[] = [];
  for (let end = begin; end < Math.min(begin + kMostBytes, tokens.length); end++) {
    const [, space, written] = kBytes.exec(tokens[end] ?? "") ?? [];
    if (written === undefined || (space !== "" && end > begin)) return undefined;
    bytes.push(...bytesOf(written));
    const text = decoded(bytes);
    if (text !== undefined) return { end: end + 1, text };
  }
  return undefined;
}

/**
 * The engine writes the bytes of a character that is split over tokens as ⟨F0⟩. Here "⟨F0⟩⟨9F⟩" and "⟨99⟩⟨82⟩" become "🙂₁" and
 * "🙂₂". Bytes that are no character stay as they are.
 */
export function shownTokens(tokens: readonly string[]): readonly string[] {
  const shown = [...tokens];
  for (let index = 0; index < tokens.length; index++) {
    const whole = kBytes.test(tokens[index] ?? "") ? wholeFrom(tokens, index) : undefined;
    if (!whole) continue;
    const { end, text } = whole;
    for (let at = index; at < end; at++) {
      const [, space = ""] = kBytes.exec(tokens[at] ?? "") ?? [];
      const place = String.fromCodePoint((kSubscript.codePointAt(0) ?? 0) + at - index + 1);
      shown[at] = `${space}${text}${end - index > 1 ? place : ""}`;
    }
    index = end - 1;
  }
  return shown;
}
