// SPDX-License-Identifier: Apache-2.0
import { corner } from "../../../experiments/long/corner.js";
import { map, matrix, observe, sum } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { grouped, inBytes } from "../sizes.js";

const kLengths = [1024, 4096, 16384, 65536, 131072];
const kBytes = 4;
const [kRows, kCols] = [4, 6];

export default lesson({
  title: "Why maps are not stored",
  claim: "A map of T tokens takes T² numbers, and all that is needed to compute any part of it again takes T times a constant.",
  teaches: ["T3.8"],
  controls: {
    tokens: { kind: "steps", label: "tokens", values: kLengths, value: 131072 },
  },
  question: {
    ask: "The text becomes eight times as long. How much larger is its map?",
    answers: ["8 times", "16 times", "64 times", "256 times"],
    right: 2,
    because: "Eight times the rows, each eight times as long. From 16,384 to 131,072 tokens, one map grows from 1 GiB to 64 GiB.",
  },
  formula: () => "{its map} = 4 · T² bytes, {a number for each row} = 4 · T bytes",
  async run(engine, { tokens }) {
    const { values, names } = await corner(engine, tokens, kRows, kCols);
    const [square, line] = [tokens ** 2 * kBytes, tokens * kBytes];
    const rows = kLengths.map(grouped);
    const marked = { row: kLengths.indexOf(tokens), col: -1 };
    const masked = [...values].map((weight) => weight === 0);
    const last = [...values].slice(-kCols);
    return {
      rows: [
        {
          title: "What one head needs, in 32-bit numbers",
          items: [
            table({ ...matrix("its map", rows, ["MiB"], kLengths.map((length) => length ** 2 * kBytes / 2 ** 20)), digits: 0 }, { marked }),
            table({ ...matrix("a number for each row", rows, ["KiB"], kLengths.map((length) => length * kBytes / 2 ** 10)), digits: 0 }, { marked }),
          ],
        },
        {
          title: `The last corner of a map of ${grouped(tokens)} × ${grouped(tokens)}, computed just now`,
          items: [table(map("weights", names.slice(-kRows), names, values), { masked })],
        },
      ],
      says: [
        observe(square === line * tokens, `The map would take ${inBytes(square)}. One number for each of its rows takes ${inBytes(line)}.`, ""),
        observe(
          sum(last) > 0 && sum(last) <= 1 + 1e-6,
          `The last row has ${grouped(tokens)} weights that sum to 1, and ${sum(last).toFixed(3)} of that is in the six that you see.`,
          `The six weights of the last row sum to ${sum(last)}.`,
        ),
      ],
    };
  },
  exploreMaps: ["weights"],
  exploreShows: "The corner of the map",
});
