// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const words = { dog: [1, 0.5], bites: [0, 2], man: [-1, 1] };
const attend = (text, options) => {
  const x = { data: text.flatMap((word) => words[word]), shape: [3, 2] };
  return engine.scaledDotProductAttention(x, x, x, options).output.data;
};
const [one, other] = [["dog", "bites", "man"], ["man", "bites", "dog"]];
console.log(...attend(one));
console.log(...attend(other)); // the same rows, in the other order
const relativeBias = { data: [0, 0, 0, 1, 0], shape: [1, 5] }; // for distances from -2 to 2
console.log(...attend(one, { relativeBias }));
console.log(...attend(other, { relativeBias })); // other numbers
