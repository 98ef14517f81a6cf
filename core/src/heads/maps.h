// SPDX-License-Identifier: Apache-2.0
/// Helpers of the functions that look at several heads.
#ifndef HEADLENS_SRC_HEADS_MAPS_H_
#define HEADLENS_SRC_HEADS_MAPS_H_

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/views.h"
#include "headlens/metrics.h"

namespace headlens::metrics {

/// Throws kShape when there are no elements.
template <class T, std::size_t Rank>
void ExpectElements(std::string_view what, const View<T, Rank>& x) {
  if (ElementCount(SizesOf(x)) == 0 || !x)
    throw ShapeError(Fragment::OfLibrary(what), SizesOf(x), "at least one element");
}

/// The contribution −p ln p of one probability to the entropy, in nats.
inline double Surprise(double p) { return p > 0.0 ? -p * std::log(p) : 0.0; }

/// Each head of weights [H, T, S] as a checked HeadMap.
inline std::vector<HeadMap> CheckedMaps(const View<const float, 3>& weights, const MapInfo& info) {
  ExpectElements("`weights`", weights);
  std::vector<HeadMap> maps;
  for (Index h = 0; h < weights.shape[0]; ++h) maps.emplace_back(Slice(weights, h), info);
  return maps;
}

/// Throws kValue, naming `what`, when one of the values is not finite.
template <class T>
void ExpectFinite(const Fragment& what, std::span<T> values) {
  for (const T value : values) {
    if (!std::isfinite(value)) throw ValueError(what, double{value}, "a finite number");
  }
}

inline double Dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}
inline double Norm(std::span<const double> x) { return std::sqrt(Dot(x, x)); }

}  // namespace headlens::metrics

#endif  // HEADLENS_SRC_HEADS_MAPS_H_
