// SPDX-License-Identifier: Apache-2.0
/** Pictures that models read, and pictures of maps. */

export interface Image {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

/** A picture as a canvas returns it: RGBA bytes, row by row. */
export interface ImageLike {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
}
