// SPDX-License-Identifier: Apache-2.0
/** The page can open with these: for each built-in model inputs in which one of its heads makes its point. */
import type { State } from "../state/state.js";
import { kUsual, kUsualPicture, kUsualTranslation, opened } from "./usual.js";

export interface Example {
  readonly title: string;
  readonly state: Readonly<State>;
}

const of = (title: string, state: Partial<State>): Example => ({ title, state: opened(state) });

/** The first of each model is what the page shows when the model is chosen. */
export const kExamples: readonly Example[] = [
  { title: "A pronoun finds its person", state: kUsual },
  of("A verb finds its subject", {
    text: "The boy who saw the children was happy.", layer: 3, head: 2, query: "6", key: "2",
  }),
  of("Repetition: induction", {
    text: "Anna has a red ball and Tom has a kite. Anna has a red", layer: 1, head: 2, query: "17", key: "6",
  }),
  of("The token before", { text: "Once upon a time there was a little mouse.", layer: 0, head: 5, query: "5", key: "4" }),
  of("A quotation mark finds its partner", {
    text: "It was late. \"Come here,\" said the man.", layer: 2, head: 3, query: "12", key: "7",
  }),
  of("The same word in two sentences", {
    model: "tiny-bert", text: "Lucy wanted pears, eggs and milk.", textPair: "She bought pears, eggs and milk.",
    layer: 1, head: 2, query: "14", key: "5",
  }),
  of("Words that fit a blank", {
    model: "tiny-bert", text: "The lamp is on the road. The key is in the box. Where is the lamp?",
    textPair: "It is on the [MASK].", layer: 2, head: 4, query: "25", key: "6",
  }),
  of("A translation, word by word", {
    model: "tiny-translator", ...kUsualTranslation, attention: "cross", query: "8", key: "7",
  }),
  of("The patches of a triangle", {
    model: "tiny-vit", image: kUsualPicture, view: "picture", layer: 1, head: 2, query: "0",
  }),
  of("The patches of an arrow", {
    model: "tiny-vit", image: new URL("./pictures/arrow.png", import.meta.url).href, view: "picture", layer: 1, head: 2,
    query: "0",
  }),
  of("A patch and its neighbours", {
    model: "tiny-vit", image: new URL("./pictures/ring.png", import.meta.url).href, view: "picture", layer: 1, head: 1,
    query: "28",
  }),
];

/** The first example of a model, if it has one. */
export const firstOf = (model: string): Example | undefined => kExamples.find(({ state }) => state.model === model);
