// SPDX-License-Identifier: Apache-2.0
/** A chapter as a small picture: the first map of its lessons, in its colours and without its numbers. */
import { kSteps, paletteOf } from "../../maps/palette.js";
import { at, type Matrix } from "../../views/worked-example.js";
import type { Scene } from "../scene.js";
import { largestMagnitude, shareOf } from "./tones.js";

/** Of larger matrices, nothing would be seen. */
const kMostSide = 24;

interface Drawn {
  readonly matrix: Matrix;
  readonly masked?: readonly boolean[];
}

/** Weights of several rows tell a map best, then any numbers of several rows. */
function told(scenes: readonly Scene[]): Drawn | undefined {
  const all = scenes.flatMap(({ rows }) => rows.flatMap(({ items }) => items.flatMap((item): Drawn[] => {
    if (typeof item !== "object") return [];
    return item.kind === "table" ? [item] : item.kind === "view" ? [{ matrix: item.stands }] : [];
  })));
  const seen = all.filter(({ matrix: { rows, cols } }) =>
    Math.min(rows.length, cols.length) > 2 && Math.max(rows.length, cols.length) <= kMostSide);
  return seen.find(({ matrix }) => matrix.colormap === "sequential") ?? seen[0];
}

/** An SVG of the chapter with these scenes, or nothing. Its colours are attributes, since pages have no inline styles. */
export function glyph(scenes: readonly Scene[]): string {
  const drawn = told(scenes);
  if (!drawn) return "";
  const { matrix, masked } = drawn;
  const [height, width] = [matrix.rows.length, matrix.cols.length];
  const most = largestMagnitude(matrix.values);
  const colors = (["light", "dark"] as const).map((theme) => paletteOf(matrix.colormap, theme).bytes);
  const cells = Array.from({ length: height * width }, (_, cell) => {
    const [row, col] = [Math.floor(cell / width), cell % width];
    const value = at(matrix, row, col);
    if (masked?.[cell] === true || !Number.isFinite(value)) return "";
    const step = Math.round(shareOf(value, matrix.colormap, most) * (kSteps - 1));
    const fill = colors.map((bytes) => `rgb(${bytes.subarray(step * 4, step * 4 + 3).join(" ")})`);
    return `<rect x="${col}" y="${row}" width="1" height="1" fill="light-dark(${fill.join(", ")})"/>`;
  });
  return `<svg class="glyph" viewBox="0 0 ${width} ${height}" aria-hidden="true" shape-rendering="crispEdges">${cells.join("")}</svg>`;
}
