// SPDX-License-Identifier: Apache-2.0
import { compare, count, given, matrix, observe, rows, shown, tensor, transpose, type LessonEngine } from "../../../experiments/numbers.js";
import { lesson, type Cells } from "../../../lesson.js";
import { table, type Table } from "../../../scene.js";

const kWords = ["cat", "sat", "mat"];
type Rows = readonly (readonly number[])[];

/** X · W + b. The engine computes it as the scores of queries X on the columns of W as keys, with b as a bias. */
async function affine(engine: LessonEngine, x: Rows, w: Rows, b: Rows): Promise<number[][]> {
  const keys = tensor(transpose(w));
  const attnMask = tensor(x.map(() => given(b[0])));
  const { biasedScores } = await engine.scaledDotProductAttention(tensor(x), keys, keys, { scale: 1, attnMask, stages: ["biasedScores"] });
  return rows(given(biasedScores));
}

const relu = (x: Rows): number[][] => x.map((row) => row.map((value) => Math.max(value, 0)));

const cells = (label: string, value: Rows): Cells => ({ kind: "cells", label, min: -9, max: 9, step: 0.5, value });

export default lesson({
  title: "The other half of a layer: feed-forward",
  claim: "After attention has mixed the tokens, a feed-forward block works on each token by itself: a linear map to more numbers, a ReLU, and a linear map back.",
  teaches: ["T4.2"],
  controls: {
    relu: { kind: "switch", label: "ReLU between the two maps", value: true },
    x: cells("X", [[2, -1], [-3, 0.5], [1, 4]]),
    w1: cells("W_1", [[1, -1, 0, 0], [0, 0, 1, -1]]),
    b1: cells("b_1", [[0, 0, 0, 0]]),
    w2: cells("W_2", [[1, 0], [1, 0], [0, 1], [0, 1]]),
    b2: cells("b_2", [[0, 0]]),
  },
  question: {
    ask: "The first matrices make absolute values. What is left of the block without the ReLU?",
    answers: ["absolute values all the same", "one linear map, like any other", "nothing can be said"],
    right: 1,
    because: "Two linear maps in a row are one: X·W₁·W₂ = X·(W₁·W₂). For the first matrices, W₁·W₂ is all zeros. Switch the ReLU off.",
  },
  formula: () => "{Y} = ReLU({X} · {W_1} + {b_1}) · {W_2} + {b_2}",
  async run(engine, { relu: isOn, x, w1, b1, w2, b2 }) {
    const block = async (tokens: Rows): Promise<{ h: number[][]; a: number[][]; y: number[][] }> => {
      const h = await affine(engine, tokens, w1, b1);
      const a = isOn ? relu(h) : h;
      return { h, a, y: await affine(engine, a, w2, b2) };
    };
    const { h, a, y } = await block(x);
    const alone = (await Promise.all(x.map((row) => block([row])))).flatMap((one) => one.y);
    const apart = compare(alone.flat(), y.flat());
    const one = await affine(engine, x, await affine(engine, w1, w2, [[0, 0]]), await affine(engine, b1, w2, b2));
    const linear = compare(one.flat(), y.flat());
    const [two, four] = [count(2), count(4)];
    const put = (name: string, control: string, words: readonly string[], cols: readonly string[], of: Rows): Table =>
      table({ ...matrix(name, words, cols, of.flat()), digits: 1 }, { control });
    const got = (name: string, cols: readonly string[], values: Rows, from: Table["from"]): Table =>
      table({ ...matrix(name, kWords, cols, values.flat()), digits: 2 }, from ? { from } : {});
    const step = (value: number, result: number): string =>
      (isOn ? `max(0, ${shown(value)}) = ${shown(result)}` : `${shown(value)} stays`);
    const rectified = isOn ? "ReLU(H)" : "H as it is";
    return {
      rows: [
        { title: "Widen", items: [put("X", "x", kWords, two, x), "·", put("W_1", "w1", two, four, w1)] },
        { items: ["+", put("b_1", "b1", [""], four, b1), "=", got("H", four, h, undefined)] },
        {
          title: `${isOn ? "Cut off" : "Keep"} what is negative, and narrow`,
          items: [got(rectified, four, a, { how: "each", of: "H", words: step }), "·", put("W_2", "w2", four, two, w2)],
        },
        { items: ["+", put("b_2", "b2", [""], two, b2), "=", got("Y", two, y, undefined)] },
      ],
      says: [
        observe(apart.same, "Each word given alone comes out the same: no word looks at another here.", `Words given alone come out otherwise, by up to ${shown(apart.difference)}.`),
        isOn
          ? observe(true, linear.same ? "For these numbers the single map W₁·W₂ gives the same: no ReLU has cut anything that counts." : `The single linear map W₁·W₂ gives other numbers, by up to ${shown(linear.difference)}.`, "")
          : observe(linear.same, "Without the ReLU, the single linear map W₁·W₂ gives the same numbers.", "The single linear map gives other numbers."),
      ],
    };
  },
  explore: () => ({ layer: 3, head: 4, query: "6", key: "2", view: "why" }),
  exploreShows: "What feed-forward blocks add to a head’s score",
});
