// SPDX-License-Identifier: Apache-2.0
/** Pictures that models read, from their addresses. */
import type { ImageLike } from "headlens";

/** Larger pictures are scaled down, since models read a few hundred pixels a side. */
const kMostSide = 2048;

/** Fetches a picture and returns its pixels. Rejects with an Error that names the address. */
export async function pictureAt(address: string): Promise<ImageLike> {
  const response = await fetch(new URL(address, document.baseURI));
  if (!response.ok) throw new Error(`image: ${address} answered ${response.status}`);
  const bitmap = await createImageBitmap(await response.blob()).catch(() => {
    throw new Error(`image: ${address} is no picture that this browser can read`);
  });
  const shrink = Math.min(1, kMostSide / Math.max(bitmap.width, bitmap.height));
  const side = (length: number): number => Math.max(Math.round(length * shrink), 1);
  const [width, height] = [side(bitmap.width), side(bitmap.height)];
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("image: this browser gives no canvas to read a picture with");
  context.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  return context.getImageData(0, 0, width, height);
}
