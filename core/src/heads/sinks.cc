// SPDX-License-Identifier: Apache-2.0
/// Metrics of attention to tokens without much meaning of their own: special tokens, and the first token of a text.
#include <algorithm>
#include <string>
#include <vector>

#include "heads/means.h"
#include "heads/themes.h"

namespace headlens {
namespace metrics {
namespace {

bool IsSpecial(const HeadMap& map, Index s) {
  return s >= 0 && s < map.keys() && map.info().special[static_cast<std::size_t>(s)];
}

std::optional<double> SpecialMass(const HeadMap& map, Index t) {
  double mass = 0.0;
  for (Index s = 0; s < map.keys(); ++s)
    if (IsSpecial(map, s)) mass += map.weight(t, s);
  return mass;
}

}  // namespace

MetricValue Special(const HeadMap& map) {
  if (map.info().special.empty()) return {};
  return MeanOverRows(map, [&](Index t) { return SpecialMass(map, t); });
}

MetricValue SpecialFrom(const HeadMap& map, bool special_queries) {
  if (map.info().special.empty()) return {};
  return MeanOverRows(map, [&](Index t) -> std::optional<double> {
    return IsSpecial(map, map.Position(t)) == special_queries ? SpecialMass(map, t) : std::nullopt;
  });
}

namespace {

/// For each key, the number of rows whose largest weight (the first of equals) is there.
std::vector<Index> LargestByKey(const HeadMap& map) {
  std::vector<Index> counts(static_cast<std::size_t>(map.keys()), 0);
  for (const Index t : map.rows()) {
    Index largest = 0;
    for (Index s = 1; s < map.keys(); ++s)
      if (map.weight(t, s) > map.weight(t, largest)) largest = s;
    ++counts[static_cast<std::size_t>(largest)];
  }
  return counts;
}

}  // namespace

MetricValue FixedPosition(const HeadMap& map) {
  const std::vector<Index> counts = LargestByKey(map);
  const auto rows = static_cast<Index>(map.rows().size());
  return Ratio(static_cast<double>(*std::max_element(counts.begin(), counts.end())), static_cast<double>(rows), rows);
}

MetricValue FixedPositionKey(const HeadMap& map) {
  const std::vector<Index> counts = LargestByKey(map);
  if (map.rows().empty()) return {};
  return {static_cast<double>(std::max_element(counts.begin(), counts.end()) - counts.begin()),
          static_cast<Index>(map.rows().size())};
}

MetricValue SinkRate(const HeadMap& map) {
  const MetricValue alpha = SinkScore(map, 1);
  return SinkFraction(std::span(&alpha, 1));
}

}  // namespace metrics

MetricValue SinkScore(const HeadMap& map, Index k) {
  if (k < 1) throw ValueError("`k`", k, "1 or more");
  Index column = 0;
  for (; column < map.keys(); ++column) {
    const auto& padded = map.info().padded_keys;
    if ((padded.empty() || !padded[static_cast<std::size_t>(column)]) && --k == 0) break;
  }
  if (column == map.keys()) return {};
  return metrics::MeanOverRows(map, [&](Index t) -> std::optional<double> {
    return map.Position(t) >= column && map.Sees(t, column) ? std::optional(map.weight(t, column)) : std::nullopt;
  });
}

MetricValue SinkFraction(std::span<const MetricValue> alphas, double epsilon) {
  Index above = 0, count = 0;
  for (const MetricValue& alpha : alphas) {
    if (!alpha.value) continue;
    ++count;
    above += *alpha.value > epsilon;
  }
  return metrics::Ratio(static_cast<double>(above), static_cast<double>(count), count);
}

}  // namespace headlens
