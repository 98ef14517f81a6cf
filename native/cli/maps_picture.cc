// SPDX-License-Identifier: Apache-2.0
/// Writes maps as PNG and SVG.
#include <algorithm>
#include <span>

#include "cli/maps.h"
#include "cli/png.h"

namespace headlens::cli {
namespace {

constexpr Index kLine = 2;         // pixels between maps and around them
constexpr Index kHatchPeriod = 6;  // pixels from one line of the hatch to the next

struct Palette {
  Rgba paper, line, ink;
};

Palette PaletteFor(Theme theme) {
  const Rgba paper = ColorAt(Colormap::kSequential, theme, 0.0f);
  return theme == Theme::kLight ? Palette{paper, {196, 202, 208, 255}, {40, 48, 56, 255}}
                                : Palette{paper, {74, 82, 92, 255}, {214, 220, 226, 255}};
}

/// One map in RGBA, with one pixel per cell. Masked cells are transparent.
std::vector<std::uint8_t> PixelsOf(const Tensor& weights, bool causal, Theme theme) {
  ColorOptions options;
  options.theme = theme;
  options.min = 0.0f;
  options.max = 1.0f;
  options.causal = causal;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(weights.size()) * 4);
  Colorize(weights.view<2>(), options, pixels);
  return pixels;
}

/// An opaque picture.
class Canvas {
 public:
  Canvas(PictureSize size, const Rgba& color)
      : size_(size), rgb_(static_cast<std::size_t>(size.width * size.height) * 3) {
    for (std::size_t i = 0; i < rgb_.size(); ++i) rgb_[i] = color[i % 3];
  }

  void Draw(Index left, Index top, const Tensor& weights, bool causal, const PictureStyle& style,
            const Palette& palette) {
    const std::vector<std::uint8_t> pixels = PixelsOf(weights, causal, style.theme);
    const Index length = weights.shape()[0], side = length * style.cell;
    for (Index y = 0; y < side; ++y)
      for (Index x = 0; x < side; ++x) {
        const std::uint8_t* pixel = &pixels[static_cast<std::size_t>(y / style.cell * length + x / style.cell) * 4];
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

std::string Base64(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? static_cast<std::uint32_t>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::string Css(const Rgba& color) {
  return "rgb(" + std::to_string(color[0]) + "," + std::to_string(color[1]) + "," + std::to_string(color[2]) + ")";
}

std::string Attribute(const char* name, Index value) {
  return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
}

std::string Text(Index x, Index y, const char* anchor, const std::string& words) {
  return "<text" + Attribute("x", x) + Attribute("y", y) + " text-anchor=\"" + anchor + "\">" + words + "</text>\n";
}

std::string SvgMap(Index x, Index y, Index side, const Tensor& weights, bool causal, Theme theme,
                   const std::string& name) {
  const Index length = weights.shape()[0];
  const std::string box = Attribute("x", x) + Attribute("y", y) + Attribute("width", side) + Attribute("height", side);
  const std::vector<std::byte> png = EncodePng(PixelsOf(weights, causal, theme), length, length, PixelFormat::kRgba);
  return "<g><title>" + name + "</title><rect" + box + " fill=\"url(#masked)\"/><image" + box +
         " style=\"image-rendering:pixelated\" href=\"data:image/png;base64," + Base64(png) + "\"/></g>\n";
}

std::string SvgHead(PictureSize size, const Palette& palette) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + Attribute("width", size.width) +
         Attribute("height", size.height) + " font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"" +
         Css(palette.ink) +
         "\">\n<defs><pattern id=\"masked\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
         "patternTransform=\"rotate(45)\">"
         "<rect width=\"6\" height=\"6\" fill=\"" +
         Css(palette.paper) + "\"/><rect width=\"1\" height=\"6\" fill=\"" + Css(palette.line) +
         "\"/></pattern></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"" + Css(palette.paper) + "\"/>\n";
}

}  // namespace

PictureSize SizeOfPicture(Index rows, Index columns, Index length, Index cell) {
  const Index step = length * cell + kLine;
  return {columns * step + kLine, rows * step + kLine};
}

std::vector<std::byte> ToPng(const Maps& maps, const PictureStyle& style) {
  const Palette palette = PaletteFor(style.theme);
  const auto rows = static_cast<Index>(maps.layers.size()), columns = static_cast<Index>(maps.heads.size());
  Canvas canvas(SizeOfPicture(rows, columns, maps.length(), style.cell), palette.line);
  const Index step = maps.length() * style.cell + kLine;
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) {
      canvas.Draw(kLine + j * step, kLine + i * step, maps.at(static_cast<std::size_t>(i), static_cast<std::size_t>(j)),
                  maps.causal, style, palette);
    }
  return canvas.Encode();
}

std::string ToSvg(const Maps& maps, const PictureStyle& style) {
  constexpr Index kLeft = 64, kTop = 28, kGap = 12;
  const Index side = maps.length() * style.cell, step = side + kGap;
  const auto rows = static_cast<Index>(maps.layers.size()), columns = static_cast<Index>(maps.heads.size());
  std::string svg = SvgHead({kLeft + columns * step, kTop + rows * step}, PaletteFor(style.theme));
  for (Index j = 0; j < columns; ++j) {
    svg += Text(kLeft + j * step + side / 2, kTop - 10, "middle",
                "head " + std::to_string(maps.heads[static_cast<std::size_t>(j)]));
  }
  for (Index i = 0; i < rows; ++i) {
    const std::string layer = "layer " + std::to_string(maps.layers[static_cast<std::size_t>(i)]);
    svg += Text(kLeft - 10, kTop + i * step + side / 2 + 4, "end", layer);
    for (Index j = 0; j < columns; ++j) {
      svg += SvgMap(kLeft + j * step, kTop + i * step, side,
                    maps.at(static_cast<std::size_t>(i), static_cast<std::size_t>(j)), maps.causal, style.theme,
                    layer + ", head " + std::to_string(maps.heads[static_cast<std::size_t>(j)]));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace headlens::cli
