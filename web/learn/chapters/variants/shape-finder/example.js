// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const model = await engine.loadModel("tiny-vit");
const isSquare = (x, y) => x >= 18 && x < 42 && y >= 6 && y < 30; // patches 3 to 6 of rows 1 to 4
const purple = [0, -0.8, 0.2], green = [0, 0.5, -0.6]; // red, green and blue from −1 to 1
const data = Float32Array.from({ length: 3 * 48 * 48 }, (_, i) =>
  (isSquare(i % 48, Math.floor(i / 48) % 48) ? purple : green)[Math.floor(i / 48 ** 2)]);
const seen = model.attend({ data, shape: [3, 48, 48] });
const { data: logits } = seen.logits();
console.log(logits.indexOf(Math.max(...logits))); // 1, a square
for (const layer of [0, 1]) { // head 2 of each
  const weights = seen.map(layer, 2, { rows: [0, 1] }).data.slice(1); // of CLS on the 8 × 8 patches
  const isOn = (patch) => isSquare((patch % 8) * 6, Math.floor(patch / 8) * 6);
  console.log(weights.reduce((sum, weight, patch) => (isOn(patch) ? sum + weight : sum), 0)); // on the square
}
