// SPDX-License-Identifier: Apache-2.0
import { given, matrix, observe, permuted, shown, type Matrix } from "../../../experiments/numbers.js";
import { orderBlindness } from "../../../experiments/order-blindness.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["the", "woman", "ate", "the", "raccoon"];
/** The two words “the” are one embedding. A reader has to tell them apart all the same. */
const kLabels = ["the (1st)", "woman", "ate", "the (2nd)", "raccoon"];
const kOrders = { swapped: [0, 4, 2, 3, 1], backwards: [4, 3, 2, 1, 0], same: [0, 1, 2, 3, 4] };
const titleOf = (order: keyof typeof kOrders): string =>
  (order === "same" ? "the same order" : permuted(kTokens, kOrders[order]).join(" "));
/** The tables show so many of the eight numbers of an output. */
const kShown = 4;

function part(name: string, labels: readonly string[], { values, cols }: Matrix): Matrix {
  const rowOf = (row: number): number[] => [...values.subarray(row * cols.length, row * cols.length + kShown)];
  return matrix(name, labels, cols.slice(0, kShown), labels.flatMap((_, row) => rowOf(row)));
}

export default lesson({
  title: "Attention does not see order",
  claim: "Without positions, a word gets the same output wherever it stands, since scores compare words and not places.",
  teaches: ["T3.6"],
  controls: {
    scheme: {
      kind: "choice", label: "positions", value: "no positions",
      options: {
        "no positions": "none", sinusoidal: "sinusoidal", learned: "learned", "relative bias": "relative bias", "T5’s buckets": "T5", ALiBi: "ALiBi", rotary: "rotary",
      },
    },
    order: {
      kind: "choice", label: "the other order", value: "swapped",
      options: { swapped: "the raccoon ate the woman", backwards: "backwards", same: "the same" },
    },
  },
  question: {
    ask: "“The woman ate the raccoon” becomes “the raccoon ate the woman”. Without positions, what happens to the output of “ate”?",
    answers: ["nothing", "it changes a little", "it becomes another vector"],
    right: 0,
    because: "The word “ate” compares itself with the same five words, gets the same five weights, and adds up the same five values. Choose any kind of positions, and its output changes.",
  },
  formula: ({ order }) =>
    `without positions, {${titleOf(order)}} = P · {the woman ate the raccoon}: f(P · X) = P · f(X), where P puts rows in another order`,
  async run(engine, { scheme, order }) {
    const places = kOrders[order];
    const { matrices } = await orderBlindness(engine, { tokens: kTokens, order: places, schemes: [scheme] });
    const named = (name: string): Matrix => given(matrices.find((one) => one.name === `${scheme}: ${name}`));
    const [first, second] = [named("output"), named("output, other order")];
    const width = first.cols.length;
    const numberOf = ({ values }: Matrix, row: number, col: number): number => values[row * width + col] ?? NaN;
    const apart = (a: Matrix, row: number, b: Matrix, other: number): number =>
      Math.max(...first.cols.map((_, col) => Math.abs(numberOf(a, row, col) - numberOf(b, other, col))));
    const moves = kTokens.map((_, row) => apart(first, row, second, places.indexOf(row)));
    const most = Math.max(...moves);
    const twice = apart(first, 0, first, 3);
    return {
      rows: [
        {
          title: "Outputs of one layer: the first four numbers of each word",
          items: [
            table({ ...part("the woman ate the raccoon", kLabels, first), digits: 2 }, { marked: { row: 2, col: -1 } }),
            table({ ...part(titleOf(order), permuted(kLabels, places), second), digits: 2 }, {
              marked: { row: places.indexOf(2), col: -1 },
            }),
          ],
        },
        { items: [{ kind: "bars", name: "How far the output of each word moves (largest of eight numbers)", labels: kLabels, values: moves, most: 4, digits: 2 }] },
      ],
      says: [
        order === "same"
          ? observe(most < 1e-5, "The order is the same, and so is every output.", `The order is the same, but outputs differ by ${shown(most)}.`)
          : scheme === "no positions"
            ? observe(most < 1e-5, "Every word has the same numbers in both orders: the rows change places, and nothing else.", `Outputs move by up to ${shown(most)}.`)
            : observe(most > 0.01, `With positions, the order counts: outputs move by up to ${shown(most)}.`, `Outputs do not move (largest difference ${shown(most)}).`),
        scheme === "no positions"
          ? observe(twice < 1e-5, "“The” stands twice in the sentence, and both have the very same output.", `The two words “the” differ by ${shown(twice)}.`)
          : observe(twice > 0.01, `The two words “the” can be told apart: their outputs differ by up to ${shown(twice)}.`, "The two words “the” have the same output."),
      ],
    };
  },
  explore: ({ order }) => ({
    model: "tiny", layer: 3, head: 4, query: "6", view: "map",
    text: order === "same" ? "The queen saw the king and she laughed." : "The king saw the queen and he laughed.",
  }),
  exploreShows: "Who saw whom, in a model with positions",
});
