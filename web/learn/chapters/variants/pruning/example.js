// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const x = { data: [1, 0, 2, 1, 0, 1, 1, 3], shape: [2, 4] }; // two tokens of width 4, two heads
const eye = (rows) => Array.from({ length: rows * 4 }, (_, i) => Number(Math.floor(i / 4) % 4 === i % 4));
const layer = engine.multiheadAttention({ embedDim: 4, numHeads: 2, bias: false });
layer.loadStateDict({
  in_proj_weight: { data: eye(12), shape: [12, 4] }, "out_proj.weight": { data: eye(4), shape: [4, 4] },
});
for (const mask of [[1, 1], [0, 1]]) {
  const { output } = layer.forward(x, { headMask: { data: mask, shape: [2] } });
  console.log(...output.data);
}
