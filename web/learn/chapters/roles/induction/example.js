// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const model = await engine.loadModel("tiny");
const words = " river king seven letter garden sister";
const headMask = { data: new Float32Array(4 * 8).fill(1), shape: [4, 8] };
for (const factor of [1, 0]) {
  headMask.data[5] = factor; // 0 silences the previous-token head, layer 0, head 5
  const seen = model.attend(words + words, { headMask });
  const options = { isCausal: true, tokens: [...seen.ids], metrics: ["induction"] };
  console.log(...[0, 1, 2].map((head) => engine.headMetrics(seen.map(1, head), options)[0].induction)); // of layer 1
}
