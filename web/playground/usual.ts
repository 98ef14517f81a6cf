// SPDX-License-Identifier: Apache-2.0
import { kInitial, type State } from "../state/state.js";

/** Returns the whole state of an example, which opens as a map. */
export const opened = (state: Partial<State>): State => ({ ...kInitial, view: "map", ...state });

/** The picture that a model of the page looks at when none is named. */
export const kUsualPicture = new URL("./pictures/triangle.png", import.meta.url).href;

/** The texts that the page's translator reads when none is named, and a head that it has. */
export const kUsualTranslation = {
  source: "The small cat does not eat the black fish.", text: "le petit chat ne mange pas le poisson noir.",
  layer: 1, head: 0,
};

/** The state that the page opens in, and from which an address says what differs. */
export const kUsual: Readonly<State> = opened({
  text: "The queen saw the king and she laughed.", layer: 3, head: 4, query: "6", key: "2",
});
