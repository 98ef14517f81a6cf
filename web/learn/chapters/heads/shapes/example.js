// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const zeros = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)), shape });
const layer = engine.multiheadAttention({ embedDim: 8, numHeads: 2, bias: false, batchFirst: true });
layer.loadStateDict({ in_proj_weight: zeros(24, 8), "out_proj.weight": zeros(8, 8) });
const x = zeros(3, 5, 8); // three sequences of five tokens of width 8
const { q, scores, headOutputs, output } = layer.forward(x, { stages: ["q", "scores", "headOutputs"] });
console.log(...q.shape); // 3 2 5 4: each head has half of the width
console.log(...scores.shape); // 3 2 5 5: tokens twice
console.log(...headOutputs.shape); // 3 2 5 4
console.log(...output.shape); // 3 5 8
