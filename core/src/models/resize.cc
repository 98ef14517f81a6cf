// SPDX-License-Identifier: Apache-2.0
#include "models/resize.h"

#include <algorithm>
#include <cmath>

namespace headlens::models {
namespace {

/// The cubic convolution kernel of Keys (1981).
double Cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return x < 2.0 ? ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a : 0.0;
}

double Filter(ResizeFilter filter, double x) {
  return filter == ResizeFilter::kCubic ? Cubic(x, -0.5) : std::max(1.0 - std::abs(x), 0.0);
}

}  // namespace

std::vector<Taps> SmoothTaps(Index from, Index to, ResizeFilter filter, Index begin, Index end) {
  const double step = static_cast<double>(from) / static_cast<double>(to), width = std::max(step, 1.0),
               reach = (filter == ResizeFilter::kCubic ? 2.0 : 1.0) * width;
  std::vector<Taps> taps;
  for (Index i = begin; i < end; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * step;
    Taps& one = taps.emplace_back();
    one.first = static_cast<Index>(std::max(center - reach + 0.5, 0.0));
    const Index last = std::min(static_cast<Index>(center + reach + 0.5), from);
    double sum = 0.0;
    for (Index j = one.first; j < last; ++j)
      sum += one.weights.emplace_back(Filter(filter, (static_cast<double>(j) + 0.5 - center) / width));
    for (double& weight : one.weights) weight /= sum;
  }
  return taps;
}

std::vector<Taps> CubicTaps(Index from, Index to) {
  std::vector<Taps> taps;
  for (Index i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const auto middle = static_cast<Index>(std::floor(center));
    const auto inside = [&](Index j) { return std::clamp<Index>(j, 0, from - 1); };
    Taps& one = taps.emplace_back(Taps{inside(middle - 1), {}});
    one.weights.resize(static_cast<std::size_t>(inside(middle + 2) - one.first + 1));
    for (Index j = middle - 1; j <= middle + 2; ++j)  // beyond an edge, its element is taken
      one.weights[static_cast<std::size_t>(inside(j) - one.first)] += Cubic(static_cast<double>(j) - center, -0.75);
  }
  return taps;
}

}  // namespace headlens::models
