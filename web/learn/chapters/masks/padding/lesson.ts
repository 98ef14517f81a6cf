// SPDX-License-Identifier: Apache-2.0
import { compare, count, Draw, given, headRows, largest, layerState, map, matrix, observe, percent, rows } from "../../../experiments/numbers.js";
import { shown, sum, tensor, withLayer, type LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Shape } from "../../../scene.js";
import { later } from "../shared.js";

const kSentences = [["the", "cat", "slept", "by", "the", "door"], ["the", "dog", "barked"], ["she", "came", "home", "late"], ["it", "rains"]];
const [kLength, kWidth] = [6, 8];
const padded = kSentences.map((words) => count(kLength).map((_, index) => words[index] ?? "pad"));
const isPadding = padded.map((words) => words.map((word) => word === "pad"));

interface Flags {
  readonly padding: boolean;
  readonly causal: boolean;
}

const draw = new Draw(11);
const square = (width: number): number[][] => draw.rows(width, width, 1 / Math.sqrt(width));
const state = layerState(square(kWidth), square(kWidth), square(kWidth), square(kWidth));
// Padding may hold any numbers. They are large here, so that a leak would show.
const batch = isPadding.map((row) => row.map((one) => given(draw.rows(1, kWidth, one ? 3 : 1)[0])));

/** The sizes of the documents' example: 4 sentences of up to 16 tokens, 128 wide, 8 heads. */
const [kLarge, kLens] = [{ length: 16, width: 128, heads: 8 }, [16, 11, 7, 3]];
const wide = (): number[][] => square(kLarge.width);
const largeState = layerState(wide(), wide(), wide(), wide());
const largeBatch = {
  data: draw.rows(kLens.length * kLarge.length, kLarge.width).flat(),
  shape: [kLens.length, kLarge.length, kLarge.width],
};

interface Large {
  readonly shape: readonly number[];
  /** The largest weight on padding. */
  readonly leaked: number;
}

async function large(engine: LessonEngine, { padding, causal }: Flags): Promise<Large> {
  const { length, width, heads } = kLarge;
  const data = kLens.flatMap((len) => count(length).map((_, index) => index >= len));
  const options = { embedDim: width, numHeads: heads, bias: false, batchFirst: true };
  return withLayer(engine, options, largeState, async (layer) => {
    const keyPaddingMask = padding ? { data, shape: [kLens.length, length] } : undefined;
    const masks = { isCausal: causal, keyPaddingMask };
    const { weights } = await layer.forward(largeBatch, { ...masks, averageAttnWeights: false });
    const { data: all, shape } = given(weights);
    const lenOf = (cell: number): number => kLens[Math.floor(cell / (heads * length * length))] ?? 0;
    return { shape, leaked: largest(all.filter((_, cell) => cell % length >= lenOf(cell))) };
  });
}

const shape = (name: string, sizes: readonly number[], axes: readonly string[]): Shape => ({ kind: "shape", name, sizes, axes });

export default lesson({
  title: "Padding must not be seen",
  claim: "Sentences of one batch are filled up to the same length, and a padding mask keeps the filling from being looked at.",
  teaches: ["T1.1"],
  controls: {
    sentence: { kind: "choice", label: "sentence", options: { 1: "the dog barked", 2: "she came home late", 3: "it rains" }, value: "1" },
    padding: { kind: "switch", label: "padding mask", value: true },
    causal: { kind: "switch", label: "causal mask", value: false },
  },
  question: {
    ask: "The sentence has 3 words and the batch is 6 wide. With the mask, does its output differ from what it would be alone?",
    answers: ["yes, a little", "yes, a lot", "no"],
    right: 2,
    because: "Padding gets no weight, so the words share the same sums as alone. Switch the padding mask off, and the outputs move.",
  },
  formula: () => "{weights} = softmax(Q · Kᵀ ÷ √8, with −∞ for every key that is hidden)",
  async run(engine, { sentence, padding, causal }) {
    const which = Number(sentence);
    const words = given(padded[which]);
    const own = given(kSentences[which]).length;
    const keyPaddingMask = { data: isPadding.flat(), shape: [kSentences.length, kLength] };
    const options = { averageAttnWeights: false, isCausal: causal };
    const big = await large(engine, { padding, causal });
    return withLayer(engine, { embedDim: kWidth, numHeads: 1, bias: false, batchFirst: true }, state, async (layer) => {
      const x = { data: batch.flat(2), shape: [kSentences.length, kLength, kWidth] };
      const together = await layer.forward(x, { ...options, ...(padding ? { keyPaddingMask } : {}) });
      const alone = await layer.forward(tensor(given(batch[which]).slice(0, own)), options);
      const weights = headRows(given(together.weights), which);
      const leaked = Math.max(...weights.slice(0, own).map((row) => sum(row.slice(own))));
      const output = rows(together.output).slice(which * kLength, which * kLength + own).flat();
      const { same, difference } = compare(output, rows(alone.output).flat());
      const masked = weights.flatMap((row, query) => row.map((_, key) =>
        (padding && key >= own) || (causal && later(kLength)[query * kLength + key] === true)));
      const positions = count(kLength);
      return {
        rows: [
          {
            title: "The padding mask of the batch: 1 for what is to be ignored",
            items: [table({ ...matrix("mask", kSentences.map((one) => one.join(" ")), positions, isPadding.flat().map(Number), "sequential"), digits: 0 }, { marked: { row: which, col: -1 } })],
          },
          { title: "Weights of one of its sentences", items: [table({ ...map("weights", words, words, weights.flat()), digits: 2 }, { masked })] },
          {
            title: "The same call at a larger size",
            items: [
              shape("X", [kLens.length, kLarge.length, kLarge.width], ["batch", "tokens", "width"]),
              shape("mask", [kLens.length, kLarge.length], ["batch", "tokens"]), "→",
              shape("weights", big.shape, ["batch", "heads", "queries", "keys"]),
            ],
          },
        ],
        says: [
          observe(
            leaked === 0 && same, "The words give padding exactly no weight, and their outputs are those of the sentence alone.",
            `A word gives padding up to ${percent(leaked)} of its weight, and the outputs move by up to ${shown(difference)}.`,
          ),
          observe(big.leaked === 0, `So it is in all ${kLarge.heads} heads of the larger batch.`, `In the larger batch, a padding token gets up to ${percent(big.leaked)} from one query.`),
        ],
      };
    });
  },
  exploreMaps: ["weights"],
  exploreShows: "The same weights and mask",
});
