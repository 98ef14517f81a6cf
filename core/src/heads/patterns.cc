// SPDX-License-Identifier: Apache-2.0
/// Metrics of heads that look at a certain place: at themselves, a neighbour, an earlier occurrence of the same token,
/// or the token after that.
#include <algorithm>
#include <cmath>
#include <limits>

#include "heads/means.h"
#include "heads/themes.h"

namespace headlens {
namespace metrics {
namespace {

constexpr Index kEnd = std::numeric_limits<Index>::max();

/// The mean of A[i, i + shift] over queries with begin ≤ i < end, without masked cells.
MetricValue MeanAt(const HeadMap& map, Index shift, Index begin = 0, Index end = kEnd) {
  return MeanOverRows(map, [&](Index t) -> std::optional<double> {
    const Index i = map.Position(t);
    if (i < begin || i >= end || !map.Sees(t, i + shift)) return std::nullopt;
    return map.weight(t, i + shift);
  });
}

/// The same mean over the second copy of the repeated sequence.
MetricValue MeanInCopy(const HeadMap& map, Index shift) {
  const auto [begin, length] = map.info().repeat;
  return MeanAt(map, shift, begin + length, begin + 2 * length);
}

std::int32_t TokenAt(const HeadMap& map, Index i) { return map.info().tokens[static_cast<std::size_t>(i)]; }

bool HasToken(const HeadMap& map, Index i) { return i >= 0 && i < static_cast<Index>(map.info().tokens.size()); }

/// Returns true when key j comes before query i and has the same token.
bool Duplicates(const HeadMap& map, Index i, Index j) { return j >= 0 && j < i && TokenAt(map, i) == TokenAt(map, j); }

}  // namespace

MetricValue Self(const HeadMap& map) { return MeanAt(map, 0); }
MetricValue Previous(const HeadMap& map) { return MeanAt(map, -1); }
MetricValue Next(const HeadMap& map) { return MeanAt(map, 1); }

MetricValue Duplicate(const HeadMap& map) {
  const Index n = map.info().repeat.length;
  return n < 1 ? MetricValue{} : MeanInCopy(map, -n);
}

MetricValue Induction(const HeadMap& map) {
  // With n = 1, the token after the earlier occurrence is the query itself.
  const Index n = map.info().repeat.length;
  return n < 2 ? MetricValue{} : MeanInCopy(map, 1 - n);
}

MetricValue InductionDiagonal(const HeadMap& map) {
  const Index n = map.info().repeat.length;
  return n < 2 ? MetricValue{} : MeanAt(map, 1 - n);
}

MetricValue InductionInText(const HeadMap& map, bool strict) {
  constexpr double kThreshold{0.01f};  // the source compares it with weights in fp32
  return MeanOverRows(map, [&](Index t) -> std::optional<double> {
    const Index i = map.Position(t);
    if (!HasToken(map, i)) return std::nullopt;
    double sum = 0.0;
    bool repeats = false;
    for (Index p = 0; p < i - (strict ? 1 : 0); ++p) {
      if (!Duplicates(map, i, p) || !map.Sees(t, p + 1)) continue;
      repeats = true;
      const double weight = map.weight(t, p + 1);
      if (weight >= kThreshold) sum += weight;
    }
    return repeats ? std::optional(sum) : std::nullopt;
  });
}

}  // namespace metrics

MetricValue DetectHead(const HeadMap& map, HeadPattern pattern, const DetectOptions& options) {
  using namespace metrics;
  if (pattern != HeadPattern::kPrevious && map.info().tokens.empty()) return {};
  const auto fits = [&](Index i, Index j) {
    if (pattern == HeadPattern::kPrevious) return j == i - 1;
    return HasToken(map, i) && Duplicates(map, i, pattern == HeadPattern::kInduction ? j - 1 : j);
  };
  double matched = 0.0, mass = 0.0, difference = 0.0;
  for (const Index t : map.rows()) {
    const Index i = map.Position(t);
    for (Index j = 0; j < map.keys(); ++j) {
      if ((options.exclude_first && j == 0) || (options.exclude_current && j == i)) continue;
      const double weight = map.weight(t, j);
      const bool fit = fits(i, j);
      if (fit) matched += weight;
      mass += weight;
      difference += std::abs(weight - (fit ? 1.0 : 0.0));
    }
  }
  const auto rows = static_cast<Index>(map.rows().size());
  if (!options.absolute) return Ratio(matched, mass, rows);
  return Ratio(static_cast<double>(rows) - difference, static_cast<double>(rows), rows);
}

RepeatedSequence FindRepeat(std::span<const std::int32_t> tokens) {
  const std::size_t length = tokens.size() / 2, begin = tokens.size() % 2;
  if (length < 2) return {};
  const auto first = tokens.subspan(begin, length), second = tokens.subspan(begin + length, length);
  if (!std::equal(first.begin(), first.end(), second.begin())) return {};
  return {static_cast<Index>(begin), static_cast<Index>(length)};
}

}  // namespace headlens
