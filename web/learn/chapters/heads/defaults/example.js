// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const zeros = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)), shape });
const layer = engine.multiheadAttention({ embedDim: 128, numHeads: 8, bias: false }); // tokens first
layer.loadStateDict({ in_proj_weight: zeros(384, 128), "out_proj.weight": zeros(128, 128) });
const x = zeros(16, 4, 128); // 16 tokens of 4 sequences
console.log(...layer.forward(x).weights.shape); // 4 16 16: averaged over heads
console.log(...layer.forward(x, { averageAttnWeights: false }).weights.shape); // 4 8 16 16
console.log(...layer.forward(zeros(4, 16, 128)).weights.shape); // 16 4 4: sequences taken for tokens, and no error
