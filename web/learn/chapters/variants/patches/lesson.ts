// SPDX-License-Identifier: Apache-2.0
import { count, given, matrix } from "../../../experiments/numbers.js";
import { kTwoSquares, patches } from "../../../experiments/variants/patches.js";
import { lesson } from "../../../lesson.js";
import { table } from "../../../scene.js";
import { pixelsOf } from "../pixels.js";

const kSizes = [16, 8, 4, 2];

/** The sizes of tables that can be read. */
const kMostAcross = 8;

export default lesson({
  title: "A picture is a sentence of patches",
  claim: "Cut into patches, a picture is a row of tokens like any other: each patch looks at all patches.",
  teaches: ["T3.8"],
  controls: {
    size: { kind: "steps", label: "pixels across a patch", values: [2, 4, 8, 16], value: 4 },
    place: { kind: "slider", label: "place of the patch that looks, in percent", min: 0, max: 100, step: 1, value: 28 },
  },
  question: {
    ask: "Patches become half as wide. How many times as many weights are there?",
    answers: ["2", "4", "8", "16"],
    right: 3,
    because: "Half as wide and half as high makes four times as many patches, and each looks at four times as many. Change the size of the patches and read the table.",
  },
  formula: () => "{patches of 32 × 32 pixels}: tokens = (32 ÷ pixels across a patch)², weights = tokens²",
  async run(engine, { size, place }) {
    const across = kTwoSquares.width / size;
    const query = Math.min(Math.floor((place / 100) * across ** 2), across ** 2 - 1);
    const { matrices, observations } = await patches(engine, { patch: size, query });
    const row = given(matrices.find(({ name }) => name.startsWith("where")));
    const looks = `patch ${Math.floor(query / across)},${query % across} looks at`;
    const places = count(across ** 2).map((_, patch) => Math.ceil((patch / across ** 2) * 100));
    const picture = { kind: "picture", ...pixelsOf(kTwoSquares), across, query, ...(across <= 10 ? { chooses: { control: "place", values: places } } : {}) } as const;
    const tokens = kSizes.map((one) => (kTwoSquares.width / one) ** 2);
    const counts = matrix("patches of 32 × 32 pixels", kSizes.map((one) => `${one} × ${one}`), ["tokens", "weights"], tokens.flatMap((one) => [one, one ** 2]));
    return {
      rows: [
        { items: [{ ...picture, name: "the picture" }, "→", { ...picture, name: looks, weights: [...row.values] }] },
        ...(across > kMostAcross ? [] : [{ items: [table({ ...row, name: looks })] }]),
        { items: [table({ ...counts, digits: 0 }, { marked: { row: kSizes.indexOf(size), col: -1 } })] },
      ],
      says: observations,
    };
  },
  explore({ place }) {
    const patches = 64;
    const query = 1 + Math.min(Math.floor((place / 100) * patches), patches - 1); // CLS stands before the patches
    return { model: "tiny-vit", layer: 1, head: 1, query: String(query), view: "picture" };
  },
  exploreShows: "A patch and its neighbours, in a trained model",
});
