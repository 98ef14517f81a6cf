// SPDX-License-Identifier: Apache-2.0
import { count, given, matrix, observe, type Matrix } from "../../../experiments/numbers.js";
import { sharing } from "../../../experiments/variants/sharing.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { grouped, inBytes } from "../../long/sizes.js";

const [kHeads, kTokens] = [8, 6];

/** The sizes of Llama 3 8B, which has 8 key/value heads, and 16 bits a number. */
const kModel = { layers: 32, heads: 32, headWidth: 128, bytes: 2 };
const kShared = [32, 8, 4, 1];

/** The size of the keys and values of all layers. */
const cacheOf = (kvHeads: number, tokens: number): number =>
  2 * kModel.layers * kvHeads * kModel.headWidth * tokens * kModel.bytes;

export default lesson({
  title: "Heads that share keys and values",
  claim: "Query heads that share a key/value head keep fewer numbers for every token, and each still has a map of its own.",
  teaches: ["T3.8"],
  controls: {
    groups: { kind: "steps", label: "key/value heads", values: [1, 2, 4, 8], value: 2 },
    step: { kind: "slider", label: "tokens so far", min: 1, max: kTokens, step: 1, value: kTokens },
    length: { kind: "steps", label: "tokens in the real model", values: [1024, 8192, 32768, 131072], value: 131072 },
  },
  question: {
    ask: "32 query heads share 8 key/value heads. How much smaller is the cache?",
    answers: ["not at all", "4 times", "8 times", "32 times"],
    right: 1,
    because: "Only keys and values are kept, and there are 8 heads of them where there were 32. Compare the bars: the ratio is the same for texts of all lengths.",
  },
  formula: () => "{GiB} = 2 · layers · key/value heads · head width · tokens · bytes of a number ÷ 2³⁰",
  async run(engine, { groups, step, length }) {
    const compared = [...new Set([kHeads, groups])];
    const { matrices, observations } = await sharing(engine, { tokens: kTokens, heads: kHeads, groups: compared });
    const cached = given(matrices[0]);
    const map = given(matrices.at(-1));
    const steps = map.rows.map((_, row) => `step ${row + 1}`);
    const isUnseen = (_: number, cell: number): boolean =>
      cell % kTokens > Math.floor(cell / kTokens) || cell >= step * kTokens;
    const unseen = [...map.values].map(isUnseen);
    const [own, shared] = [cacheOf(kModel.heads, length), cacheOf(8, length)];
    return {
      rows: [
        { title: "Which key/value head does a query head read?", items: [table(readers(groups))] },
        {
          title: "Token by token, with a cache",
          items: [
            table({ ...map, name: "head 0", rows: steps, values: map.values.map((weight, cell) => (unseen[cell] ? 0 : weight)) }, { masked: unseen, marked: { row: step - 1, col: -1 } }),
            table({ ...cached, digits: 0 }, { marked: { row: cached.rows.length - 1, col: step - 1 } }),
          ],
        },
        {
          title: `The cache of a model with 32 layers of 32 query heads, after ${grouped(length)} tokens`,
          items: [{ kind: "bars", name: "GiB", labels: kShared.map((kvHeads) => `${kvHeads} K/V head${kvHeads === 1 ? "" : "s"}`), values: kShared.map((kvHeads) => cacheOf(kvHeads, length) / 2 ** 30), digits: 3 }],
        },
      ],
      says: [
        ...observations.filter(({ text }) => text.startsWith(cached.rows.at(-1) ?? "")),
        observe(own === 4 * shared, `The real model keeps ${inBytes(shared / length)} for each token with 8 key/value heads, and would keep ${inBytes(own / length)} with 32.`, ""),
      ],
    };
  },
  explore: ({ step }) => ({ layer: 3, head: 4, query: String(step - 1), key: "", view: "decode" }),
  exploreShows: "A cache that grows token by token",
});

/** The query heads that read each key/value head: those of a block. */
function readers(groups: number): Matrix {
  const read = count(kHeads).map((_, head) => Math.floor((head * groups) / kHeads));
  const cells = count(groups).flatMap((_, group) => read.map((one) => Number(one === group)));
  const [rows, cols] = [count(groups, (group) => `keys and values ${group}`), count(kHeads, (head) => `head ${head}`)];
  return { ...matrix("reads", rows, cols, cells, "sequential"), digits: 0 };
}
