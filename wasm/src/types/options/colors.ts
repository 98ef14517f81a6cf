// SPDX-License-Identifier: Apache-2.0
/** These are the options of coloured maps and colour bars. */
import type { Maybe } from "../tensors.js";

export interface ColorOptions {
  /** "sequential" (default) is for weights, "diverging" for signed values. */
  colormap?: Maybe<"sequential" | "diverging">;
  /** The picture is for a background of this theme: low values fade into it. */
  theme?: Maybe<"light" | "dark">;
  /** The range of values goes from `min` to `max`, each taken from the data when it is absent. */
  min?: Maybe<number>;
  max?: Maybe<number>;
  /** Cells above the diagonal are masked, and so transparent. */
  causal?: Maybe<boolean>;
}

/** These options are for a model's map. The model itself says whether it is causal. */
export type PixelsOptions = Omit<ColorOptions, "causal">;

export type ColorbarOptions = Pick<ColorOptions, "colormap" | "theme">;
