// SPDX-License-Identifier: Apache-2.0
/** The display of tokens: as plain text in its own direction, with invisible characters made visible. */
import { html, nothing } from "lit";
import type { TemplateResult } from "lit";

const kVisible = new Map([
  [" ", "·"],
  ["\u00a0", "·"],
  ["\n", "↵"],
  ["\r", "↵"],
  ["\t", "⇥"],
]);
const kUnseen = /[\p{Cc}\p{Cf}\p{Z}]/u;
const kPicture = /\p{Extended_Pictographic}/u;
const kCombining = /^\p{M}/u;
/** The longest name of a token in a sentence, in characters. */
const kLongest = 20;

interface Piece {
  text: string;
  /** True for a character that is invisible. */
  mark: boolean;
}

/**
 * Cuts a token into visible text and marks. Spaces, line ends, control and format characters become marks, but joiners
 * inside an emoji stay.
 */
function pieces(token: string): Piece[] {
  if (token === "") return [{ text: "∅", mark: true }];
  if (kPicture.test(token) && !token.includes(" ")) return [{ text: token, mark: false }];
  const result: Piece[] = [];
  for (const char of kCombining.test(token) ? `◌${token}` : token) {
    const mark = kUnseen.test(char);
    const code = (): string => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
    const text = mark ? (kVisible.get(char) ?? code()) : char;
    const last = result.at(-1);
    if (last?.mark === mark) last.text += text;
    else result.push({ text, mark });
  }
  return result;
}

/** The label of a token, with spaces and other invisible characters as faint marks. */
export function tokenLabel(token: string): TemplateResult {
  const all = pieces(token);
  // The style sheet draws the marks of spaces, so that they are not part of the text. A page has many tokens, and nearly
  // all are one piece, or one after a space: they are a single element each.
  const isSpace = (piece: Piece | undefined): boolean => piece?.mark === true && /^·+$/.test(piece.text);
  const space = isSpace(all[0]) ? all.shift()?.text : undefined;
  const piece = (one: Piece): TemplateResult | string =>
    isSpace(one) ? html`<i data-mark=${one.text}></i>` : one.mark ? html`<i>${one.text}</i>` : one.text;
  const rest = all.length > 1 ? all.map(piece) : all.map(piece)[0];
  return html`<bdi class="token" data-mark=${space ?? nothing}>${rest}</bdi>`;
}

/**
 * The name of a token in a sentence that is read aloud: without the space that begins a word, shortened, and isolated
 * from the text's direction.
 */
export function tokenName(token: string): string {
  const word = token.trimStart() === "" ? token : token.replace(/^ /, "");
  const text =
    word === " "
      ? "space"
      : pieces(word)
          .map((piece) => piece.text)
          .join("");
  const short = text.length > kLongest ? `${[...text].slice(0, kLongest - 1).join("")}…` : text;
  return `‘\u2068${short}\u2069’`;
}

/** The label of a token as plain text, shortened to `most` characters. */
export function tokenText(token: string, most: number): string {
  const letters = [...pieces(token).map((piece) => piece.text).join("")];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

/** True for the name of a special token, such as <s> or [CLS]. */
export const isSpecial = (token: string): boolean => /^(<[^<>\s]+>|\[[^\s[\]]+\])$/.test(token);

/** The number of columns that the label takes in a monospaced font, for layout. */
export function tokenWidth(token: string): number {
  return pieces(token).reduce((sum, piece) => sum + [...piece.text].length, 0);
}
