// SPDX-License-Identifier: Apache-2.0
/** An image cut into patches, which attend to each other as words do (Dosovitskiy et al. 2021). */
import type { Image } from "headlens";
import { runHead } from "../head.js";
import type { Findings, LessonEngine } from "../numbers.js";
import { count, given, map, matrix, mean, observe, shown, sum, transpose } from "../numbers.js";
import { meanColour, patchify, picture } from "./pictures.js";

export interface PatchesOptions {
  image?: Image;
  /** The width of a patch in pixels. */
  patch?: number;
  /** The patch whose row is shown as a picture. */
  query?: number;
}

export const kTwoSquares = picture(32, [
  { colour: [230, 60, 40], top: 4, left: 4, size: 12 },
  { colour: [60, 90, 240], top: 16, left: 18, size: 12 },
]);

/** Compares patches by their pixels, relative to the mean patch, without any training. */
export async function patches(engine: LessonEngine, options: PatchesOptions = {}): Promise<Findings> {
  const { image = kTwoSquares, patch = 4 } = options;
  const { rows, names, across, down } = patchify(image, patch);
  const { query = 2 * across + 2 } = options;
  const centre = transpose(rows).map(mean);
  const x = rows.map((row) => row.map((value, index) => value - (centre[index] ?? NaN)));
  const { weights } = await runHead(engine, x, x, rows, { scale: 4 / Math.sqrt(given(x[0]).length) });
  const row = weights[query];
  if (!row) throw new Error(`query ${query}: this image has patches 0 to ${rows.length - 1}`);
  const colours = rows.map(meanColour);
  const apart = (one: number): number =>
    Math.hypot(...given(colours[one]).map((value, channel) => value - (colours[query]?.[channel] ?? NaN)));
  const looked = sum(row.map((weight, key) => weight * apart(key)));
  const average = mean(row.map((_, key) => apart(key)));
  const finer = (rows.length * 4) ** 2;
  return {
    title: "An image is a sentence of patches",
    matrices: [
      map("weights", names, names, weights.flat()),
      map(`where patch ${given(names[query])} looks`, count(down), count(across), row),
      matrix("patches’ colours", names, ["red", "green", "blue"], colours.flat()),
    ],
    figures: [
      { name: "patches", value: rows.length },
      { name: "weights", value: weights.flat().length },
      { name: "colour distance, looked at", value: looked },
      { name: "colour distance, average", value: average },
    ],
    observations: [
      observe(
        looked < average,
        `Patch ${given(names[query])} looks at its like: what it sees is ${shown(looked)} from its own colour, the image ${shown(average)}.`,
        `Patch ${given(names[query])} does not look at its like: ${shown(looked)} from its own colour, the image ${shown(average)}.`,
      ),
      observe(
        weights.flat().length === rows.length ** 2,
        `${across} × ${down} patches make ${rows.length} tokens and ${rows.length ** 2} weights; patches half as wide would make ${finer}.`,
        `${rows.length} tokens, but ${weights.flat().length} weights.`,
      ),
    ],
  };
}
