// SPDX-License-Identifier: Apache-2.0
/** Models read pictures, and maps become pictures. */

export interface Image {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

/** A picture's pixels are as a canvas gives them: RGBA bytes, row by row. */
export interface ImageLike {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
}
