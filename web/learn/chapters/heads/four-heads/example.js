// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const wave = (rows, step, size) =>
  ({ data: Array.from({ length: rows * 16 }, (_, i) => size * Math.sin(step * i)), shape: [rows, 16] });
const layer = engine.multiheadAttention({ embedDim: 16, numHeads: 4, bias: false });
layer.loadStateDict({ in_proj_weight: wave(48, 1.1, 1), "out_proj.weight": wave(16, 1.3, 1 / 4) });
const { weights, output } = layer.forward(wave(4, 0.7, 1), { averageAttnWeights: false });
console.log(...weights.data.slice(3 * 16)); // head 3
console.log(...output.data.slice(0, 16)); // token 0
