// SPDX-License-Identifier: Apache-2.0
/**
 * The state of an element: what is looked at, and how. One table says how each part of it is written as text, which
 * attributes, the page's address and exports share.
 */

export interface State {
  text: string;
  /** A built-in name or the URL of a Hugging Face folder. */
  model: string;
  /** The address of a file with maps, or nothing. */
  src: string;
  view: string;
  layer: number;
  head: number;
  causal: boolean;
  /** "auto", "fixed", "head", "row" or "log". */
  scale: string;
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

const kIndex: Field<number> = {
  initial: 0,
  read: (text) => (text.trim() === "" ? NaN : Number(text)),
  write: String,
};

const kFlag: Field<boolean> = {
  initial: false,
  read: (text) => text !== "false" && text !== "0",
  write: (value) => (value ? "true" : "false"),
};

export const kFields: { readonly [Name in keyof State]: Field<State[Name]> } = {
  text: word(""),
  model: word("tiny"),
  src: word(""),
  view: word("grid"),
  layer: kIndex,
  head: kIndex,
  causal: kFlag,
  scale: word("auto"),
  theme: word("auto"),
};

export const kInitial: Readonly<State> = {
  text: kFields.text.initial,
  model: kFields.model.initial,
  src: kFields.src.initial,
  view: kFields.view.initial,
  layer: kFields.layer.initial,
  head: kFields.head.initial,
  causal: kFields.causal.initial,
  scale: kFields.scale.initial,
  theme: kFields.theme.initial,
};

interface Attribute<T> {
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
function attributeOf<T>({ initial, read, write }: Field<T>): Attribute<T> {
  const fromAttribute = (text: string | null): T => (text === null ? initial : read(text));
  const toAttribute = (value: T): string | null => (value === initial ? null : write(value));
  return { reflect: true, converter: { fromAttribute, toAttribute } };
}

/** The state's fields as attributes of an element. */
export const kAttributes = {
  text: attributeOf(kFields.text),
  model: attributeOf(kFields.model),
  src: attributeOf(kFields.src),
  view: attributeOf(kFields.view),
  layer: attributeOf(kFields.layer),
  head: attributeOf(kFields.head),
  causal: attributeOf(kFields.causal),
  scale: attributeOf(kFields.scale),
  theme: attributeOf(kFields.theme),
};

function readField<Name extends keyof State>(state: Partial<State>, name: Name, text: string): void {
  state[name] = kFields[name].read(text);
}

/** Reads the parts of a state that an address names. */
export function readState(parameters: URLSearchParams): Partial<State> {
  const state: Partial<State> = {};
  for (const name of Object.keys(kFields) as (keyof State)[]) {
    const text = parameters.get(name);
    if (text !== null) readField(state, name, text);
  }
  return state;
}

function writeField<Name extends keyof State>(name: Name, value: State[Name]): string {
  return kFields[name].write(value);
}

/** Writes the parts of a state that differ from `usual`. */
export function writeState(state: Partial<State>, usual: Readonly<State> = kInitial): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(kFields) as (keyof State)[]) {
    const value = state[name];
    if (value !== undefined && value !== usual[name]) parameters.set(name, writeField(name, value));
  }
  return parameters;
}
