// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const zeros = (...shape) => ({ data: new Float32Array(shape.reduce((size, one) => size * one)), shape });
const layer = engine.multiheadAttention({ embedDim: 64, numHeads: 8, bias: false });
layer.loadStateDict({ in_proj_weight: zeros(3 * 64, 64), "out_proj.weight": zeros(64, 64) });
for (const tokens of [64, 128, 256]) {
  const { weights } = layer.forward(zeros(tokens, 64), { averageAttnWeights: false }); // [8, T, T]
  const projections = tokens * layer.parameterCount; // each token meets each parameter
  const rest = 2 * weights.data.length * (64 / 8); // d for each score, and d for each weighted value
  console.log(projections, rest);
}
