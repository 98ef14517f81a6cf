// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const model = await engine.loadModel("tiny");
const seen = model.attend("The queen saw the king and she laughed.");
for (const [layer, head] of [[0, 5], [3, 4], [1, 0]]) { // previous token, a specific link, first token
  const weights = seen.map(layer, head, { rows: [6, 7] }).data; // the row of “and”
  const most = Math.max(...weights);
  console.log(weights.indexOf(most), most); // the token that it looks at most
}
