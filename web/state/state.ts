// SPDX-License-Identifier: Apache-2.0
/**
 * The state of an element: what is looked at, and how. One table says how each part of it is written as text, which
 * attributes, the page's address and exports share.
 */

export interface State {
  text: string;
  /** A second text, which follows the first in models that compare two (BERT). */
  textPair: string;
  /** For encoder–decoders: the text that is translated. `text` is then the translation. */
  source: string;
  /** The address of a picture, for models that read pictures. */
  image: string;
  /** A built-in name or the URL of a Hugging Face folder. */
  model: string;
  /** The address of a file with maps, or nothing. */
  src: string;
  view: string;
  layer: number;
  head: number;
  /** For encoder–decoders: "decoder", "encoder" or "cross". */
  attention: string;
  /** Heads that are shown together with the open one, as "3.2 1.4": layers and heads. */
  heads: string;
  /** The map that several heads make together: "none", "mean", "max" or "norm". */
  combine: string;
  /** The pinned tokens that look: rows, as "6" or "6 7 8". */
  query: string;
  /** The pinned tokens that are looked at: columns, as "2" or "2 3". Views of one column take the last. */
  key: string;
  /** The key with which the pinned one is compared: a column, "next" for the strongest other one, or nothing. */
  against: string;
  causal: boolean;
  /** The form of lines between tokens: "columns" or "arcs". */
  lines: string;
  /** "auto", "fixed", "head", "row" or "log". */
  scale: string;
  /** The end of a fixed scale, so that figures of different maps can be compared; 0 where it ends as it usually does. */
  range: number;
  /** Smaller weights are not drawn. */
  threshold: number;
  /** The number of keys of each query that are drawn; 0 for all. */
  topK: number;
  /** The keys that are not drawn, as "sink special punctuation". */
  hide: string;
  /** "none", or "words": the pieces of a word are one token. */
  merge: string;
  /** The links between the segments of two texts that are drawn: "all", "AA", "AB", "BA" or "BB". */
  segments: string;
  /** The heads that are silenced, as "3.2 cross:1.4": layer and head, of the decoder's own attention or the named one. */
  ablate: string;
  /** The tokens whose values are zeros, as "2 5". */
  zeroToken: string;
  /** The distances to earlier tokens at which no query looks, as "0 1". */
  forbid: string;
  temperature: number;
  normalizer: string;
  /** Another text, source, head or model, with which this one is compared. */
  compareText: string;
  compareSource: string;
  compareHead: string;
  compareModel: string;
  /** "auto", "light" or "dark". */
  theme: string;
}

interface Field<T> {
  readonly initial: T;
  /** Reads text that anyone may have written. What is no such value is refused where it is used, in words. */
  read(this: void, text: string): T;
  write(this: void, value: T): string;
}

const word = (initial: string): Field<string> => ({ initial, read: (text) => text, write: (value) => value });

const number = (initial: number): Field<number> => ({
  initial,
  read: (text) => (text.trim() === "" ? NaN : Number(text)),
  write: String,
});

const kFlag: Field<boolean> = {
  initial: false,
  read: (text) => text !== "false" && text !== "0",
  write: (value) => (value ? "true" : "false"),
};

export const kFields: { readonly [Name in keyof State]: Field<State[Name]> } = {
  text: word(""),
  textPair: word(""),
  source: word(""),
  image: word(""),
  model: word("tiny"),
  src: word(""),
  view: word("grid"),
  layer: number(0),
  head: number(0),
  attention: word("decoder"),
  heads: word(""),
  combine: word("none"),
  query: word(""),
  key: word(""),
  against: word(""),
  causal: kFlag,
  lines: word("columns"),
  scale: word("auto"),
  range: number(0),
  threshold: number(0),
  topK: number(0),
  hide: word(""),
  merge: word("none"),
  segments: word("all"),
  ablate: word(""),
  zeroToken: word(""),
  forbid: word(""),
  temperature: number(1),
  normalizer: word("softmax"),
  compareText: word(""),
  compareSource: word(""),
  compareHead: word(""),
  compareModel: word(""),
  theme: word("auto"),
};

export const kNames = Object.keys(kFields) as readonly (keyof State)[];

/** The parts of a state that shape maps. */
export const kShaping = ["combine", "heads", "threshold", "topK", "hide", "merge", "segments"] as const;

export type Shaping = Pick<State, (typeof kShaping)[number]>;

function mapped<T>(make: (name: keyof State) => T): { readonly [Name in keyof State]: T } {
  return Object.fromEntries(kNames.map((name) => [name, make(name)])) as { readonly [Name in keyof State]: T };
}

export const kInitial = mapped<unknown>((name) => kFields[name].initial) as Readonly<State>;

/** The name of a field in an attribute and in an address: `textPair` is "text-pair". */
const written = (name: keyof State): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

interface Attribute<T> {
  readonly attribute: string;
  readonly reflect: true;
  readonly converter: {
    fromAttribute(this: void, text: string | null): T;
    toAttribute(this: void, value: T): string | null;
  };
}

/**
 * One field as an attribute of an element, for Lit. An attribute that is removed has its initial value again, and a
 * property with that has no attribute.
 */
function attributeOf<T>(attribute: string, { initial, read, write }: Field<T>): Attribute<T> {
  const fromAttribute = (text: string | null): T => (text === null ? initial : read(text));
  const toAttribute = (value: T): string | null => (value === initial ? null : write(value));
  return { attribute, reflect: true, converter: { fromAttribute, toAttribute } };
}

/** The state's fields as attributes of an element. */
export const kAttributes = mapped<unknown>((name) => attributeOf(written(name), kFields[name] as Field<unknown>)) as
  { readonly [Name in keyof State]: Attribute<State[Name]> };

function readField<Name extends keyof State>(state: Partial<State>, name: Name, text: string): void {
  state[name] = kFields[name].read(text);
}

/** Reads the parts of a state that an address names. */
export function readState(parameters: URLSearchParams): Partial<State> {
  const state: Partial<State> = {};
  for (const name of kNames) {
    const text = parameters.get(written(name));
    if (text !== null) readField(state, name, text);
  }
  return state;
}

function writeField<Name extends keyof State>(name: Name, value: State[Name]): string {
  return kFields[name].write(value);
}

/** Writes the parts of a state that differ from `usual`. */
export function writeState(state: Partial<State>, usual: Readonly<Partial<State>> = kInitial): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of kNames) {
    const value = state[name];
    if (value !== undefined && value !== usual[name]) parameters.set(written(name), writeField(name, value));
  }
  return parameters;
}
