// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
function fits(embedDim, numHeads) {
  try {
    engine.multiheadAttention({ embedDim, numHeads }).dispose();
    return true;
  } catch {
    return false; // “embedDim is 16, expected a multiple of numHeads, 3”
  }
}
console.log(...[1, 2, 3, 4, 5, 6, 7, 8].map((heads) => fits(16, heads)));
