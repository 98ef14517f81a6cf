// SPDX-License-Identifier: Apache-2.0
import { runScores } from "../../../experiments/head.js";
import { map, matrix, observe } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Table } from "../../../scene.js";

const kTokens = ["cat", "sat", "on", "mat"];
const kScores = [[2, 1, 0, 1], [2, 1, 1, 0], [0, 2, 1, 1], [1, 0, 2, 1]];
const kTriangle = kTokens.map((_, row) => kTokens.map((__, col) => (col <= row ? 1 : 0)));

export default lesson({
  title: "Does true keep a key, or hide it?",
  claim: "One boolean mask means opposite things in two libraries, and neither of them complains.",
  teaches: ["T0.4"],
  controls: {
    mask: { kind: "cells", label: "mask, 1 is true", min: 0, max: 1, step: 1, value: kTriangle },
  },
  question: {
    ask: "You pass a lower triangle of trues to torch.nn.MultiheadAttention. What does a token look at?",
    answers: ["at itself and what came before", "only at what comes after it", "at everything: booleans are added as 0 and 1"],
    right: 1,
    because: "There, true means “ignore”. Look at the second map, where the last token has no key left. Set cells of the mask to 0 or 1: what is open in one map is hidden in the other.",
  },
  formula: () => "score = −∞ where {mask} is 0 in {true keeps}, and where it is 1 in {true ignores}",
  async run(engine, { mask }) {
    const attnMask = { data: mask.flat().map((cell) => cell >= 0.5), shape: [4, 4] };
    const values = kTokens.map(() => [0]);
    const [kept, ignored] = await Promise.all((["keep", "ignore"] as const).map(async (maskTrue) =>
      (await runScores(engine, kScores, values, { attnMask, maskTrue })).weights.flat()));
    const side = (name: string, weights: readonly number[] = []): Table =>
      table({ ...map(name, kTokens, kTokens, weights), digits: 2 }, { masked: weights.map((weight) => weight === 0) });
    const open = (weights: readonly number[] = []): number => weights.filter((weight) => weight > 0).length;
    const both = (kept ?? []).filter((weight, cell) => weight > 0 && (ignored?.[cell] ?? 0) > 0).length;
    return {
      rows: [
        { title: "The mask", items: [table({ ...matrix("mask", kTokens, kTokens, mask.flat(), "sequential"), digits: 0 }, { control: "mask" })] },
        {
          title: "The weights that it gives",
          about: "True keeps: scaled_dot_product_attention, Keras, JAX, ONNX. True ignores: torch.nn.MultiheadAttention.",
          items: [side("true keeps", kept), side("true ignores", ignored)],
        },
      ],
      says: [
        observe(both === 0, `Of 16 pairs, ${open(kept)} are open where true keeps and ${open(ignored)} where it ignores: none is open in both.`, `${both} pairs are open in both.`),
      ],
    };
  },
  explore: () => ({ model: "tiny-bert", text: "the dog saw the cat", layer: 1, head: 4, causal: true, view: "map" }),
  exploreShows: "A causal mask on a model that reads both ways",
});
