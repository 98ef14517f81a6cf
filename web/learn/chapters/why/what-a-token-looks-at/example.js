// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const model = await engine.loadModel("tiny");
const seen = model.attend("The queen saw the king and she laughed."); // <s> is put before it
const and = 6;
const row = seen.map(3, 4, { rows: [and, and + 1] }).data; // layer 3, head 4
console.log(...row); // the share of each token
console.log(row.reduce((sum, share) => sum + share, 0));
