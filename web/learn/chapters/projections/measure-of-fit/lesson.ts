// SPDX-License-Identifier: Apache-2.0
import { brief, given, matrix, observe, tensor, transpose } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kDims = ["0", "1"];
const kKeys = ["cat", "The"];

export default lesson({
  title: "The dot product measures fit",
  claim: "A score is the dot product of a query and a key: multiply number by number, and add up.",
  teaches: ["T3.2"],
  controls: {
    query: { kind: "cells", label: "query", min: -4, max: 4, step: 0.1, value: [[2, 1]] },
    keys: { kind: "cells", label: "keys", min: -4, max: 4, step: 0.1, value: [[2, 1], [0, 1]] },
  },
  question: {
    ask: "You turn the key of The until it stands at a right angle to the query. What is its score?",
    answers: ["1, as before", "0", "−5"],
    right: 1,
    because: "At a right angle, the key has no part along the query: 2·(−1) + 1·2 = 0. Drag The to [−1, 2]. Beyond the right angle, the score is negative.",
  },
  formula: () => "{scores} = {query} · {keysᵀ}",
  async run(engine, { query, keys }) {
    const keyTensor = tensor(keys);
    const result = await engine.scaledDotProductAttention(tensor(query), keyTensor, keyTensor, { stages: ["scores"] });
    const scores = [...given(result.scores).data];
    const vector = ([x = 0, y = 0]: readonly number[] = []): [number, number] => [x, y];
    const q = vector(query[0]);
    const [cat = NaN, the = NaN] = scores;
    const angle = (key: readonly number[] = []): string => {
      const [x, y] = vector(key);
      const lengths = Math.hypot(...q) * Math.hypot(x, y);
      return lengths === 0 ? "no angle" : `${Math.round((Math.acos(Math.min(Math.max((q[0] * x + q[1] * y) / lengths, -1), 1)) / Math.PI) * 180)}°`;
    };
    const better = cat === the ? "Both keys fit the query alike." : `${cat > the ? "cat" : "The"} fits the query better than ${cat > the ? "The" : "cat"}.`;
    return {
      rows: [
        {
          items: [
            table({ ...matrix("query", ["query"], kDims, query.flat()), digits: 1 }, { control: "query" }), "·",
            table({ ...matrix("keysᵀ", kDims, kKeys, transpose(keys).flat()), digits: 1 }), "=",
            table({ ...matrix("scores", ["query"], kKeys, scores), digits: 2 }, { from: { how: "product", left: "query", right: "keysᵀ" } }),
          ],
        },
        {
          items: [
            {
              kind: "plane", name: "Drag the tips", from: -4, to: 4,
              marks: [
                { name: "query", form: "arrow", at: q, control: { name: "query", row: 0 } },
                ...keys.map((key, row) => ({ name: kKeys[row] ?? "", form: "arrow" as const, at: vector(key), control: { name: "keys", row } })),
              ],
            },
            table({ ...matrix("keys", kKeys, kDims, keys.flat()), digits: 1 }, { control: "keys" }),
          ],
        },
      ],
      says: [
        observe(true, `cat: ${angle(keys[0])} from the query, score ${brief(cat)}. The: ${angle(keys[1])}, score ${brief(the)}. ${better}`, ""),
      ],
    };
  },
  explore: () => ({ text: "The queen saw the king and she laughed.", view: "numbers", layer: 3, head: 4, query: "6", key: "2" }),
  exploreShows: "A real query and key, number by number",
});
