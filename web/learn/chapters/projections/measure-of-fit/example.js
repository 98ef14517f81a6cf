// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [2, 1], shape: [1, 2] };
const keys = { data: [2, 1, 0, 1], shape: [2, 2] }; // cat, The
const { scores } = engine.scaledDotProductAttention(query, keys, keys, { stages: ["scores"] });
console.log(...scores.data);
