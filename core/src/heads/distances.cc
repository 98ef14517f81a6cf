// SPDX-License-Identifier: Apache-2.0
/// Metrics of how far a head looks, in tokens or in pixels.
#include <cmath>
#include <string>

#include "heads/means.h"
#include "heads/themes.h"

namespace headlens {
namespace metrics {
namespace {

double SignedDistance(const HeadMap& map, Index t, Index s) { return static_cast<double>(s - map.Position(t)); }

}  // namespace

MetricValue Distance(const HeadMap& map) {
  return MeanMass(map, [&](Index t, Index s) { return std::abs(SignedDistance(map, t, s)); });
}

MetricValue DistanceVariance(const HeadMap& map) {
  const MetricValue mean = Distance(map);
  MetricValue result = MeanMass(map, [&](Index t, Index s) {
    const double distance = SignedDistance(map, t, s);
    return distance * distance;
  });
  // Rounding may make the difference of two equal numbers negative.
  if (result.value) result.value = std::max(*result.value - *mean.value * *mean.value, 0.0);
  return result;
}

MetricValue Offset(const HeadMap& map) {
  return MeanMass(map, [&](Index t, Index s) { return SignedDistance(map, t, s); });
}

MetricValue PatchDistance(const HeadMap& map) {
  const PatchGrid& grid = map.info().grid;
  if (grid.columns == 0) return {};
  return MeanOverRows(map, [&](Index t) -> std::optional<double> {
    const Index i = map.Position(t) - grid.prefix;
    if (i < 0 || i >= map.keys() - grid.prefix) return std::nullopt;
    double sum = 0.0;
    for (Index j = 0; j < map.keys() - grid.prefix; ++j) {
      const auto rows = static_cast<double>(i / grid.columns - j / grid.columns);
      const auto columns = static_cast<double>(i % grid.columns - j % grid.columns);
      sum += map.weight(t, grid.prefix + j) * std::sqrt(rows * rows + columns * columns);
    }
    return grid.patch_size * sum;
  });
}

}  // namespace metrics

MetricValue Locality(const HeadMap& map, Index width) {
  if (width < 0) throw ValueError("`width`", width, "0 or more");
  return metrics::MeanMass(map, [&](Index t, Index s) { return std::abs(s - map.Position(t)) <= width; });
}

}  // namespace headlens
