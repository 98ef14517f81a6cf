// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const copy = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const mix = [1, 2, 3, 4, 0, 1, 0, 1, 2, 0, 0, 1, 0, 0, 1, 1];
const layer = engine.multiheadAttention({ embedDim: 4, numHeads: 2, bias: false });
layer.loadStateDict({
  in_proj_weight: { data: [...copy, ...copy, ...copy], shape: [12, 4] },
  "out_proj.weight": { data: mix, shape: [4, 4] },
});
const x = { data: [1, 0, 0, 2, 0, 1, 2, 0], shape: [2, 4] }; // columns 0 and 1 are those of head 0
const both = layer.forward(x, { stages: ["headOutputs"] });
console.log(...both.headOutputs.data); // [heads, tokens, 2]
console.log(...both.output.data); // every column has a part of each head
const headMask = { data: [1, 0], shape: [2] };
console.log(...layer.forward(x, { headMask }).output.data); // without head 1
