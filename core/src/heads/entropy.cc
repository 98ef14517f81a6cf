// SPDX-License-Identifier: Apache-2.0
/// Metrics of how many keys a head looks at: the entropy of its rows, and their largest weight.
#include <algorithm>
#include <cmath>

#include "heads/maps.h"
#include "heads/means.h"
#include "heads/themes.h"

namespace headlens::metrics {
namespace {

double RowEntropy(const HeadMap& map, Index t) {
  double entropy = 0.0;
  for (Index s = 0; s < map.keys(); ++s) entropy += Surprise(map.weight(t, s));
  return std::max(entropy, 0.0);  // a weight that rounding left above 1 makes it negative
}

/// The mean over rows. Without a value when rows do not sum to 1, since entropy is defined for distributions only.
template <class Term>
MetricValue MeanOfDistributions(const HeadMap& map, const Term& term) {
  return map.stochastic() ? MeanOverRows(map, term) : MetricValue{};
}

}  // namespace

MetricValue Entropy(const HeadMap& map) {
  return MeanOfDistributions(map, [&](Index t) -> std::optional<double> { return RowEntropy(map, t); });
}

MetricValue SmoothedEntropy(const HeadMap& map) {
  return MeanOfDistributions(map, [&](Index t) -> std::optional<double> {
    double entropy = 0.0;
    for (Index s = 0; s < map.keys(); ++s)
      entropy += Surprise(0.9999 * map.weight(t, s) + 0.0001 / static_cast<double>(map.keys()));
    return std::max(entropy, 0.0);
  });
}

MetricValue UniformEntropy(const HeadMap& map) {
  return MeanOverRows(
      map, [&](Index t) -> std::optional<double> { return std::log(static_cast<double>(map.VisibleKeys(t))); });
}

MetricValue NormalizedEntropy(const HeadMap& map) {
  return MeanOfDistributions(map, [&](Index t) -> std::optional<double> {
    if (map.VisibleKeys(t) < 2) return std::nullopt;
    return std::min(RowEntropy(map, t) / std::log(static_cast<double>(map.VisibleKeys(t))), 1.0);
  });
}

MetricValue Perplexity(const HeadMap& map) {
  return MeanOfDistributions(map, [&](Index t) -> std::optional<double> { return std::exp(RowEntropy(map, t)); });
}

MetricValue Confidence(const HeadMap& map) {
  const std::span<const std::uint8_t> special = map.info().special;
  return MeanOverRows(map, [&](Index t) -> std::optional<double> {
    std::optional<double> largest;
    for (Index s = 0; s < map.keys(); ++s) {
      if (map.Sees(t, s) && (special.empty() || !special[static_cast<std::size_t>(s)]))
        largest = std::max(largest.value_or(0.0), map.weight(t, s));
    }
    return largest;
  });
}

MetricValue Sharpness(const HeadMap& map) {
  return MeanOverRows(map, [&](Index t) -> std::optional<double> {
    double largest = 0.0;
    for (Index s = 0; s < map.keys(); ++s) largest = std::max(largest, map.weight(t, s));
    return largest;
  });
}

}  // namespace headlens::metrics
