// SPDX-License-Identifier: Apache-2.0
import { given, matrix, type Matrix } from "../../../experiments/numbers.js";
import { normalizers } from "../../../experiments/variants/normalizers.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";

const kKeys = ["the", "old", "cat", "sat", "down"];

export default lesson({
  title: "Softmax is one choice of several",
  claim: "Other functions than the softmax can give a key exactly nothing, or let the weights of a row sum to something other than 1.",
  teaches: ["T3.8"],
  controls: {
    scores: { kind: "cells", label: "scores", min: -8, max: 8, step: 0.1, value: [[1.2, 1, 0.1, -0.5, -2]] },
    most: { kind: "slider", label: "keys that top-k keeps", min: 1, max: 5, step: 1, value: 2 },
  },
  question: {
    ask: "You add 5 to all five scores. Which rows change?",
    answers: ["all", "that of the sigmoid", "those with zeros", "none"],
    right: 1,
    because: "The others compare scores, and the differences stay. The sigmoid looks at each score by itself: drag all five up, and its weights go to 1.",
  },
  formula: () => "{weights} = normaliser({scores})",
  async run(engine, { scores, most }) {
    const { matrices, observations } = await normalizers(engine, { scores: scores[0] ?? [], topK: most });
    const [asked, weights, measured] = ["scores", "weights", "measured"].map((name) => given(matrices.find((one) => one.name === name)));
    const kinds = ["softmax", "sparsemax", "entmax", "sigmoid", `top ${most}`, "hard"];
    const column = (name: string, columns: readonly number[], digits: number): Matrix => {
      const { cols, values } = given(measured);
      const cells = kinds.flatMap((_, row) => columns.map((col) => given(values[row * cols.length + col])));
      return { ...matrix(name, kinds, columns.map((col) => given(cols[col])), cells), digits };
    };
    return {
      rows: [
        { items: [table({ ...given(asked), cols: kKeys }, { control: "scores" })] },
        { items: [table({ ...given(weights), rows: kinds, cols: kKeys }), table(column("its row", [0, 2], 3)), table(column("its keys", [1], 0))] },
      ],
      says: observations,
    };
  },
  explore: () => ({ normalizer: "sparsemax", layer: 3, head: 1, query: "6", key: "", view: "map" }),
  exploreShows: "Sparsemax on trained heads",
});
