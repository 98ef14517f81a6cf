// SPDX-License-Identifier: Apache-2.0
/// From numbers to pixels.
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

/// The background a picture is made for: small values fade into it.
enum class Theme { kLight, kDark };

struct ColorOptions {
  Colormap colormap = Colormap::kSequential;
  Theme theme = Theme::kLight;
  std::optional<float> min, max;  ///< value range; absent: from the data (a diverging map is made symmetric about 0)
  bool causal = false;            ///< cells above the diagonal are masked
};

using Rgba = std::array<std::uint8_t, 4>;

/// The colour of `t` in [0, 1]. Both maps change evenly in OKLab (Ottosson 2020), so equal steps in value look equal,
/// and their lightness alone orders the values of each hue, so they survive colour blindness and grey print.
Rgba ColorAt(Colormap colormap, Theme theme, float t);

/// Colours `values` [rows, cols] into `rgba`, 4 bytes a cell, row by row. NaN and masked cells become transparent
/// (alpha 0), so that what lies behind (a hatch, say) tells them apart from zeros. Throws kShape when `rgba` is not
/// rows · cols · 4 long.
void Colorize(View<const float, 2> values, const ColorOptions& options, std::span<std::uint8_t> rgba);

}  // namespace headlens

#endif  // HEADLENS_IMAGE_H_
