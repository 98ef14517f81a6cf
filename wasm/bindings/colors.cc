// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include "convert.h"
#include "headlens/color_options.h"
#include "headlens/image.h"

namespace headlens {
namespace {

val Clamped(std::span<const std::uint8_t> bytes) {
  return val::global("Uint8ClampedArray").new_(Copy(bytes)["buffer"]);
}

/// { data, width, height } with the RGBA bytes of `values`, one pixel a cell.
val ImageToJs(View<const float, 2> values, const ColorOptions& colors) {
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(ElementCount({values.shape[0], values.shape[1], 4})));
  Colorize(values, colors, rgba);
  val image = val::object();
  image.set("data", Clamped(rgba));
  image.set("height", static_cast<double>(values.shape[0]));
  image.set("width", static_cast<double>(values.shape[1]));
  return image;
}

val ColorizeMatrix(const val& data, int rows, int cols, const std::string& options) {
  return Guard([&] {
    const Tensor values({rows, cols});
    val(emscripten::typed_memory_view(values.values().size(), values.data())).call<void>("set", data);
    return ImageToJs(values.view<2>(), ReadColorOptions(options));
  });
}

val Colorbar(const std::string& options, int steps) {
  return Guard([&] {
    const ColorOptions colors = ReadColorOptions(options);
    std::vector<std::uint8_t> rgba;
    for (int i = 0; i < steps; ++i) {
      const Rgba color = ColorAt(colors.colormap, colors.theme,
                                 steps > 1 ? static_cast<float>(i) / static_cast<float>(steps - 1) : 0.0f);
      rgba.insert(rgba.end(), color.begin(), color.end());
    }
    return Clamped(rgba);
  });
}

EMSCRIPTEN_BINDINGS(colors) {
  emscripten::function("colorize", &ColorizeMatrix);
  emscripten::function("colorbar", &Colorbar);
}

}  // namespace

}  // namespace headlens
