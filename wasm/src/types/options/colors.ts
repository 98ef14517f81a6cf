// SPDX-License-Identifier: Apache-2.0
/** The options of coloured maps and colour bars. */
import type { Maybe } from "../tensors.js";

export interface ColorOptions {
  /** "sequential" (default) for weights, "diverging" for signed values. */
  colormap?: Maybe<"sequential" | "diverging">;
  /** Which background the picture is for: low values fade into it. */
  theme?: Maybe<"light" | "dark">;
  /** Value range; from the data when absent. */
  min?: Maybe<number>;
  max?: Maybe<number>;
  /** Cells above the diagonal are masked: transparent. */
  causal?: Maybe<boolean>;
}

/** Of a model's map: the model itself says whether it is causal. */
export type PixelsOptions = Omit<ColorOptions, "causal">;

export type ColorbarOptions = Pick<ColorOptions, "colormap" | "theme">;
