// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const x = [0.21, 0.85, 0.14, 0.62, 0.45, 0.33, 0.71, 0.18, 0.05, 0.12, 0.88, 0.09, 0.19, 0.79, 0.22, 0.58];
// Weights are [out, in], as in PyTorch.
const wq = [-1.19, -0.44, -1.13, -0.21, 2, -1.47, -0.43, -1.34, 0.27, -0.97, 1.51, -0.9, 0.15, -0.75, 0.95, -0.57];
const wk = [-0.74, -1.05, 0.72, -0.81, -2, 0.82, -1.36, 1.19, 0.61, -1.16, 1.1, -1.02, 0.33, -0.81, 0.73, -0.69];
const wv = [0.5, 0.3, -0.6, 0.2, -0.2, 0.8, 0.4, 0.9, 0.9, -0.4, 0.7, 0.1, 0.1, 0.6, -0.3, 0.5];
const wo = [0.6, 0.3, -0.4, 0.1, -0.1, 0.7, 0.2, 0.5, 0.2, -0.2, 0.8, -0.3, 0.4, 0.1, 0.3, 0.6];
const layer = engine.multiheadAttention({ embedDim: 4, numHeads: 2, bias: false });
layer.loadStateDict({
  in_proj_weight: { data: [...wq, ...wk, ...wv], shape: [12, 4] },
  "out_proj.weight": { data: wo, shape: [4, 4] },
});
const { weights, output } = layer.forward({ data: x, shape: [4, 4] }, { averageAttnWeights: false });
console.log(...weights.data); // head 0, then head 1
console.log(...output.data);
