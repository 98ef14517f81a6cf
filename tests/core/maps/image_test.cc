// SPDX-License-Identifier: Apache-2.0
#include "headlens/image.h"

#include <algorithm>
#include <cmath>

#include "support.h"

namespace headlens::testing {
namespace {

double Linear(std::uint8_t byte) {
  const double x = byte / 255.0;
  return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

struct Lab {
  double l, a, b;
};

/// Converts linear sRGB to OKLab (Ottosson 2020).
Lab ToOklab(double red, double green, double blue) {
  const double l = std::cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const double m = std::cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const double s = std::cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Lab LabAt(Colormap colormap, Theme theme, int step) {
  const Rgba color = ColorAt(colormap, theme, static_cast<float>(step) / 255.0f);
  return ToOklab(Linear(color[0]), Linear(color[1]), Linear(color[2]));
}

double Distance(const Lab& x, const Lab& y) { return std::hypot(x.l - y.l, x.a - y.a, x.b - y.b); }

TEST_CASE("sequential maps are even steps of perceived colour, ordered by lightness alone") {
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    double least = 1e9, most = 0.0;
    for (int step = 16; step <= 240; step += 8) {
      const double distance =
          Distance(LabAt(Colormap::kSequential, theme, step - 8), LabAt(Colormap::kSequential, theme, step));
      least = std::min(least, distance);
      most = std::max(most, distance);
    }
    CHECK(most / least < 1.6);
    for (int step = 4; step < 256; step += 4) {
      const double change =
          LabAt(Colormap::kSequential, theme, step).l - LabAt(Colormap::kSequential, theme, step - 4).l;
      CHECK((theme == Theme::kLight ? -change : change) > 0.0);
    }
  }
}

/// The colour that a person without red (or green) cones sees, as linear sRGB (Viénot, Brettel & Mollon 1999).
Lab Dichromat(const Rgba& color, bool protan) {
  const double r = Linear(color[0]), g = Linear(color[1]), b = Linear(color[2]);
  const double shared = protan ? 0.11238 * r + 0.88762 * g : 0.29275 * r + 0.70725 * g;
  const double blue = protan ? 0.00401 * r - 0.00401 * g + b : -0.02234 * r + 0.02234 * g + b;
  return ToOklab(shared, shared, std::max(blue, 0.0));
}

TEST_CASE("the ends and the middle stay apart for the colour-blind") {
  for (const Theme theme : {Theme::kLight, Theme::kDark})
    for (const bool protan : {true, false})
      for (const Colormap colormap : {Colormap::kSequential, Colormap::kDiverging}) {
        const Lab low = Dichromat(ColorAt(colormap, theme, 0.0f), protan),
                  middle = Dichromat(ColorAt(colormap, theme, 0.5f), protan),
                  high = Dichromat(ColorAt(colormap, theme, 1.0f), protan);
        CHECK(Distance(low, middle) > 0.15);
        CHECK(Distance(middle, high) > 0.15);
        CHECK(Distance(low, high) > 0.1);
      }
}

TEST_CASE("colorize: range, clamping, and what is masked is transparent") {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor values({2, 3}, std::vector<float>{0.0f, 0.5f, 1.0f, std::nanf(""), -inf, inf});
  std::vector<std::uint8_t> rgba(24);
  const auto pixel = [&](std::size_t i) {
    return Rgba{rgba[4 * i], rgba[4 * i + 1], rgba[4 * i + 2], rgba[4 * i + 3]};
  };
  ColorOptions options;
  Colorize(values.view<2>(), options, rgba);
  CHECK(pixel(0) == ColorAt(Colormap::kSequential, Theme::kLight, 0.0f));
  CHECK(pixel(1) == ColorAt(Colormap::kSequential, Theme::kLight, 0.5f));
  CHECK(pixel(2) == ColorAt(Colormap::kSequential, Theme::kLight, 1.0f));
  CHECK(pixel(3) == Rgba{0, 0, 0, 0});
  CHECK(pixel(4) == pixel(0));
  CHECK(pixel(5) == pixel(2));
  options.causal = true;
  options.max = 2.0f;
  options.min = 0.0f;
  Colorize(values.view<2>(), options, rgba);
  CHECK(pixel(0)[3] == 255);
  CHECK(pixel(1)[3] == 0);
  CHECK(pixel(2)[3] == 0);
  CHECK(pixel(4)[3] == 255);
  // With a window, only as many cells up to the diagonal are seen.
  options.window = 2;
  const Tensor square({3, 3}, std::vector<float>(9, 1.0f));
  rgba.resize(36);
  Colorize(square.view<2>(), options, rgba);
  for (const std::size_t masked : {1u, 2u, 5u, 6u}) CHECK(pixel(masked)[3] == 0);
  for (const std::size_t seen : {0u, 3u, 4u, 7u, 8u}) CHECK(pixel(seen)[3] == 255);
  // A diverging map without a given range is symmetric, so 0 is in the middle.
  options = {Colormap::kDiverging, Theme::kDark, {}, {}, false};
  const Tensor signed_values({1, 3}, std::vector<float>{-1.0f, 0.0f, 4.0f});
  rgba.resize(12);
  Colorize(signed_values.view<2>(), options, rgba);
  CHECK(pixel(1) == ColorAt(Colormap::kDiverging, Theme::kDark, 0.5f));
  CHECK(pixel(2) == ColorAt(Colormap::kDiverging, Theme::kDark, 1.0f));
  // All values equal, and no values.
  const Tensor equal({1, 3}, std::vector<float>{3.0f, 3.0f, 3.0f});
  Colorize(equal.view<2>(), {}, rgba);
  CHECK(pixel(0) == pixel(2));
  rgba.clear();
  Colorize(Tensor({0, 3}).view<2>(), {}, rgba);
  CHECK_THROWS_AS(Colorize(equal.view<2>(), {}, rgba), Error);
}

}  // namespace
}  // namespace headlens::testing
