// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
// Numbers between −0.5 and 0.5 that are the same everywhere.
const some = (shape, step) => {
  const length = shape.reduce((a, b) => a * b);
  return { shape, data: Float32Array.from({ length }, (_, i) => ((i * step) % 101) / 101 - 0.5) };
};
const layer = engine.multiheadAttention({ embedDim: 256, numHeads: 8, bias: false, batchFirst: true });
layer.loadStateDict({ in_proj_weight: some([768, 256], 37), "out_proj.weight": some([256, 256], 53) });
const [decoder, encoder] = [some([2, 12, 256], 29), some([2, 20, 256], 41)];
const { output, weights } = layer.forward(decoder, encoder, encoder, { averageAttnWeights: false });
console.log(...output.shape, ...weights.shape); // 2 12 256 2 8 12 20
console.log(...weights.data.slice(0, 4), ...output.data.slice(0, 4));
