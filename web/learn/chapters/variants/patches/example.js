// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const picture = [
  0.9, 0.8, 0.1, 0.0,
  0.8, 0.9, 0.0, 0.1,
  0.1, 0.0, 0.9, 0.9,
  0.0, 0.1, 0.8, 0.9,
];
// Four patches of 2 × 2 pixels, each in one row, are the tokens.
const patches = [0, 2, 8, 10].flatMap((corner) => [0, 1, 4, 5].map((pixel) => picture[corner + pixel]));
const tokens = { data: patches, shape: [4, 4] };
const { weights } = engine.scaledDotProductAttention(tokens, tokens, tokens, { scale: 1, needWeights: true });
console.log(...weights.data); // bright patches look at bright ones
