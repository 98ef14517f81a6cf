// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const words = [1, 0.5, 0, 2, -1, 1, 1, 0.5, 2, -1]; // the dog saw the cat, two numbers each
const positions = engine.sinusoidalPositions(5, 2).data;
for (const data of [words, words.map((number, i) => number + positions[i])]) {
  const x = { data, shape: [5, 2] };
  const output = engine.scaledDotProductAttention(x, x, x).output.data;
  console.log(...output.slice(0, 2), ...output.slice(6, 8)); // both “the”
}
