// SPDX-License-Identifier: Apache-2.0
/** Weights over a picture: their numbers, their colours laid over it, and the names and places of its patches. */
import { codesOf, type Look } from "../maps/canvas.js";
import { kSteps, type Theme } from "../maps/palette.js";
import type { MapSource, Overview, Picture } from "../maps/source.js";
import { tokenName } from "../maps/tokens.js";
import type { SeenPicture } from "./picture-seen.js";

/** The opacity of the palette's first and last step over the picture. */
const [kFaintest, kDensest] = [0.2, 0.85];

/** The shares of a faded picture that are its own colours, and the surface around it. */
const [kOwn, kSurface] = [0.3, 0.5];

/** The pixels on a side of a small picture. */
const kSmall = 96;

export type Axis = "row" | "col";

/** A picture without most of its colours, near the surface around it, so that weights stand out from it whatever it shows. */
export function faded(picture: HTMLCanvasElement, theme: Theme): HTMLCanvasElement {
  const { width, height } = picture;
  const image = picture.getContext("2d")?.getImageData(0, 0, width, height) ?? new ImageData(width, height);
  const surface = theme === "light" ? 255 : 16;
  for (let at = 0; at < image.data.length; at += 4) {
    const [red = 0, green = 0, blue = 0] = image.data.subarray(at, at + 3);
    const grey = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    [red, green, blue].forEach((own, channel) => {
      image.data[at + channel] = kSurface * surface + (1 - kSurface) * (kOwn * own + (1 - kOwn) * grey);
    });
  }
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  return canvas;
}

/** A layer's weights over a picture. */
export interface Loaded {
  readonly maps: MapSource;
  readonly layer: number;
  readonly picture: SeenPicture;
  readonly overviews: readonly Overview[];
  /** The rows and columns of patches, and the number of tokens before them. */
  readonly size: readonly [rows: number, cols: number];
  readonly prefix: number;
}

/** A token's row or column in the maps of all heads of a layer. */
export function weightsOf({ maps, layer }: Loaded, axis: Axis, token: number): Promise<readonly Picture[]> {
  const [one, all]: [[number, number], [number, number]] = [[token, token + 1], [0, maps.tokens.length]];
  const part = axis === "row" ? { rows: one, cols: all } : { rows: all, cols: one };
  const size = axis === "row" ? ([1, all[1]] as const) : ([all[1], 1] as const);
  return Promise.all(Array.from({ length: maps.heads[layer] ?? 0 }, (_, head) => maps.part(layer, head, part, size)));
}

/** Lays colours over a picture, one pixel for each patch, the denser the larger the weight. */
export function lay(canvas: HTMLCanvasElement, weights: Picture, look: Look, { size, prefix }: Loaded): void {
  const [rows, cols] = size;
  [canvas.width, canvas.height] = [cols, rows];
  const image = new ImageData(cols, rows);
  codesOf(weights, look).subarray(prefix).forEach((code, patch) => {
    const bytes = look.palette.bytes.subarray(code * 4, code * 4 + 4);
    const place = Math.min(code / (kSteps - 1), 1);
    image.data.set(bytes, patch * 4);
    image.data[patch * 4 + 3] = (bytes[3] ?? 0) * (kFaintest + (kDensest - kFaintest) * place);
  });
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

/** The token of the patch under the pointer. */
export function patchAt({ clientX, clientY, currentTarget }: MouseEvent, { size, prefix }: Loaded): number {
  const [rows, cols] = size;
  const { left, top, width, height } = (currentTarget as Element).getBoundingClientRect();
  const at = (length: number, whole: number, count: number): number =>
    Math.min(Math.max(Math.floor((length / whole) * count), 0), count - 1);
  return prefix + at(clientY - top, height, rows) * cols + at(clientX - left, width, cols);
}

/** The head's weights over the picture `below`, small. */
export function paintSmall(
  canvas: HTMLCanvasElement, below: HTMLCanvasElement, weights: Picture, look: Look, loaded: Loaded,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const small = document.createElement("canvas");
  lay(small, weights, look, loaded);
  canvas.width = canvas.height = kSmall;
  context.drawImage(below, 0, 0, kSmall, kSmall);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, kSmall, kSmall);
}

/** Patches are named by their places, counted from 0 as in the names of tokens. */
export function nameOf({ maps, prefix, size: [, cols] }: Loaded, token: number): string {
  if (token < prefix) return tokenName(maps.tokens[token] ?? "");
  return `row ${Math.floor((token - prefix) / cols)}, column ${(token - prefix) % cols}`;
}
