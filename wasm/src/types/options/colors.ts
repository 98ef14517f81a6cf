// SPDX-License-Identifier: Apache-2.0
/** The options of coloured maps and colour bars. */
import type { Maybe } from "../tensors.js";

export interface ColorbarOptions {
  /** "sequential" (default) is for weights, "diverging" for signed values. */
  colormap?: Maybe<"sequential" | "diverging">;
  /** The theme of the picture's background, into which low values fade. */
  theme?: Maybe<"light" | "dark">;
}

  /** The range of values is from `min` to `max`. A bound that is absent is taken from the data. */
export interface PixelsOptions extends ColorbarOptions {
  /** Masks the cells above the diagonal, which makes them transparent. */
  min?: Maybe<number>;
/** The options for a model's map. The model knows itself whether it is causal. */
  max?: Maybe<number>;
}

export interface ColorOptions extends PixelsOptions {
  /** Cells above the diagonal are masked, and so transparent. */
  causal?: Maybe<boolean>;
}
