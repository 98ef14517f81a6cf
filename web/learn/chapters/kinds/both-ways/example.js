// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const texts = ["The cat sat on the mat", "The cat sat on the chair"];
for (const name of ["tiny", "tiny-bert"]) { // a decoder and an encoder
  const model = await engine.loadModel(name);
  const [mat, chair] = texts.map((text) => model.attend(text, { keepHidden: true }).hidden(3)); // before layer 3
  const difference = mat.data.map((x, i) => x - chair.data[i]); // [tokens, 128]
  for (let first = 0; first < difference.length; first += 128)
    console.log(Math.hypot(...difference.slice(first, first + 128))); // how far the vector of each token moves
}
