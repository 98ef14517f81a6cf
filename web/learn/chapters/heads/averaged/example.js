// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const layer = engine.multiheadAttention({ embedDim: 4, numHeads: 2, bias: false, batchFirst: true });
layer.loadStateDict({
  in_proj_weight: { data: [
    1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, // queries copy
    3, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 3, 0, 0, 0, // head 0 looks at itself, head 1 at the other
    ...Array(16).fill(0),
  ], shape: [12, 4] },
  "out_proj.weight": { data: Array(16).fill(0), shape: [4, 4] },
});
const x = { data: [1, 0, 0, 0, 0, 1, 0, 0], shape: [1, 2, 4] };
console.log(...layer.forward(x, { averageAttnWeights: false }).weights.data);
console.log(...layer.forward(x).weights.data);
