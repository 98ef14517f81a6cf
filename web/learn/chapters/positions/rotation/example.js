// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const four = ([x, y]) => ({ data: [x, y, x, y, x, y, x, y], shape: [4, 2] }); // one vector at four positions
const [q, k] = [four([1, 0.2]), four([0.8, 0.6])];
const { scores } = engine.scaledDotProductAttention(q, k, k, { rotary: "half", stages: ["scores"] });
console.log(...scores.data); // each diagonal has one number
