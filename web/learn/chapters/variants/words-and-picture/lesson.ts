// SPDX-License-Identifier: Apache-2.0
import { count, given, type Matrix } from "../../../experiments/numbers.js";
import { kThreeSquares, textAndImage } from "../../../experiments/variants/text-and-image.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { pixelsOf } from "../pixels.js";

const kPatch = 4;
const kAcross = kThreeSquares.width / kPatch;

export default lesson({
  title: "Words look at a picture",
  claim: "When the queries are words and the keys are patches, each word has a map that is a picture.",
  teaches: ["T3.8"],
  controls: {
    word: { kind: "choice", label: "word that looks", options: { red: "red", green: "green", blue: "blue" }, value: "red" },
    sharpness: { kind: "slider", label: "sharpness", min: 0, max: 32, step: 1, value: 16 },
  },
  question: {
    ask: "There are 3 words and 36 patches. What shape has the map?",
    answers: ["3 × 3", "3 × 36", "36 × 36", "39 × 39"],
    right: 1,
    because: "A row for each query, which is a word, and a column for each key, which is a patch. A row of 36 can be laid out as 6 × 6, as here.",
  },
  formula: () => "weights = softmax(sharpness · words · coloursᵀ ÷ √3), {what words bring back} = weights · colours",
  async run(engine, { word, sharpness }) {
    const { matrices, observations } = await textAndImage(engine, { patch: kPatch, sharpness });
    const named = (name: string): Matrix => given(matrices.find((one) => one.name === name));
    const looks = named(`where “${word}” looks`);
    const back = named("what they bring back");
    const picture = { kind: "picture", ...pixelsOf(kThreeSquares), across: kAcross } as const;
    return {
      rows: [
        { items: [{ ...picture, name: "the picture" }, "→", { ...picture, name: looks.name, weights: [...looks.values] }] },
        { items: [
          table({ ...looks, name: `weights of “${word}”` }),
          table({ ...back, name: "what words bring back", cols: ["red", "green", "blue"] }, { marked: { row: count(3).findIndex((_, row) => back.rows[row] === word), col: -1 } }),
        ] },
      ],
      says: observations.filter(({ text }) => text.startsWith(`“${word}”`)),
    };
  },
  explore: () => ({ model: "tiny-vit", layer: 1, head: 5, query: "0", view: "picture" }),
  exploreShows: "A token that is no patch looks at a picture",
});
