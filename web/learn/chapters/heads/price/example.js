// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
for (const [numHeads, bias] of [[12, false], [1, false], [12, true]]) {
  const layer = engine.multiheadAttention({ embedDim: 768, numHeads, bias });
  console.log(layer.parameterCount);
}
