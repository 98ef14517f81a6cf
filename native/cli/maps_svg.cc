// SPDX-License-Identifier: Apache-2.0
/// Writes maps as SVG. Everything is an attribute and nothing a style, since not every reader of SVG knows styles.
#include <algorithm>
#include <array>
#include <charconv>

#include "cli/base64.h"
#include "cli/maps.h"
#include "cli/maps_colors.h"
#include "cli/png.h"
#include "cli/show.h"
#include "tokenizer/unicode.h"

namespace headlens::cli {
namespace {

constexpr Index kGap = 12;           // pixels between maps and around everything
constexpr Index kFont = 12;          // pixels of a heading
constexpr Index kSmallestCell = 9;   // cells of a grid that have names
constexpr Index kLegendWidth = 420;  // pixels
constexpr Index kBarWidth = 120;
constexpr Index kBarHeight = 12;
constexpr int kStops = 32;  // colours that the legend's bar runs through

/// The number of columns that the widest of the names takes in a monospaced font.
Index WidestOf(const std::vector<std::string>& names) {
  constexpr char32_t kFirstWide = 0x1100;  // letters of East Asia and pictures are as wide as two others
  Index widest = 0;
  for (const std::string& name : names) {
    Index columns = 0;
    tokenizer::ForEachCharacter(name, [&](const tokenizer::Character& character, std::size_t) {
      columns += character.code < kFirstWide ? 1 : 2;
    });
    widest = std::max(widest, columns);
  }
  return widest;
}

/// The places of everything, in pixels.
struct Layout {
  Layout(const Maps& maps, Index cell_side) : cell(cell_side) {
    const auto layers = static_cast<Index>(maps.layers.size()), heads = static_cast<Index>(maps.heads.size());
    const bool named = layers * heads == 1 || cell >= kSmallestCell;
    font = named ? std::clamp<Index>(cell * 4 / 5, 1, kFont) : 0;
    const auto room = [this](const std::vector<std::string>& names) {
      return font > 0 ? WidestOf(names) * font * 5 / 8 + kGap / 2 : 0;
    };
    left = kGap + 64 + room(QueryNames(maps));
    top = kGap + kFont + 6 + room(KeyNames(maps));
    step_x = maps.cols * cell + kGap;
    step_y = maps.rows * cell + kGap;
    legend = top + layers * step_y + kGap / 2;
    size = {std::max(left + heads * step_x, kLegendWidth), legend + kBarHeight + kGap};
  }

  Index x(std::size_t head) const { return left + static_cast<Index>(head) * step_x; }
  Index y(std::size_t layer) const { return top + static_cast<Index>(layer) * step_y; }

  Index cell;
  Index font;       ///< of the names; 0 when there are none
  Index left, top;  ///< of the first map
  Index step_x, step_y;
  Index legend;  ///< the top of the legend
  PictureSize size{};
};

std::string Attribute(const char* name, Index value) {
  return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
}

std::string Box(Index x, Index y, Index width, Index height) {
  return Attribute("x", x) + Attribute("y", y) + Attribute("width", width) + Attribute("height", height);
}

std::string Text(Index x, Index y, const char* anchor, const std::string& words) {
  return "<text" + Attribute("x", x) + Attribute("y", y) + " text-anchor=\"" + anchor + "\">" + words + "</text>\n";
}

/// A number of the scale, with at most four digits and a true minus sign.
std::string ScaleNumber(float value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 4);
  const std::string text(digits.data(), end.ptr);
  return text.starts_with('-') ? "−" + text.substr(1) : text;
}

/// The beginning of the picture, with the pattern of masked cells and the colours of the scale.
std::string SvgHead(const Maps& maps, const PictureSize& size, const ColorOptions& colors) {
  const Palette palette = PaletteFor(colors.theme);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"" + TitleOf(maps) + "\"" +
                    Attribute("width", size.width) + Attribute("height", size.height) + " viewBox=\"0 0 " +
                    std::to_string(size.width) + " " + std::to_string(size.height) +
                    "\" font-family=\"system-ui, sans-serif\"" + Attribute("font-size", kFont) + " fill=\"" +
                    Css(palette.ink) +
                    "\">\n<defs><pattern id=\"masked\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                    "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"" +
                    Css(palette.paper) + "\"/><rect width=\"1\" height=\"6\" fill=\"" + Css(palette.line) +
                    "\"/></pattern><linearGradient id=\"scale\">";
  for (int i = 0; i <= kStops; ++i) {
    const float place = static_cast<float>(i) / kStops;
    svg += "<stop offset=\"" + std::to_string(place) + "\" stop-color=\"" +
           Css(ColorAt(colors.colormap, colors.theme, place)) + "\"/>";
  }
  return svg + "</linearGradient></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"" + Css(palette.paper) + "\"/>\n";
}

/// One name, which keeps its own direction of writing.
std::string SvgName(const std::string& place, const std::string& name) {
  return "<text unicode-bidi=\"plaintext\"" + place + ">" + EscapedMarkup(name) + "</text>\n";
}

/// The names of queries on the left of each row of maps, and of keys above each column.
std::string SvgNames(const Maps& maps, const Layout& layout) {
  const std::vector<std::string> queries = QueryNames(maps), keys = KeyNames(maps);
  const Index middle = layout.cell / 2 + layout.font / 3;
  const auto group = [&layout](const char* anchor) {
    return "<g font-family=\"ui-monospace, monospace\"" + Attribute("font-size", layout.font) + " text-anchor=\"" +
           anchor + "\">\n";
  };
  std::string svg = group("end");
  for (std::size_t i = 0; i < maps.layers.size(); ++i)
    for (std::size_t t = 0; t < queries.size(); ++t) {
      const Index y = layout.y(i) + static_cast<Index>(t) * layout.cell + middle;
      svg += SvgName(Attribute("x", layout.left - 4) + Attribute("y", y), queries[t]);
    }
  svg += "</g>\n" + group("start");
  for (std::size_t j = 0; j < maps.heads.size(); ++j)
    for (std::size_t s = 0; s < keys.size(); ++s) {
      const Index x = layout.x(j) + static_cast<Index>(s) * layout.cell + middle;
      const std::string place = std::to_string(x) + " " + std::to_string(layout.top - 4);
      svg += SvgName(" transform=\"translate(" + place + ") rotate(-90)\"", keys[s]);
    }
  return svg + "</g>\n";
}

std::string SvgHeadings(const Maps& maps, const Layout& layout) {
  std::string svg;
  for (std::size_t j = 0; j < maps.heads.size(); ++j) {
    svg += Text(layout.x(j) + (layout.step_x - kGap) / 2, kGap + kFont - 2, "middle",
                "head " + std::to_string(maps.heads[j]));
  }
  for (std::size_t i = 0; i < maps.layers.size(); ++i)
    svg += Text(kGap, layout.y(i) + (layout.step_y - kGap) / 2 + 4, "start", "layer " + std::to_string(maps.layers[i]));
  return svg;
}

/// A map's pixels, one a cell, as PNG, with some pixels for each cell: not every reader of SVG keeps the edges of
/// enlarged pixels sharp.
std::vector<std::byte> PngOf(const std::vector<std::uint8_t>& small, Index cols, Index cell) {
  constexpr Index kMostPixels = 1 << 19;
  const Index rows = static_cast<Index>(small.size()) / 4 / cols;
  Index side = cell;
  while (side > 1 && rows * cols * side * side > kMostPixels) --side;
  std::vector<std::uint8_t> large(small.size() * static_cast<std::size_t>(side * side));
  auto pixel = large.begin();
  for (Index y = 0; y < rows * side; ++y)
    for (Index x = 0; x < cols * side; ++x)
      pixel = std::copy_n(&small[static_cast<std::size_t>(y / side * cols + x / side) * 4], 4, pixel);
  return EncodePng(large, cols * side, rows * side, PixelFormat::kRgba);
}

std::string SvgMap(const Maps& maps, std::size_t layer, std::size_t head, const Layout& layout,
                   const ColorOptions& colors) {
  const std::string box = Box(layout.x(head), layout.y(layer), maps.cols * layout.cell, maps.rows * layout.cell);
  std::string svg = "<g><title>" + NameOf(maps, layer, head) + "</title><rect" + box +
                    " fill=\"url(#masked)\"/><image" + box +
                    " preserveAspectRatio=\"none\" image-rendering=\"pixelated\" href=\"data:image/png;base64,";
  AppendBase64(svg, PngOf(PixelsOf(maps, layer, head, colors), maps.cols, layout.cell));
  return svg + "\"/></g>\n";
}

/// The range of the colours, and the meaning of the hatch where there is one.
std::string SvgLegend(const Maps& maps, const Layout& layout, const ColorOptions& colors) {
  const std::string line = Css(PaletteFor(colors.theme).line);
  const Index y = layout.legend, baseline = y + kBarHeight - 2;
  const std::string range = ScaleNumber(*colors.min) + " – " + ScaleNumber(*colors.max);
  std::string svg = "<rect" + Box(kGap, y, kBarWidth, kBarHeight) + " fill=\"url(#scale)\" stroke=\"" + line +
                    "\"/>\n" + Text(kGap + kBarWidth + 8, baseline, "start", "weight " + range);
  const bool nan = HasNan(maps);
  if (!maps.causal && !nan) return svg;
  const Index x = kGap + kBarWidth + 150;
  svg += "<rect" + Box(x, y, 2 * kBarHeight, kBarHeight) + " fill=\"url(#masked)\" stroke=\"" + line + "\"/>\n";
  return svg + Text(x + 2 * kBarHeight + 8, baseline, "start",
                    !maps.causal ? "not a number"
                    : nan        ? "masked, or not a number"
                                 : "masked");
}

}  // namespace

PictureSize SizeOfSvg(const Maps& maps, Index cell) { return Layout(maps, cell).size; }

std::string ToSvg(const Maps& maps, const PictureStyle& style) {
  const Layout layout(maps, style.cell);
  const ColorOptions colors = ColorsOf(maps, style.theme);
  std::string svg = SvgHead(maps, layout.size, colors) + SvgHeadings(maps, layout);
  if (layout.font > 0) svg += SvgNames(maps, layout);
  for (std::size_t i = 0; i < maps.layers.size(); ++i)
    for (std::size_t j = 0; j < maps.heads.size(); ++j) svg += SvgMap(maps, i, j, layout, colors);
  return svg + SvgLegend(maps, layout, colors) + "</svg>\n";
}

}  // namespace headlens::cli
