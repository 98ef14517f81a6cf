// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const eye = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const layer = engine.multiheadAttention({ embedDim: 4, numHeads: 2, bias: false, batchFirst: true });
layer.loadStateDict({
  in_proj_weight: { data: [...eye, ...eye, ...eye], shape: [12, 4] }, // the projections copy
  "out_proj.weight": { data: eye, shape: [4, 4] },
});
const x = { data: [0, 1, 2, 3, 4, 5, 6, 7], shape: [1, 2, 4] }; // one sequence, two tokens, width 4
const { q } = layer.forward(x, { stages: ["q"] });
const [, heads, tokens, width] = q.shape;
const strides = [tokens * heads * width, width, heads * width, 1];
console.log(...strides);
console.log(...q.data);
const placeOf = (t, h, i) => h * tokens * width + t * width + i;
for (let t = 0; t < tokens; t++)
  for (let h = 0; h < heads; h++) console.log(...Array.from({ length: width }, (_, i) => q.data[placeOf(t, h, i)]));
