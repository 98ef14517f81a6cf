// SPDX-License-Identifier: Apache-2.0
/** The page can open with these: for each built-in model inputs in which one of its heads makes its point. */
import type { State } from "../state/state.js";
import { type Input, kUsual, kUsualPair, kUsualPicture, kUsualTranslation, opened } from "./usual.js";

export interface Example {
  readonly title: string;
  readonly state: Readonly<State>;
}

const of = (title: string, state: Partial<State>): Example => ({ title, state: opened(state) });

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
  { title: "The same word in two sentences", state: kUsualPair },
  of("Words that fit a blank", {
    model: "tiny-bert", text: "The lamp is on the road. The key is in the box. Where is the lamp?",
    textPair: "It is on the [MASK].", layer: 2, head: 4, query: "25", key: "6",
  }),
  { title: "A translation, word by word", state: kUsualTranslation },
  { title: "The patches of a triangle", state: kUsualPicture },
  of("The patches of an arrow", {
    model: "tiny-vit", image: new URL("./pictures/arrow.png", import.meta.url).href, view: "picture", layer: 1, head: 2,
    query: "0",
  }),
  of("A patch and its neighbours", {
    model: "tiny-vit", image: new URL("./pictures/ring.png", import.meta.url).href, view: "picture", layer: 1, head: 1,
    query: "28",
  }),
];

/** Inputs beside those of the examples, in which heads of the built-in models find something, for the open head in other texts. */
export const kMore: Readonly<Record<string, readonly Partial<Input>[]>> = {
  tiny: [
    { text: "The king saw the queen and he laughed." },
    { text: "The girls that saw the cat were sad." },
    { text: "Lucy lost a ring and Sam lost a hat. Lucy lost a ring" },
    { text: "\"I am hungry,\" said the bear. \"Come in,\" said the fox." },
  ],
  "tiny-bert": [
    { text: "Tom wanted apples, bread and cheese.", textPair: "He bought apples, bread and cheese." },
    { text: "The ball is in the box. The hat is on the bed. Where is the hat?", textPair: "It is on the [MASK]." },
  ],
  "tiny-translator": [
    { source: "the king's cat never sleeps.", text: "le chat du roi ne dort jamais." },
    { source: "The small dog eats the white fish.", text: "le petit chien mange le poisson blanc." },
    { source: "the queen's dog does not sleep.", text: "le chien de la reine ne dort pas." },
  ],
};

/** Fills the menu of examples. `open` opens one. */
export function listExamples(menu: HTMLElement, open: (state: Partial<State>) => void): void {
  menu.replaceChildren(...kExamples.map(({ title, state }) => {
    const [item, button] = [document.createElement("li"), document.createElement("button")];
    button.textContent = title;
    button.addEventListener("click", () => {
      button.closest("details")?.removeAttribute("open");
      open(state);
    });
    item.append(button);
    return item;
  }));
}
