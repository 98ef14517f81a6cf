// SPDX-License-Identifier: Apache-2.0
import { compare, count, given, identity, layerState, matrix, observe, rows, shown, tensor, withLayer } from "../../../experiments/numbers.js";
import type { LessonEngine } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "mat"];
const [kWidth, kHeads] = [8, 2];
const kOwn = kWidth / kHeads;

interface Cut {
  /** The distance in memory of neighbours along each of [heads, tokens, width]. */
  readonly strides: readonly [number, number, number];
}

const kCuts: Readonly<Record<"swapped" | "reshaped", Cut>> = {
  swapped: { strides: [kOwn, kWidth, 1] },
  reshaped: { strides: [kTokens.length * kOwn, kOwn, 1] },
};

/** For each of [heads, tokens, width] in order, the place in memory. */
const placesOf = ({ strides: [ofHead, ofToken, ofWidth] }: Cut): number[] =>
  count(kHeads).flatMap((_, head) => kTokens.flatMap((__, token) =>
    count(kOwn).map((___, i) => head * ofHead + token * ofToken + i * ofWidth)));

/** 2.3 is number 3 of token 2. */
const kX = kTokens.map((_, token) => count(kWidth).map((__, dim) => token + dim / 10));

/** Splits, attends head by head, and puts each number back where it was taken from. */
async function byHand(engine: LessonEngine, cut: Cut): Promise<number[]> {
  const [places, x] = [placesOf(cut), kX.flat()];
  const heads = { data: places.map((place) => given(x[place])), shape: [1, kHeads, kTokens.length, kOwn] };
  const { output } = await engine.scaledDotProductAttention(heads, heads, heads);
  const merged = Array<number>(x.length).fill(0);
  for (const [index, place] of places.entries()) merged[place] = given(output.data[index]);
  return merged;
}

export default lesson({
  title: "Split and merge move nothing",
  claim: "Heads are another way to count through the same memory: splitting changes strides, and copies no number.",
  teaches: ["T4.2", "T0.2"],
  controls: {
    head: { kind: "choice", label: "head", options: { 0: "head 0", 1: "head 1" }, value: "1" },
    cut: { kind: "choice", label: "split", options: { swapped: "cut the width, then swap axes", reshaped: "reshape to the same sizes only" }, value: "swapped" },
  },
  question: {
    ask: "A reshape straight to (heads, tokens, width) gives the right sizes. What is in head 0 then?",
    answers: ["the first half of each token", "the first two tokens, each cut in two"],
    right: 1,
    because: "A reshape counts through memory in its order, token after token. Choose “reshape to the same sizes only”: sizes agree, and the numbers are wrong.",
  },
  formula: () => "{part of the head}[token][i] = {Q in memory}[head · stride_h + token · stride_t + i]",
  async run(engine, { head, cut: name }) {
    const cut = kCuts[name];
    const own = placesOf(cut).slice(Number(head) * kTokens.length * kOwn, (Number(head) + 1) * kTokens.length * kOwn);
    const part = own.map((place) => given(kX.flat()[place]));
    const eye = identity(kWidth);
    const [options, copies] = [{ embedDim: kWidth, numHeads: kHeads, bias: false }, layerState(eye, eye, eye, eye)];
    const fused = await withLayer(engine, options, copies, async (layer) =>
      rows((await layer.forward(tensor(kX))).output));
    const { difference, same } = compare(await byHand(engine, cut), fused.flat());
    const isPure = part.every((value, index) => Math.floor(value) === Math.floor(index / kOwn));
    return {
      rows: [
        {
          title: "Each number says where it comes from: 2.3 is number 3 of token 2",
          items: [
            table({ ...matrix("Q in memory", kTokens, count(kWidth), kX.flat()), digits: 1 }), "→",
            table({ ...matrix("part of the head", kTokens, count(kOwn), part), digits: 1 }),
          ],
        },
        {
          title: "Steps through memory",
          items: [
            { kind: "shape", name: "sizes", sizes: [kHeads, kTokens.length, kOwn], axes: ["H", "T", "d"] },
            { kind: "shape", name: "strides", sizes: cut.strides, axes: ["H", "T", "d"] },
          ],
        },
      ],
      says: [
        observe(isPure, `Each row of head ${head} is a part of its own token.`, `Rows of head ${head} are parts of other tokens.`),
        observe(
          same,
          `Split, attended head by head, and merged by hand, the output is the layer’s (largest difference ${shown(difference)}).`,
          `Split like this, attended head by head and merged, the output differs from the layer’s by up to ${shown(difference)}.`,
        ),
      ],
    };
  },
  explore: ({ head }) => ({ text: "The cat sat on the mat.", view: "numbers", layer: 0, head: Number(head), query: "2", key: "1" }),
  exploreShows: "A trained head’s part of a query",
});
