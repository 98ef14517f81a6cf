// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const model = await engine.loadModel("tiny-translator");
const seen = model.attend({ source: "the red horse does not sleep", target: "le cheval rouge ne dort pas" });
const { data, shape: [rows, columns] } = seen.map(1, 0, { attention: "cross" }); // layer 1, head 0
for (let row = 0; row < rows; ++row) { // a row for each French token, which writes the next
  const weights = data.subarray(row * columns, (row + 1) * columns);
  const most = Math.max(...weights);
  console.log(weights.indexOf(most), most); // the English token that it looks at most
}
