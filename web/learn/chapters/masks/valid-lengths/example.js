// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
// Numbers between −0.5 and 0.5 that are the same everywhere.
const some = (shape, step) => {
  const length = shape.reduce((a, b) => a * b);
  return { shape, data: Float32Array.from({ length }, (_, i) => ((i * step) % 101) / 101 - 0.5) };
};
const layer = engine.multiheadAttention({ embedDim: 100, numHeads: 5, bias: false, batchFirst: true });
layer.loadStateDict({ in_proj_weight: some([300, 100], 37), "out_proj.weight": some([100, 100], 53) });
const [x, y] = [some([2, 4, 100], 29), some([2, 6, 100], 41)];
const validLens = { data: Int32Array.of(3, 2), shape: [2] };
const { output, weights } = layer.forward(x, y, y, { validLens, averageAttnWeights: false });
console.log(...output.shape, ...weights.shape); // 2 4 100 2 5 4 6
console.log(...weights.data.slice(0, 6), ...weights.data.slice(-6), ...output.data.slice(0, 4));
