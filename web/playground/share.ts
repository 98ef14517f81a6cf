// SPDX-License-Identifier: Apache-2.0
/** The page's address holds all that a reader chose, and goes back with the browser. */
import { readAddress } from "../state/address.js";
import type { State } from "../state/state.js";
import { kInputs, kUsual, usualOf } from "./usual.js";

/** Typing and sliding change an address often, which browsers limit: it follows with this delay, in milliseconds. */
const kDelay = 250;

/** The parts of a state that change many times in a row, so that no change of them is a step to go back to. */
const kFlowing: ReadonlySet<string> = new Set<keyof State>(["text", "textPair", "source", "threshold", "topK", "temperature"]);

/** Pins are freed with each letter that is typed. */
const kPins: ReadonlySet<string> = new Set<keyof State>(["query", "key"]);

const isFlowing = (changed: readonly string[]): boolean =>
  changed.some((name) => kFlowing.has(name)) && changed.every((name) => kFlowing.has(name) || kPins.has(name));

/**
 * Returns the values that an address with `state` need not name: those of the state that its model opens in, whose pins
 * and second text belong to its own input only.
 */
function unnamed({ model = kUsual.model, src = "", ...state }: Partial<State>): Readonly<State> {
  const own = usualOf(model);
  const usual = { ...(own ?? kUsual), model: kUsual.model };
  const isInput = kInputs.every((name) => state[name] === undefined || state[name] === usual[name]);
  if (own && src === "" && isInput) return usual;
  const { attention, view } = kUsual;
  const first = own ? {} : { layer: 0, head: 0 }; // which every model has
  const other = { ...usual, attention, view, query: "", key: "", ...first };
  // An address without any input would be that of the usual one.
  return usual.textPair === "" ? other : { ...other, textPair: "", text: state.text === "" ? usual.text : "" };
}

export class Shared {
  #timer = 0;
  /** The address that was written or read last. */
  #last = location.hash;

  /** `state` returns what is shown, and `say` tells the reader something. */
  constructor(private readonly state: () => State, private readonly say: (words: string) => void) {}

  /** The state that the address holds. A packed text arrives later, by `later`. */
  read(later: (text: string) => void): State {
    this.#last = location.hash;
    const { state, text, needs } = readAddress(location.hash);
    text?.then(later, (error: unknown) => this.say(String(error)));
    if (needs.length > 0) this.say(`This address could not hold the ${needs.join(" and the ")}. Please give it once more.`);
    const usual = unnamed(text ? { ...state, text: "" } : state);
    return { ...usual, ...(needs.includes("image") && { image: "" }), ...state };
  }

  /** Writes what changed into the address: as a step to go back to, unless it is one of a row of changes. */
  write(changed: readonly string[]): void {
    clearTimeout(this.#timer);
    const isStep = !isFlowing(changed);
    this.#timer = window.setTimeout(() => void this.#write(isStep), isStep ? 0 : kDelay);
  }

  async #write(isStep: boolean): Promise<void> {
    const address = await this.#address();
    const hash = address === "" ? "" : `#${address}`;
    if (hash === this.#last) return;
    this.#last = hash;
    const url = `${location.pathname}${location.search}${hash}`;
    if (isStep) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  }

  /** The address that holds what is shown. */
  async link(): Promise<string> {
    return new URL(`#${await this.#address()}`, location.href).href;
  }

  async #address(): Promise<string> {
    const { writeAddress } = await import("../state/written-address.js");
    const state = this.state();
    return writeAddress(state, unnamed(state));
  }
}
