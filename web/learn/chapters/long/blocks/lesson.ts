// SPDX-License-Identifier: Apache-2.0
import { blockwise } from "../../../experiments/long/blocks.js";
import { compare, count, given, map, matrix, observe, shown } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kKeys = count(8, (key) => `key ${key}`);
const kValues = [[1, 0], [0, 2], [3, 1], [1, 1], [0, 4], [2, 2], [5, 0], [1, 3]];

export default lesson({
  title: "The same numbers, block by block",
  claim: "A row of attention can be summed one block of keys at a time, and comes out the same as in one piece.",
  teaches: ["T3.8"],
  controls: {
    scores: { kind: "cells", label: "scores", min: -100, max: 100, step: 0.5, value: [[1, 3, 2, 0, 6, 4, 1, 5]] },
    size: { kind: "steps", label: "keys in a block", values: [1, 2, 4, 8], value: 2 },
    read: { kind: "slider", label: "read up to key", min: 0, max: 7, step: 1, value: 7 },
  },
  question: {
    ask: "A new block has no score above the maximum so far. By what is the old sum multiplied?",
    answers: ["0", "1", "e", "it depends on the block"],
    right: 1,
    because: "The maximum stays, and e⁰ is 1: there is nothing to correct. Move the second slider from key to key, and look for corrections below 1.",
  },
  formula: () => "{kept}: sum ← sum · e^(old maximum − new maximum) + Σ e^({scores} − new maximum)",
  async run(engine, { scores, size, read }) {
    const row = given(scores[0]);
    const { steps, whole } = await blockwise(engine, row, kValues, size);
    const done = steps.slice(0, Math.floor(read / size) + 1);
    const seen = done.length * size;
    const last = given(done.at(-1));
    const unread = kKeys.map((_, key) => key >= seen);
    const names = done.map((_, block) => size === 1 ? `key ${block}` : `keys ${block * size}–${(block + 1) * size - 1}`);
    const kept = done.flatMap(({ maximum, correction, sum, output }) => [maximum, correction, sum, ...output]);
    const corrections = done.filter(({ correction }, block) => block > 0 && correction < 1).length;
    const { same, difference } = compare(last.output, whole.output);
    const isAll = seen === kKeys.length;
    return {
      rows: [
        { items: [table({ ...matrix("scores", ["query"], kKeys, row), digits: 1 }, { control: "scores", masked: unread })] },
        { items: [table({ ...matrix("values", ["value 0", "value 1"], kKeys, [0, 1].flatMap((col) => kValues.map((value) => given(value[col])))), digits: 0 }, { masked: [...unread, ...unread] })] },
        { title: "All that is kept after each block", items: [table(matrix("kept", names, ["maximum", "correction", "sum", "output 0", "output 1"], kept), { marked: { row: done.length - 1, col: -1 } })] },
        { title: "In one piece", items: [table(map("weights", ["query"], kKeys, whole.weights), { from: { how: "row", of: "scores" } }), "→", table(matrix("output", ["query"], ["output 0", "output 1"], whole.output))] },
      ],
      says: [
        isAll
          ? observe(same, `All ${steps.length} blocks are read, and the output is that of one piece (to within ${shown(difference)}).`, `All blocks are read, and the output is ${shown(difference)} away from that of one piece.`)
          : observe(true, `After ${seen} of ${kKeys.length} keys, the output is exact for the keys so far: the others could still change it.`, ""),
        observe(
          true,
          corrections === 0 ? "The maximum has not risen since the first block: nothing that was summed before had to shrink."
          : `The maximum rose ${corrections === 1 ? "once" : `${corrections} times`} after the first block: so often what was summed before had to shrink.`,
          "",
        ),
      ],
    };
  },
  exploreMaps: ["weights"],
  exploreShows: "The weights in one piece",
});
