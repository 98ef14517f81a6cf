// SPDX-License-Identifier: Apache-2.0
import { kCatSatOnMat } from "../../../../views/cat-sat-on-mat.js";
import { compare, count, given, layerState, map, matrix, observe, rows, shown, tensor, withLayer } from "../../../experiments/numbers.js";
import type { LessonEngine } from "../../../experiments/numbers.js";
import { sixSteps } from "../../../experiments/six-steps.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const { tokens, x, wq, wk, wv, wo, numHeads } = kCatSatOnMat;
const kWidth = wq.length;
const kOwn = kWidth / numHeads;

/** The layer's output without the parts of these heads. */
function outputWithout(engine: LessonEngine, silent: readonly number[]): Promise<number[][]> {
  const copy = (one: typeof x): number[][] => one.map((row) => [...row]);
  const state = layerState(copy(wq), copy(wk), copy(wv), copy(wo));
  const headMask = { data: count(numHeads).map((_, head) => (silent.includes(head) ? 0 : 1)), shape: [numHeads] };
  return withLayer(engine, { embedDim: kWidth, numHeads, bias: false }, state, async (layer) =>
    rows((await layer.forward(tensor(x), { headMask })).output));
}

export default lesson({
  title: "Two heads, step by step",
  claim: "Each head looks with its own slice of the projections; side by side, the heads are as wide as the input, and the output projection mixes them.",
  teaches: ["T2.1"],
  controls: {
    head: { kind: "choice", label: "head", options: { 0: "head 0", 1: "head 1" }, value: "0" },
    silent: { kind: "switch", label: "silence this head", value: false },
  },
  question: {
    ask: "You silence head 1. Which numbers change?",
    answers: ["columns 2 and 3 of the joined heads and of the output", "columns 2 and 3 of the joined heads, and every column of the output"],
    right: 1,
    because: "The heads stay apart until the output projection, which mixes all columns. Choose head 1 and silence it.",
  },
  formula: () => "{output} = {heads joined} · {W_o}",
  async run(engine, { head, silent }) {
    const { matrices, observations } = await sixSteps(engine);
    const named = (name: string): (typeof matrices)[number] => given(matrices.find((one) => one.name === name));
    const own = (name: string): (typeof matrices)[number] => named(`${name}, head ${head}`);
    const start = Number(head) * kOwn;
    const isSilent = (col: number): boolean => silent && col >= start && col < start + kOwn;
    const whole = named("heads joined");
    const joined = [...whole.values].map((value, index) => (isSilent(index % kWidth) ? 0 : value));
    const output = await outputWithout(engine, silent ? [Number(head)] : []);
    const change = compare(output.flat(), named("output").values).difference;
    const product = (left: string, right: string) => ({ how: "product", left, right }) as const;
    const part = (name: string): string => `${name}, head ${head}`;
    return {
      rows: [
        {
          title: `1 and 2 · Head ${head} takes ${kOwn} of the ${kWidth} columns of W_q, W_k and W_v`,
          items: [
            table({ ...named("X"), digits: 2 }), "·", table({ ...own("W_q"), digits: 2 }), "=",
            table(own("Q"), { from: product("X", part("W_q")) }),
          ],
        },
        { title: "2 · Its keys and values come from W_k and W_v in the same way", items: [table(own("K")), table(own("V"))] },
        {
          title: "3 · It attends on its own",
          items: [
            table(own("scores ÷ √d")), "→",
            table(map(part("weights"), tokens, tokens, own("weights").values), { from: { how: "row", of: part("scores ÷ √d") } }), "→",
            table(own("output"), { from: product(part("weights"), part("V")) }),
          ],
        },
        {
          title: `4 and 5 · Side by side, ${numHeads} · ${kOwn} = ${kWidth} columns again, and mixed by W_o`,
          items: [
            table(matrix("heads joined", tokens, count(kWidth), joined)), "·", table({ ...named("W_o"), digits: 2 }), "=",
            table(matrix("output", tokens, count(kWidth), output.flat()), { from: product("heads joined", "W_o") }),
          ],
        },
      ],
      says: [
        ...(silent ? [observe(change > 0, `Without head ${head}, the output changes by up to ${shown(change)}.`, "The output stays.")] : observations),
      ],
    };
  },
  explore: ({ head }) => ({ view: "steps", head: Number(head), causal: false }),
  exploreShows: "Each step of both heads, with none silenced",
});
