// SPDX-License-Identifier: Apache-2.0
import type { Image } from "headlens";

/** The colours of an image as #rgb, each the mean of a square of `block` pixels. */
export function pixelsOf({ data, width, height }: Image, block = 1): { pixels: string[]; width: number } {
  const across = width / block;
  const pixels = Array.from({ length: across * (height / block) }, (_, index) => {
    const [top, left] = [Math.floor(index / across) * block, (index % across) * block];
    const digit = (channel: number): string => {
      let total = 0;
      for (let y = top; y < top + block; y++)
        for (let x = left; x < left + block; x++) total += data[(y * width + x) * 4 + channel] ?? 0;
      return Math.round((total / block ** 2 / 255) * 15).toString(16);
    };
    return `#${digit(0)}${digit(1)}${digit(2)}`;
  });
  return { pixels, width: across };
}
