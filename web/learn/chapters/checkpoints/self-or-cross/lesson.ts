// SPDX-License-Identifier: Apache-2.0
import { runHead } from "../../../experiments/head.js";
import { map, matrix, observe, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kOwn = ["le", "chat", "dort"];
const kOther = ["the", "cat", "is", "asleep"];
const kAxes = ["x", "y"];
const kX = [[0.5, -1], [2, 1], [-1, 1.5]];
const kMemory = [[0.5, -0.8], [1.8, 0.9], [-0.2, -0.5], [-0.9, 1.6]];

export default lesson({
  title: "4. What is “self” about self-attention?",
  claim: "Attention takes two sequences, one that asks and one that is asked, and they may be the same.",
  teaches: ["T3.7"],
  asksFirst: true,
  controls: {
    push: { kind: "slider", label: "added to “chat”", min: -2, max: 2, step: 0.1, value: 1 },
  },
  question: {
    ask: "You change one token of the sequence that asks. In cross-attention, which numbers stay as they were?",
    answers: ["the keys and values", "the queries", "the weights"],
    right: 0,
    because: "There, keys and values are made of the other sequence. In self-attention they are made of the same one, and the change is in them, too. Move the slider and see which columns follow.",
  },
  formula: () => "{self-attention} = softmax({keys of its own} · {keys of its own}ᵀ), {cross-attention} = softmax({keys of its own} · {keys of the other}ᵀ)",
  async run(engine, { push }) {
    const x = kX.map((row, index) => (index === 1 ? row.map((one) => one + push) : row));
    // All projections are the identity here, so that queries, keys and values are the tokens themselves.
    const run = (q: number[][], kv: number[][]): ReturnType<typeof runHead> => runHead(engine, q, kv, kv);
    const [self, cross] = [await run(x, x), await run(x, kMemory)];
    const [selfBefore, crossBefore] = [await run(kX, kX), await run(kX, kMemory)];
    const moved = (now: number[][], before: number[][], row: number): number =>
      Math.max(...(now[row] ?? []).map((one, i) => Math.abs(one - (before[row]?.[i] ?? NaN))));
    const others = (now: number[][], before: number[][]): number =>
      Math.max(moved(now, before, 0), moved(now, before, 2));
    const [inSelf, inCross] = [others(self.output, selfBefore.output), others(cross.output, crossBefore.output)];
    const marked = { row: 1, col: -1 };
    return {
      rows: [
        {
          title: "Self-attention: the sentence asks itself",
          items: [
            table({ ...matrix("keys of its own", kOwn, kAxes, x.flat()), digits: 1 }, { marked }), "→",
            table({ ...map("self-attention", kOwn, kOwn, self.weights.flat()), digits: 2 }, { marked: { row: -1, col: 1 } }),
          ],
        },
        {
          title: "Cross-attention: the sentence asks another one",
          items: [
            table({ ...matrix("keys of the other", kOther, kAxes, kMemory.flat()), digits: 1 }), "→",
            table({ ...map("cross-attention", kOwn, kOther, cross.weights.flat()), digits: 2 }, { marked }),
          ],
        },
      ],
      says: [
        observe(
          push !== 0 && inSelf > 0, `“chat” has moved by ${shown(push)}. In self-attention, the outputs of the other tokens move with it, by up to ${shown(inSelf)}.`,
          "“chat” is where it was, and nothing has moved.",
        ),
        observe(inCross === 0, "In cross-attention, the rows of the other tokens stay exactly as they were.", `In cross-attention they move by ${shown(inCross)}.`),
      ],
    };
  },
  explore: () => ({
    model: "tiny-translator", source: "The small cat does not eat the black fish.", text: "le petit chat ne mange pas le poisson noir.",
    attention: "cross", layer: 1, head: 0, query: "2", view: "map",
  }),
  exploreShows: "The cross-attention of a translator",
});
