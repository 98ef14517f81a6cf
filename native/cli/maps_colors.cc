// SPDX-License-Identifier: Apache-2.0
#include "cli/maps_colors.h"

#include <algorithm>
#include <cmath>

namespace headlens::cli {
namespace {

/// Calls `use(value)` for each cell that is not masked.
template <class Use>
void ForEachValue(const Maps& maps, const Use& use) {
  for (std::size_t i = 0; i < maps.weights.size(); ++i)
    for (std::size_t j = 0; j < maps.heads.size(); ++j) {
      const View<const float, 2> weights = maps.at(i, j);
      for (Index t = 0; t < maps.rows; ++t) {
        const auto [begin, end] = maps.KeysOf(i, t);
        for (Index s = begin; s < end; ++s) use(weights(t, s));
      }
    }
}

}  // namespace

Palette PaletteFor(Theme theme) {
  const Rgba paper = ColorAt(Colormap::kSequential, theme, 0.0f);
  return theme == Theme::kLight ? Palette{paper, {196, 202, 208, 255}, {40, 48, 56, 255}}
                                : Palette{paper, {74, 82, 92, 255}, {214, 220, 226, 255}};
}

std::string Css(const Rgba& color) {
  return "rgb(" + std::to_string(color[0]) + "," + std::to_string(color[1]) + "," + std::to_string(color[2]) + ")";
}

ColorOptions ColorsOf(const Maps& maps, Theme theme) {
  constexpr float kRounding = 1e-3f;  // of weights in half precision
  float least = 0.0f, most = 0.0f;
  ForEachValue(maps, [&](float value) {
    if (!std::isfinite(value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  });
  ColorOptions colors;
  colors.theme = theme;
  colors.causal = maps.causal;
  if (least < -kRounding) {
    colors.colormap = Colormap::kDiverging;
    colors.max = std::max(-least, most);
    colors.min = -*colors.max;
  } else {
    colors.min = 0.0f;
    colors.max = most > 1.0f + kRounding ? most : 1.0f;
  }
  return colors;
}

bool HasNan(const Maps& maps) {
  bool found = false;
  ForEachValue(maps, [&](float value) { found |= std::isnan(value); });
  return found;
}

std::vector<std::uint8_t> PixelsOf(const Maps& maps, std::size_t layer, std::size_t head, ColorOptions colors) {
  const View<const float, 2> weights = maps.at(layer, head);
  colors.window = maps.WindowOf(layer);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(weights.shape[0] * weights.shape[1]) * 4);
  Colorize(weights, colors, pixels);
  return pixels;
}

}  // namespace headlens::cli
