// SPDX-License-Identifier: Apache-2.0
/// Turns numbers into colours and pixels.
#ifndef HEADLENS_IMAGE_H_
#define HEADLENS_IMAGE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "headlens/tensor.h"

namespace headlens {

enum class Colormap {
  kSequential,  ///< from the background to the strongest colour, for weights
  kDiverging,   ///< two hues that meet in the background at 0, for signed values
};

/// The background that a picture is made for. Small values fade into it.
enum class Theme { kLight, kDark };

struct ColorOptions {
  Colormap colormap = Colormap::kSequential;
  Theme theme = Theme::kLight;
  std::optional<float> min, max;  ///< value range; absent: taken from the data (symmetric about 0 for a diverging map)
  bool causal = false;            ///< cells above the diagonal are masked
  Index window = 0;               ///< with `causal`: a row's cells before its `window` last ones are, too; 0: none
};

using Rgba = std::array<std::uint8_t, 4>;

/// The colour of `t` in [0, 1]. Both maps change evenly in OKLab (Ottosson 2020), so equal steps in value look equal.
/// Lightness alone orders the values of each hue, so the maps stay readable in grey print and for colour-blind readers.
Rgba ColorAt(Colormap colormap, Theme theme, float t);

/// Colours `values` [rows, cols] into `rgba`, 4 bytes per cell, row by row. NaN and masked cells become transparent
/// (alpha 0), so a pattern behind the picture can tell them apart from zeros. Throws kShape unless `rgba` has rows ·
/// cols · 4 bytes.
void Colorize(View<const float, 2> values, const ColorOptions& options, std::span<std::uint8_t> rgba);

}  // namespace headlens

#endif  // HEADLENS_IMAGE_H_
