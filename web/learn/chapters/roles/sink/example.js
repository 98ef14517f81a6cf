// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const model = await engine.loadModel("tiny");
const seen = model.attend("The queen saw the king and she laughed.", { keepValues: true });
const { data } = seen.map(1, 0); // layer 1, head 0: a row of 10 weights for each token
console.log(...data.filter((_, i) => i % 10 === 0)); // the weight that each token gives to <s>
const values = seen.values(1).data.slice(0, 10 * 16); // those of head 0
const lengths = Array.from({ length: 10 }, (_, token) => Math.hypot(...values.slice(16 * token, 16 * (token + 1))));
console.log(...lengths); // that of <s> is the shortest
