// SPDX-License-Identifier: Apache-2.0
/// The colours of maps in pictures.
#ifndef HEADLENS_NATIVE_CLI_MAPS_COLORS_H_
#define HEADLENS_NATIVE_CLI_MAPS_COLORS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/maps.h"
#include "headlens/image.h"

namespace headlens::cli {

/// The colours around the cells.
struct Palette {
  Rgba paper, line, ink;
};

Palette PaletteFor(Theme theme);

/// The colour as SVG and CSS write it: "rgb(0,128,255)".
std::string Css(const Rgba& color);

/// The scale of all maps together: 0 to 1 for weights, to the largest value for larger ones, and symmetric about 0
/// where there are negative ones.
ColorOptions ColorsOf(const Maps& maps, Theme theme);

/// True when a cell that is not masked holds NaN, which is drawn as masked cells are.
bool HasNan(const Maps& maps);

/// One map in RGBA, with one pixel per cell. Masked cells and NaN are transparent.
std::vector<std::uint8_t> PixelsOf(const Maps& maps, std::size_t layer, std::size_t head, ColorOptions colors);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MAPS_COLORS_H_
