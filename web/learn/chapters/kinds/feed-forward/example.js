// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
// A layer whose attention adds nothing, so that it gives x + FFN(norm(x)). The mean square of each token is 1: the norm leaves it as it is.
const layer = engine.transformerEncoderLayer({
  embedDim: 2, numHeads: 1, dimFeedforward: 4, normFirst: true, norm: "rms_norm", layerNormEps: 1e-12,
});
const zeros = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b)), shape });
layer.loadStateDict({
  "self_attn.in_proj_weight": zeros(6, 2), "self_attn.in_proj_bias": zeros(6), "self_attn.out_proj.weight": zeros(2, 2), "self_attn.out_proj.bias": zeros(2),
  "linear1.weight": { data: [1, 0, -1, 0, 0.5, 1, 0, -1], shape: [4, 2] }, "linear1.bias": { data: [0, 0.5, 0, -0.5], shape: [4] },
  "linear2.weight": { data: [1, 2, 0, 1, 0, 1, 1, -1], shape: [2, 4] }, "linear2.bias": { data: [0.25, 0], shape: [2] },
  "norm1.weight": { data: [1, 1], shape: [2] }, "norm2.weight": { data: [1, 1], shape: [2] },
});
const x = { data: [1, -1, -1.4, 0.2, 0.2, 1.4], shape: [3, 2] };
const { output } = layer.forward(x);
console.log(...output.data.map((value, index) => value - x.data[index]));
