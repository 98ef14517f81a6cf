// SPDX-License-Identifier: Apache-2.0
import { kInitial, type State } from "../state/state.js";

/** The inputs of a model. */
export const kInputs = ["text", "textPair", "source", "image"] as const;
export type Input = Pick<State, (typeof kInputs)[number]>;

/** Returns the whole state of an example, which opens as a map. */
export const opened = (state: Partial<State>): State => ({ ...kInitial, view: "map", ...state });

/** The state that the page opens in. */
export const kUsual: Readonly<State> = opened({
  text: "The queen saw the king and she laughed.", layer: 3, head: 4, query: "6", key: "2",
});

export const kUsualPair: Readonly<State> = opened({
  model: "tiny-bert", text: "Lucy wanted pears, eggs and milk.", textPair: "She bought pears, eggs and milk.",
  layer: 1, head: 2, query: "14", key: "5",
});

export const kUsualTranslation: Readonly<State> = opened({
  model: "tiny-translator", source: "The small cat does not eat the black fish.",
  text: "le petit chat ne mange pas le poisson noir.", attention: "cross", layer: 1, head: 0, query: "8", key: "7",
});

export const kUsualPicture: Readonly<State> = opened({
  model: "tiny-vit", image: new URL("./pictures/triangle.png", import.meta.url).href, view: "picture", layer: 1, head: 2,
  query: "0",
});

/** Returns what a built-in model opens with when it is chosen, or when an address names nothing but the model. */
export const usualOf = (model: string): Readonly<State> | undefined =>
  [kUsual, kUsualPair, kUsualTranslation, kUsualPicture].find((state) => state.model === model);
