// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
const keys = { data: [1.2, 1, 0.1, -0.5, -2], shape: [5, 1] }; // with a query of 1, they are the scores
for (const normalizer of ["softmax", "sparsemax", "sigmoid"]) {
  const { weights } = engine.scaledDotProductAttention(query, keys, keys, { scale: 1, needWeights: true, normalizer });
  console.log(...weights.data);
}
