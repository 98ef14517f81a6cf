// SPDX-License-Identifier: Apache-2.0
/** Tokens that are searched for in a text before anything else: special tokens and words that were added to a vocabulary. */
import { show } from "../module/failures.js";
import type { Field } from "./fields.js";
import type { Normalizer } from "./normalizer.js";
import { Steps } from "./steps.js";
import { before, byteLength, kUnicodeWordClass, leadingWhitespace, trailingWhitespace } from "./unicode.js";
import type { Vocabulary } from "./vocabulary.js";

/** A part of a text: an added token, or the text between two of them. */
export interface Section {
  readonly text: string; // of an added token: none
  readonly id?: number;
  readonly isFirst: boolean; // true at the beginning of the text
}

interface Token {
  readonly content: string;
  readonly id: number;
  readonly isSingleWord: boolean;
  readonly stripsLeft: boolean;
  readonly stripsRight: boolean;
}

/** A state of the automaton that finds tokens, with the next state for each unit of UTF-16. */
class State {
  readonly next = new Map<number, State>();
  token: Token | undefined;

  /** Returns the state after `unit`, which is made when there is none. */
  after(unit: number): State {
    const next = this.next.get(unit) ?? new State();
    this.next.set(unit, next);
    return next;
  }

  /** Returns the longest token that begins at `at`, and its end. */
  find(text: string, at: number): { token: Token; end: number } | undefined {
    let found: { token: Token; end: number } | undefined;
    let state = this.next.get(text.charCodeAt(at));
    for (let end = at + 1; state; ++end) {
      if (state.token) found = { token: state.token, end };
      state = state.next.get(text.charCodeAt(end));
    }
    return found;
  }
}

const kMaxToken = 512; // in bytes; the time is the text's size times that of the longest token
const kWordCharacter = new RegExp(`^[${kUnicodeWordClass}]`, "u");

const startsWithWord = (text: string, at: number): boolean => kWordCharacter.test(text.slice(at, at + 2));
const endsWithWord = (text: string, end: number): boolean => end > 0 && startsWithWord(text, before(text, end));

export class AddedTokens {
  readonly #tokens = new Map<number, Token>();
  readonly #written = new State();
  readonly #normalized = new State();

  /** Reads "added_tokens" of tokenizer.json, which may be null. */
  constructor(field: Field, vocabulary: Vocabulary, normalizer: Normalizer) {
    const list = field.listIfAny();
    const bytes = list.reduce((sum, token) => sum + byteLength(token.at("content").text()), 0);
    const steps = new Steps(bytes); // all of them are one text
    for (const token of list) this.#add(token, vocabulary, normalizer, steps);
  }

  #add(field: Field, vocabulary: Vocabulary, normalizer: Normalizer, steps: Steps): void {
    const [content, id] = [field.at("content").text(), field.at("id").id()];
    if (content === "") return;
    if (byteLength(content) > kMaxToken) field.at("content").refuse(`tokens of up to ${kMaxToken} bytes`);
    const known = vocabulary.find(content) ?? id;
    if (known !== id) field.at("id").fail(`${known}, which model.vocab gives to ${show(content)}`);
    if ((this.#tokens.get(id)?.content ?? content) !== content) field.at("id").fail("an id that no other added token has");
    const token: Token = {
      content, id, isSingleWord: field.at("single_word").flag(false), stripsLeft: field.at("lstrip").flag(false),
      stripsRight: field.at("rstrip").flag(false),
    };
    this.#tokens.set(id, token);
    const isNormalized = field.at("normalized").flag(!field.at("special").flag(false));
    const found = isNormalized ? normalizer(content, steps).text : content;
    let state = isNormalized ? this.#normalized : this.#written;
    for (let i = 0; i < found.length; ++i) state = state.after(found.charCodeAt(i));
    if (found !== "") state.token = token;
  }

  /** Cuts a text at the tokens that it contains. `isNormalized` chooses those that are searched for in the normalized text. */
  split(section: Section, isNormalized: boolean): Section[] {
    const states = isNormalized ? this.#normalized : this.#written;
    const { text } = section;
    const sections: Section[] = [];
    let done = 0;
    const take = (begin: number, end: number, id?: number): void => {
      if (begin >= end) return;
      const isFirst = section.isFirst && begin === 0;
      sections.push(id === undefined ? { text: text.slice(begin, end), isFirst } : { text: "", id, isFirst });
      done = end;
    };
    let blank = 0; // the end of the last whitespace that was looked at, which is not looked at again
    for (let at = 0; at < text.length;) {
      const found = states.find(text, at);
      if (!found) {
        ++at;
        continue;
      }
      const { token } = found;
      let [begin, end] = [at, found.end];
      at = end;
      if (token.isSingleWord && (endsWithWord(text, begin) || startsWithWord(text, end))) continue;
      // A token of whitespace may begin in what the token before took. It is a token again, as in Hugging Face's library.
      if (token.stripsLeft) begin = done < begin ? begin - trailingWhitespace(text.slice(done, begin)) : done;
      if (token.stripsRight) end = blank = blank > end ? blank : end + leadingWhitespace(text.slice(end));
      take(done, begin);
      take(begin, end, token.id);
    }
    take(done, text.length);
    return sections;
  }

  tokenOf(id: number): string | undefined {
    return this.#tokens.get(id)?.content;
  }
}
