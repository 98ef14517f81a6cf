// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const words = { data: [1, 0, 0, 0, 1, 0, 0, 0, 1], shape: [3, 3] }; // red, green, blue
// The colours of four patches.
const patches = { data: [0.9, 0.1, 0, 0.1, 0.8, 0.2, 0, 0.2, 0.9, 0, 0, 0], shape: [4, 3] };
const sharpness = 4;
const options = { scale: sharpness, needWeights: true };
const { weights, output } = engine.scaledDotProductAttention(words, patches, patches, options);
console.log(...weights.shape, ...weights.data); // for each word, a map of the picture
console.log(...output.data); // the colours that words bring back
