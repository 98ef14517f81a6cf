// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const q = { data: [1, 0, 0, 1, 1, 1, 2, 0], shape: [4, 1, 2] }; // four heads, one query
const k = { data: [1, 0, 0, 1, 1, 1, 0, 2, 2, 0, 1, 1], shape: [2, 3, 2] }; // two heads, three keys
const batch = ({ data, shape }) => ({ data, shape: [1, ...shape] });
const options = { enableGqa: true, needWeights: true };
const { weights } = engine.scaledDotProductAttention(batch(q), batch(k), batch(k), options);
console.log(...weights.data);
