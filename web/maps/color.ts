// SPDX-License-Identifier: Apache-2.0
export type Rgb = readonly [red: number, green: number, blue: number];

const known = new Map<string, Rgb>();
let pixel: CanvasRenderingContext2D | undefined;

/** The bytes of a colour in any of the forms that browsers know; black for what is none. */
export function rgbOf(color: string): Rgb {
  const before = known.get(color);
  if (before) return before;
  pixel ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true }) ?? undefined;
  if (!pixel) return [0, 0, 0];
  pixel.fillStyle = "#000";
  pixel.fillStyle = color;
  pixel.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = pixel.getImageData(0, 0, 1, 1).data;
  known.set(color, [red, green, blue]);
  return [red, green, blue];
}
