// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const texts = ["The cat sat on the mat", "The cat sat on the chair"];
for (const name of ["tiny", "tiny-bert"]) { // a decoder and an encoder
  const model = await engine.loadModel(name);
  const [mat, chair] = texts.map((text) => model.attend(text, { keepHidden: true }).hidden(3)); // before layer 3
  const tokens = Array.from({ length: mat.shape[0] }, (_, token) => token * 128);
  const distance = (first) => Math.hypot(...mat.data.slice(first, first + 128).map((x, i) => x - chair.data[first + i]));
  console.log(...tokens.map(distance)); // how far the vector of each token moves
}
