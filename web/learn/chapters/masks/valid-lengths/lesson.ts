// SPDX-License-Identifier: Apache-2.0
import { compare, count, Draw, given, layerState, map, observe, shown, withLayer } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Shape, type Table } from "../../../scene.js";

const [kBatch, kQueries, kKeys, kWidth, kHeads] = [2, 4, 6, 100, 5];
const draw = new Draw(4);
const square = (): number[][] => draw.rows(kWidth, kWidth, 1 / Math.sqrt(kWidth));
const state = layerState(square(), square(), square(), square());
const x = { data: draw.rows(kBatch * kQueries, kWidth).flat(), shape: [kBatch, kQueries, kWidth] };
const y = { data: draw.rows(kBatch * kKeys, kWidth).flat(), shape: [kBatch, kKeys, kWidth] };

const shape = (name: string, sizes: readonly number[], axes: readonly string[]): Shape => ({ kind: "shape", name, sizes, axes });

export default lesson({
  title: "A length says it in one number",
  claim: "One valid length for each sequence of keys is enough: weights at and beyond that length are exactly 0, in every head.",
  teaches: ["T4.1"],
  controls: {
    first: { kind: "slider", label: "length of sequence 0", min: 0, max: kKeys, step: 1, value: 3 },
    second: { kind: "slider", label: "length of sequence 1", min: 0, max: kKeys, step: 1, value: 2 },
    head: { kind: "slider", label: "head", min: 0, max: kHeads - 1, step: 1, value: 0 },
  },
  question: {
    ask: "You shorten a sequence of keys from 6 to 1. What does each query look at?",
    answers: ["at the one key, with weight 1", "at the one key, with weight 1/6", "at all six, a little less"],
    right: 0,
    because: "The weights of a row are shared among the keys that are left, and here one takes all. Move the slider of a length to 1.",
  },
  formula: () => "{weights of sequence 0} and {weights of sequence 1} = softmax(scores, with −∞ from the length on), or 0 where no key is left",
  async run(engine, { first, second, head }) {
    const lens = [first, second];
    const options = { embedDim: kWidth, numHeads: kHeads, bias: false, batchFirst: true };
    return withLayer(engine, options, state, async (layer) => {
      const validLens = { data: Int32Array.from(lens), shape: [kBatch] };
      const padding = lens.flatMap((length) => count(kKeys).map((_, key) => key >= length));
      const { output, weights } = await layer.forward(x, y, y, { validLens, averageAttnWeights: false });
      const other = await layer.forward(x, y, y, { keyPaddingMask: { data: padding, shape: [kBatch, kKeys] } });
      const { data, shape: sizes } = given(weights);
      const cells = kQueries * kKeys;
      const beyond = data.filter((_, cell) => cell % kKeys >= (lens[Math.floor(cell / (kHeads * cells))] ?? 0));
      const { same, difference } = compare(output.data, other.output.data);
      const one = (batch: number): Table => {
        const begin = (batch * kHeads + head) * cells;
        const masked = count(cells).map((_, cell) => cell % kKeys >= (lens[batch] ?? 0));
        const name = `weights of sequence ${batch}`;
        return table({ ...map(name, count(kQueries, (i) => `query ${i}`), count(kKeys, (i) => `key ${i}`), data.slice(begin, begin + cells)), digits: 2 }, { masked });
      };
      const empty = lens.flatMap((length, index) => (length === 0 ? [`sequence ${index}`] : []));
      return {
        rows: [
          { title: `Head ${head}, lengths [${lens.join(", ")}]`, items: [one(0), one(1)] },
          {
            title: "Shapes",
            items: [
              shape("X", x.shape, ["batch", "queries", "width"]), shape("Y", y.shape, ["batch", "keys", "width"]), "→",
              shape("weights", sizes, ["batch", "heads", "queries", "keys"]), shape("output", output.shape, ["batch", "queries", "width"]),
            ],
          },
        ],
        says: [
          observe(beyond.every((weight) => weight === 0), "Beyond the lengths, all weights of all heads are exactly 0.", "Beyond the lengths, some weight is not 0."),
          observe(same, "A padding mask that hides the same keys gives the same output.", `A padding mask that hides the same keys gives another output, by up to ${shown(difference)}.`),
          ...(empty.length > 0 ? [observe(true, `No key is left in ${empty.join(" and ")}: weights and attention are 0, not undefined.`, "")] : []),
        ],
      };
    });
  },
  exploreMaps: ["weights of sequence 0", "weights of sequence 1"],
  exploreShows: "The weights of both sequences",
});
