// SPDX-License-Identifier: Apache-2.0
/** Pictures: what models read, and what maps become. */

export interface Image {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

/** A picture's pixels, as a canvas gives them: RGBA bytes, row by row. */
export interface ImageLike {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
}
