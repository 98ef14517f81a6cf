// SPDX-License-Identifier: Apache-2.0
/// Writes maps as PNG.
#include <algorithm>
#include <span>

#include "cli/maps.h"
#include "cli/maps_colors.h"
#include "cli/png.h"

namespace headlens::cli {
namespace {

constexpr Index kLine = 2;         // pixels between maps and around them
constexpr Index kHatchPeriod = 6;  // pixels from one line of the hatch to the next

/// An opaque picture.
class Canvas {
 public:
  Canvas(PictureSize size, const Rgba& color)
      : size_(size), rgb_(static_cast<std::size_t>(size.width * size.height) * 3) {
    for (std::size_t i = 0; i < rgb_.size(); ++i) rgb_[i] = color[i % 3];
  }

  /// Draws a map from its pixels, one a cell, in rows of `cols`.
  void Draw(Index left, Index top, std::span<const std::uint8_t> pixels, Index cols, Index cell,
            const Palette& palette) {
    const Index rows = static_cast<Index>(pixels.size()) / 4 / cols;
    for (Index y = 0; y < rows * cell; ++y)
      for (Index x = 0; x < cols * cell; ++x) {
        const std::uint8_t* pixel = &pixels[static_cast<std::size_t>(y / cell * cols + x / cell) * 4];
        const bool masked = pixel[3] == 0;
        const std::uint8_t* color =
            masked ? ((x + y) % kHatchPeriod == 0 ? palette.line : palette.paper).data() : pixel;
        std::copy_n(color, 3, &rgb_[static_cast<std::size_t>((top + y) * size_.width + left + x) * 3]);
      }
  }

  std::vector<std::byte> Encode() const { return EncodePng(rgb_, size_.width, size_.height, PixelFormat::kRgb); }

 private:
  PictureSize size_;
  std::vector<std::uint8_t> rgb_;
};

}  // namespace

PictureSize SizeOfPng(const Maps& maps, Index cell) {
  const auto layers = static_cast<Index>(maps.layers.size()), heads = static_cast<Index>(maps.heads.size());
  return {heads * (maps.cols * cell + kLine) + kLine, layers * (maps.rows * cell + kLine) + kLine};
}

std::vector<std::byte> ToPng(const Maps& maps, const PictureStyle& style) {
  const ColorOptions colors = ColorsOf(maps, style.theme);
  const Palette palette = PaletteFor(style.theme);
  Canvas canvas(SizeOfPng(maps, style.cell), palette.line);
  for (std::size_t i = 0; i < maps.layers.size(); ++i)
    for (std::size_t j = 0; j < maps.heads.size(); ++j) {
      canvas.Draw(kLine + static_cast<Index>(j) * (maps.cols * style.cell + kLine),
                  kLine + static_cast<Index>(i) * (maps.rows * style.cell + kLine), PixelsOf(maps, i, j, colors),
                  maps.cols, style.cell, palette);
    }
  return canvas.Encode();
}

}  // namespace headlens::cli
