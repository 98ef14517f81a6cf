// SPDX-License-Identifier: Apache-2.0
/** The tokenizer asks JavaScript's own tables for all that it needs to know of Unicode. All texts here are well-formed. */

/** Returns the text with lone surrogates, which UTF-8 cannot express, as U+FFFD. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}

/** Returns the length of the text in UTF-8. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; ++i) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) ++bytes;
    if (unit >= 0x800 && (unit & 0xf800) !== 0xd800) ++bytes; // two surrogates make four bytes
  }
  return bytes;
}

/** Returns the code of the character whose UTF-8 begins at `bytes[at]`, or undefined when none does. */
export function characterAt(bytes: Uint8Array, at: number): number | undefined {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return lead;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  let code = lead & (0x7f >> length);
  for (let i = 1; i < length; ++i) {
    const byte = bytes[at + i] ?? 0;
    if ((byte & 0xc0) !== 0x80) return undefined;
    code = code << 6 | byte & 0x3f;
  }
  const least = [0x80, 0x800, 0x10000][length - 2] ?? 0; // a smaller code has a shorter form
  const isCharacter = code >= least && code <= 0x10ffff && (code & 0x1ff800) !== 0xd800;
  return isCharacter && lead >= 0xc2 && lead <= 0xf4 ? code : undefined;
}

/** Returns the code of the character at `text[at]`, which must lie inside the text. */
export function codeAt(text: string, at: number): number {
  return text.codePointAt(at) ?? 0;
}

/** Returns how many units of UTF-16 the character with this code has. */
export function unitsOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}

/** Returns where the character begins that ends at `at`. */
export function before(text: string, at: number): number {
  return at > 1 && (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00 ? at - 2 : at - 1;
}

/** Letters, marks, digits and what joins them: Unicode's definition of a word (TR18), which Rust uses. */
export const kUnicodeWordClass = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200C\\u200D";
/** ASCII's symbols count as punctuation, too. */
export const kPunctuation = /[\p{P}$+<=>^`|~]/gu;
export const kWhitespace = /\p{White_Space}/gu;
export const kNumber = /\p{N}/gu;

export function leadingWhitespace(text: string): number {
  return /^\p{White_Space}*/u.exec(text)?.[0].length ?? 0;
}

export function trailingWhitespace(text: string): number {
  let end = text.length;
  while (end > 0 && /\p{White_Space}/u.test(text.charAt(end - 1))) --end; // all of it is in the first plane
  return text.length - end;
}

/** Returns the lower case of each character on its own, without the rule for final sigma. */
export function lowercase(text: string): string {
  return text.replaceAll("\u03A3", "\u03C3").toLowerCase();
}

export type NormalForm = "NFC" | "NFD" | "NFKC" | "NFKD";

/** Marks, and the two letters whose compatible form is a mark. */
const kLongRun = /[\p{M}\uFF9E\uFF9F]{32,}/gu;

/** Returns the text in one of Unicode's normal forms, in time O(n log n) for any text. */
export function normalized(text: string, form: NormalForm): string {
  const decomposed = form.startsWith("NFK") ? "NFKD" : "NFD";
  // JavaScript's engines sort marks by insertion, which takes very long for a long run of them. Sorted ones take no time.
  return text.replace(kLongRun, (run) => ordered(Array.from(run, (mark) => mark.normalize(decomposed)).join("")))
    .normalize(form);
}

const changes = (text: string): boolean => text.normalize("NFD") !== text;
/** Marks of the first and of the last canonical class show of any other mark that it has a class. */
const isStarter = (mark: string): boolean => !changes(`${mark}\u0334`) && !changes(`\u0345${mark}`);

/** Sorts decomposed marks into their canonical order, which stops at each starter. */
function ordered(run: string): string {
  const marks = Array.from(run);
  const kinds = [...new Set(marks)].filter((mark) => !isStarter(mark));
  kinds.sort((a, b) => Number(changes(a + b)) - Number(changes(b + a)));
  const classes = new Map<string, number>();
  kinds.forEach((mark, i) => classes.set(mark, i > 0 && !changes(mark + (kinds[i - 1] ?? "")) ? classes.get(kinds[i - 1] ?? "") ?? 0 : i));
  let section = 0;
  const keyed = marks.map((mark) => {
    const order = classes.get(mark);
    return order === undefined ? { mark, section: ++section, order: -1 } : { mark, section, order };
  });
  return keyed.sort((a, b) => a.section - b.section || a.order - b.order).map(({ mark }) => mark).join("");
}

const isAscii = (text: string, at: number): boolean => text.charCodeAt(at) < 0x80;

/** Returns true where two characters of ASCII are apart, which all are but for the two that end a line. */
function isBreak(text: string, at: number): boolean {
  return isAscii(text, at - 1) && isAscii(text, at) && !text.startsWith("\r\n", at - 1);
}

let segmenter: Intl.Segmenter | undefined;

/** Calls `use` with each character as readers see it, by Unicode's rules for extended grapheme clusters. */
export function forEachGrapheme(text: string, use: (grapheme: string) => void): void {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (let at = 0, end = 0; at < text.length; at = end) {
    do ++end; while (end < text.length && !isBreak(text, end));
    if (end === at + 1) use(text.charAt(at)); // the segmenter is slow
    else for (const { segment } of segmenter.segment(text.slice(at, end))) use(segment);
  }
}
