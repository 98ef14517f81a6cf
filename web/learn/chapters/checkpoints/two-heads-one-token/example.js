// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [8, 8], shape: [2, 1, 1] }; // both heads ask for nouns
const keys = { data: [0.2, 1, 0.1, 0.2, 1, 0.1], shape: [2, 3, 1] }; // the same “noun” of two, cats, sleep in both
const values = { data: [0.6, 0.9, 0.4, 0, 0.3, 0.7], shape: [2, 3, 1] }; // head 0 reads “plural”, head 1 “animal”
const { weights, output } = engine.scaledDotProductAttention(query, keys, values, { needWeights: true });
console.log(...weights.data);
console.log(...output.data);
