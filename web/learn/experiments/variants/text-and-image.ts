// SPDX-License-Identifier: Apache-2.0
/** Cross-attention between tokens of different widths: the queries are words and the keys are patches of a picture. */
import type { Image, StateDict } from "headlens";
import type { Findings, LessonEngine } from "../numbers.js";
import { count, given, headRows, identity, map, matrix, observe, percent, rows, shown, sum, tensor, withLayer } from "../numbers.js";
import { meanColour, patchify, picture } from "./pictures.js";

export interface TextAndImageOptions {
  image?: Image;
  patch?: number;
  /** The larger this is, the more the weights of a word concentrate. */
  sharpness?: number;
}

const kWords = ["red", "green", "blue"];

/** Shares that differ by less are the same. */
const kRounding = 1e-5;

export const kThreeSquares = picture(24, [
  { colour: [240, 20, 20], top: 0, left: 0, size: 8 },
  { colour: [20, 220, 40], top: 8, left: 16, size: 8 },
  { colour: [30, 60, 250], top: 16, left: 4, size: 8 },
]);

/** Words are three numbers wide, and patches 3 · patch². Keys and values are the mean colours of the patches. */
export async function textAndImage(engine: LessonEngine, options: TextAndImageOptions = {}): Promise<Findings> {
  const { image = kThreeSquares, patch = 4, sharpness = 16 } = options;
  const { rows: pixels, names, across, down } = patchify(image, patch);
  const width = given(pixels[0]).length;
  const layer = { embedDim: 3, numHeads: 1, kdim: width, vdim: width, bias: false };
  return withLayer(engine, layer, stateOf(width, sharpness), async (mha) => {
    const memory = tensor(pixels);
    const { weights, output } = await mha.forward(tensor(identity(3)), memory, memory, { averageAttnWeights: false });
    const maps = headRows(given(weights), 0);
    const found = kWords.map((word, index) => {
      const own = pixels.map((one) => isMostly(meanColour(one), index));
      const share = sum(given(maps[index]).filter((_, key) => own[key]));
      return { word, share, area: own.filter(Boolean).length / pixels.length };
    });
    return {
      title: "Words look at a picture",
      matrices: [
        map("weights", kWords, names, maps.flat()),
        ...kWords.map((word, index) => map(`where “${word}” looks`, count(down), count(across), given(maps[index]))),
        matrix("what they bring back", kWords, kWords, rows(output).flat()),
      ],
      figures: found.flatMap(({ word, share, area }) => [
        { name: `weight of “${word}” on its colour`, value: share }, { name: `share of the image that is ${word}`, value: area },
      ]),
      observations: found.map(({ word, share, area }) => {
        const numbers = `${percent(share)} of its weight is on patches of that colour, which are ${percent(area)} of the image`;
        const brings = shown(given(rows(output)[kWords.indexOf(word)])[kWords.indexOf(word)] ?? NaN);
        return observe(
          share > area + kRounding,
          `“${word}” finds its patches: ${numbers}; it brings back ${brings} of ${word}.`,
          `“${word}” does not find its patches: ${numbers}.`,
        );
      }),
    };
  });
}

const isMostly = (colour: readonly number[], channel: number): boolean => {
  const own = colour[channel] ?? NaN;
  return own > 0.25 && colour.every((value, index) => index === channel || value < own / 2);
};

/** Keys and values are the mean of each channel over the patch's pixels. */
function stateOf(width: number, sharpness: number): StateDict {
  const average = kWords.map((_, channel) => count(width).map((_, index) => (index % 3 === channel ? 3 / width : 0)));
  return {
    q_proj_weight: tensor(identity(3).map((row) => row.map((value) => value * sharpness))),
    k_proj_weight: tensor(average),
    v_proj_weight: tensor(average),
    "out_proj.weight": tensor(identity(3)),
  };
}
