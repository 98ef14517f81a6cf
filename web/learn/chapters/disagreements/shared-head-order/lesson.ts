// SPDX-License-Identifier: Apache-2.0
import { count, identity, map, observe, rows, transpose } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Table } from "../../../scene.js";

const kHeads = 8;

export default lesson({
  title: "Which head shares with which?",
  claim: "When several query heads share several key/value heads, there are two orders of sharing, and a trained model fits one of them.",
  teaches: ["T3.8"],
  controls: {
    groups: { kind: "steps", label: "key/value heads G, for 8 query heads", values: [1, 2, 4, 8], value: 2 },
  },
  question: {
    ask: "Eight query heads share two key/value heads. In PyTorch’s order, which heads share with head 1?",
    answers: ["0, 2 and 3", "3, 5 and 7", "all of them"],
    right: 0,
    because: "PyTorch repeats each key/value head for neighbours: 0 to 3 read the first, 4 to 7 the second. With h mod G it would be 3, 5 and 7. Move G to 1 or 8: the two orders are the same there.",
  },
  formula: () => "head h reads K/V ⌊h · G ÷ 8⌋ in {neighbours share}, and h mod G in {every G-th shares}",
  async run(engine, { groups }) {
    // The value of key/value head g is the unit vector g, so the output of a query head names the head that it read.
    const q = { data: new Float32Array(kHeads), shape: [kHeads, 1, 1] };
    const k = { data: new Float32Array(groups), shape: [groups, 1, 1] };
    const v = { data: Float32Array.from(identity(groups).flat()), shape: [groups, 1, groups] };
    const read = async (gqaOrder: "block" | "interleaved"): Promise<number[][]> =>
      rows((await engine.scaledDotProductAttention(q, k, v, { enableGqa: true, gqaOrder })).output);
    const [block, interleaved] = [transpose(await read("block")), transpose(await read("interleaved"))];
    const side = (name: string, output: readonly (readonly number[])[]): Table =>
      table({ ...map(name, count(groups, (g) => `K/V ${g}`), count(kHeads), output.flat()), digits: 0 });
    const apart = count(kHeads).filter((_, head) => block.some((row, g) => row[head] !== interleaved[g]?.[head]));
    return {
      rows: [
        { title: "⌊h · G ÷ 8⌋", about: "In PyTorch, JAX and FlashAttention. Columns are query heads h. A 1 stands at the key/value head that the query head reads.", items: [side("neighbours share", block)] },
        { title: "h mod G", about: "In x-transformers without a fused kernel, and wherever heads are repeated as a whole.", items: [side("every G-th shares", interleaved)] },
      ],
      says: [
        observe(
          apart.length > 0, `Heads ${apart.join(", ")} read another key/value head in the other order.`,
          `With G = ${groups}, both orders are the same.`,
        ),
      ],
    };
  },
  exploreMaps: ["neighbours share", "every G-th shares"],
  exploreShows: "Both orders of sharing",
});
