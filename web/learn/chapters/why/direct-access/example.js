// SPDX-License-Identifier: Apache-2.0
import { load } from "headlens";

const engine = await load();
const query = { data: [1], shape: [1, 1] };
for (const back of [1, 10]) { // how far back the token stands that the last of twelve needs
  const memory = 0.3 * 0.7 ** back; // it came in with a share of 0.3, and each step since then kept 0.7 of that
  const needed = 11 - back;
  const scores = Array.from({ length: 12 }, (_, token) => (token === needed ? 5 : 0));
  const keys = { data: scores, shape: [12, 1] }; // with a query of 1, they are the scores
  const { weights } = engine.scaledDotProductAttention(query, keys, keys, { scale: 1, needWeights: true });
  console.log(memory, weights.data[needed]);
}
