// SPDX-License-Identifier: Apache-2.0
#include "headlens/image.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace headlens {
namespace {

constexpr int kSteps = 256;

/// A colour in OKLab by lightness, chroma and hue (degrees).
struct Oklch {
  double lightness, chroma, hue;
};

double SrgbEncode(double linear) {
  const double x = std::clamp(linear, 0.0, 1.0);
  return x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1.0 / 2.4) - 0.055;
}

/// Converts OKLab to sRGB (Ottosson 2020, "A perceptual color space for image processing").
Rgba ToRgba(const Oklch& color) {
  const double radians = color.hue * 3.14159265358979323846 / 180.0;
  const double a = color.chroma * std::cos(radians), b = color.chroma * std::sin(radians);
  const double l = std::pow(color.lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(color.lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(color.lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  const auto byte = [](double linear) { return static_cast<std::uint8_t>(std::lround(255.0 * SrgbEncode(linear))); };
  return {byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s), 255};
}

/// Blends two colours. Lightness and hue change evenly, and chroma rises by up to `swell` in between, inside sRGB.
Oklch Blend(const Oklch& from, const Oklch& to, double t, double swell) {
  return {from.lightness + t * (to.lightness - from.lightness),
          from.chroma + t * (to.chroma - from.chroma) + swell * std::sin(3.14159265358979323846 * t),
          from.hue + t * (to.hue - from.hue)};
}

/// The sequential map: from the light background through teal to navy, or from the dark one through teal to pale
/// yellow. Blue and yellow stay distinct in every common kind of colour blindness.
Oklch Sequential(Theme theme, double t) {
  return theme == Theme::kLight ? Blend({0.975, 0.012, 200}, {0.27, 0.085, 268}, t, 0.075)
                                : Blend({0.21, 0.025, 265}, {0.94, 0.12, 104}, t, 0.02);
}

/// The diverging map: orange for negative and blue for positive values, which meet in the background.
Oklch Diverging(Theme theme, double t) {
  const double strength = std::abs(2.0 * t - 1.0), hue = t < 0.5 ? 50.0 : 255.0;
  return theme == Theme::kLight ? Oklch{0.975 - 0.475 * strength, 0.13 * strength, hue}
                                : Oklch{0.23 + 0.52 * strength, 0.13 * strength, hue};
}

using Table = std::array<Rgba, kSteps>;

const Table& TableFor(Colormap colormap, Theme theme) {
  static const std::array<Table, 4> kTables = [] {
    std::array<Table, 4> tables{};
    for (std::size_t i = 0; i < tables.size(); ++i)
      for (std::size_t step = 0; step < kSteps; ++step) {
        const double t = static_cast<double>(step) / (kSteps - 1);
        const Theme which = i % 2 == 0 ? Theme::kLight : Theme::kDark;
        tables[i][step] = ToRgba(i < 2 ? Sequential(which, t) : Diverging(which, t));
      }
    return tables;
  }();
  return kTables[(colormap == Colormap::kDiverging ? 2U : 0U) + (theme == Theme::kDark ? 1U : 0U)];
}

struct Range {
  float min, max;
};

bool IsMasked(const ColorOptions& options, Index row, Index column) {
  return options.causal && (column > row || (options.window > 0 && column + options.window <= row));
}

Range RangeOf(View<const float, 2> values, const ColorOptions& options) {
  Range range{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  if (!options.min || !options.max) {
    for (Index i = 0; i < values.shape[0]; ++i)
      for (Index j = 0; j < values.shape[1]; ++j) {
        const float value = values(i, j);
        if (!std::isfinite(value) || IsMasked(options, i, j)) continue;
        range = {std::min(range.min, value), std::max(range.max, value)};
      }
    if (range.min > range.max) range = {0.0f, 0.0f};
    if (options.colormap == Colormap::kDiverging) {
      range.max = std::max(std::abs(range.min), std::abs(range.max));
      range.min = -range.max;
    }
  }
  return {options.min.value_or(range.min), options.max.value_or(range.max)};
}

}  // namespace

Rgba ColorAt(Colormap colormap, Theme theme, float t) {
  const float clamped = t > 0.0f ? std::min(t, 1.0f) : 0.0f;
  return TableFor(colormap, theme)[static_cast<std::size_t>(std::lround(clamped * (kSteps - 1)))];
}

void Colorize(View<const float, 2> values, const ColorOptions& options, std::span<std::uint8_t> rgba) {
  const Index cells = ElementCount({values.shape[0], values.shape[1], 4});
  if (static_cast<Index>(rgba.size()) != cells) {
    throw Wrong(ErrorCode::kShape, "pixels", "have", {rgba.size(), " bytes"},
                {cells, ", for values of shape ", Shape{values.shape[0], values.shape[1]}});
  }
  const Range range = RangeOf(values, options);
  const float factor = range.max > range.min ? 1.0f / (range.max - range.min) : 0.0f;
  auto pixel = rgba.begin();
  for (Index i = 0; i < values.shape[0]; ++i)
    for (Index j = 0; j < values.shape[1]; ++j, pixel += 4) {
      const float value = values(i, j);
      const bool masked = std::isnan(value) || IsMasked(options, i, j);
      const Rgba color =
          masked ? Rgba{0, 0, 0, 0} : ColorAt(options.colormap, options.theme, (value - range.min) * factor);
      std::copy(color.begin(), color.end(), pixel);
    }
}

}  // namespace headlens
