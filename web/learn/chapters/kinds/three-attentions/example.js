// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const model = await engine.loadModel("tiny-translator");
const seen = model.attend({ source: "the king's cat never sleeps", target: "le chat du roi ne dort jamais" });
for (const attention of ["encoder", "decoder", "cross"]) {
  const { data, shape } = seen.map(1, 0, { attention }); // layer 1, head 0
  const columns = shape[1];
  const ahead = data.reduce((sum, weight, i) => (i % columns > Math.floor(i / columns) ? sum + weight : sum), 0);
  console.log(...shape, ahead); // all weights above the diagonal: 0 in the decoder
}
