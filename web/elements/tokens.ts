// SPDX-License-Identifier: Apache-2.0
/** How a token is shown: as text only, on its own direction, with what cannot be seen made visible. */
import { html } from "lit";
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
/** Characters of a token's name in a sentence. */
const kLongest = 20;

interface Piece {
  text: string;
  /** It stands for a character that cannot be seen. */
  mark: boolean;
}

/** Spaces, line ends, control and format characters become marks; joiners inside an emoji stay. */
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

/** A token for the eye: spaces and other unseen characters as faint marks. */
export function tokenLabel(token: string): TemplateResult {
  // A space's mark is drawn by the style sheet: it is no part of the text.
  const mark = (text: string): TemplateResult =>
    /^·+$/.test(text) ? html`<i data-mark=${text}></i>` : html`<i>${text}</i>`;
  return html`<bdi class="token">${pieces(token).map((piece) => (piece.mark ? mark(piece.text) : piece.text))}</bdi>`;
}

/** A token inside a sentence, for reading aloud: without the space that begins a word, shortened, isolated from the text's direction. */
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

/** How many columns of a monospaced font the label takes, for layout. */
export function tokenWidth(token: string): number {
  return pieces(token).reduce((sum, piece) => sum + [...piece.text].length, 0);
}
