// SPDX-License-Identifier: Apache-2.0
import { kCatSatOnMat } from "../../../../views/cat-sat-on-mat.js";
import { given, headRows, layerState, map, matrix, observe, rows, tensor, withLayer, type LessonLayer } from "../../../experiments/numbers.js";
import { lesson } from "../../../lesson.js";
import { table, type Row } from "../../../scene.js";
import { kWords, later, sumToOne } from "../shared.js";

const { x: kEmbeddings, wq, wk, wv, wo, numHeads } = kCatSatOnMat;
const own = (rows: readonly (readonly number[])[]): number[][] => rows.map((row) => [...row]);
const state = layerState(own(wq), own(wk), own(wv), own(wo));

interface Run {
  readonly heads: readonly { scores: number[][]; weights: number[][] }[];
  readonly output: number[][];
}

async function attend(layer: LessonLayer, last: readonly number[], isCausal: boolean): Promise<Run> {
  const x = tensor([...kEmbeddings.slice(0, -1), last]);
  const result = await layer.forward(x, { isCausal, averageAttnWeights: false, stages: ["maskedScores"] });
  const heads = Array.from({ length: numHeads }, (_, head) =>
    ({ scores: headRows(result.maskedScores, head), weights: headRows(given(result.weights), head) }));
  return { heads, output: rows(result.output) };
}

function rowOf({ scores, weights }: Run["heads"][number], head: number, causal: boolean): Row {
  const masked = causal ? { masked: later(kWords.length) } : {};
  const [from, to] = [`scores ${head}`, `weights ${head}`];
  return {
    title: `Head ${head}`,
    items: [
      table({ ...matrix(from, kWords, kWords, scores.flat()), digits: 2 }, masked),
      "→ softmax →",
      table({ ...map(to, kWords, kWords, weights.flat()), digits: 2 }, { ...masked, from: { how: "row", of: from } }),
    ],
  };
}

export default lesson({
  title: "No query sees what comes after it",
  claim: "A causal mask hides every later token from every query, in each head by itself: zeros above the diagonal, and rows that still sum to 1.",
  teaches: ["T0.4"],
  controls: {
    causal: { kind: "switch", label: "causal mask", value: true },
    last: { kind: "cells", label: "embedding of mat", min: -3, max: 3, step: 0.01, value: [[0.19, 0.79, 0.22, 0.58]] },
  },
  question: {
    ask: "With the mask on, you change the embedding of the last word, mat. Which rows of weights can move?",
    answers: ["all four", "only that of mat", "none"],
    right: 1,
    because: "The queries of cat, sat and on never see the key of mat. Drag one of its numbers; then switch the mask off and drag again.",
  },
  formula: () => "{weights 0} = softmax({scores 0}), {weights 1} = softmax({scores 1})",
  async run(engine, { causal, last }) {
    return withLayer(engine, { embedDim: 4, numHeads, bias: false }, state, async (layer) => {
      const now = await attend(layer, given(last[0]), causal);
      const before = await attend(layer, given(kEmbeddings.at(-1)), causal);
      const differs = (row: number): boolean => String(now.output[row]) !== String(before.output[row]);
      const moved = kWords.filter((_, row) => differs(row));
      const leaks = moved.some((word) => word !== "mat");
      const every = now.heads.flatMap(({ weights }) => weights);
      const hidden = later(kWords.length);
      const looksAhead = ({ weights }: Run["heads"][number]): boolean =>
        weights.flat().some((weight, cell) => hidden[cell] && weight !== 0);
      const changed = moved.length === 0 ? "mat still has its first embedding." : `Changing mat moved the outputs of ${moved.join(", ")}.`;
      return {
        rows: [
          { about: "The last word, to change:", items: [table({ ...matrix("mat", ["x"], ["0", "1", "2", "3"], last.flat()), digits: 2 }, { control: "last" })] },
          ...now.heads.map((head, index) => rowOf(head, index, causal)),
        ],
        says: [
          observe(
            !now.heads.some(looksAhead) && sumToOne(every), "In both heads every weight above the diagonal is exactly 0, and every row sums to 1.",
            "Without the mask every query looks at every word, also at those that come later.",
          ),
          observe(!leaks, moved.length === 0 ? changed : `${changed} Earlier words did not notice.`, `${changed} Earlier words saw it.`),
        ],
      };
    });
  },
  explore: ({ causal }) => ({ model: "tiny-bert", text: "The cat sat on the mat.", view: "map", layer: 2, head: 0, causal }),
  exploreShows: "Trained heads that read both ways, with this mask or without",
});
