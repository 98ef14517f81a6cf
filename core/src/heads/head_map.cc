// SPDX-License-Identifier: Apache-2.0
/// Checks a map of weights, and finds the rows and cells of it that count.
#include <cmath>
#include <string>

#include "base/checks.h"
#include "headlens/metrics.h"

namespace headlens {
namespace {

// The tolerance for the sum of a row of weights that come from half precision.
constexpr double kSumTolerance = 0.005;
// Rounding may make a weight slightly larger than 1.
constexpr float kLargestWeight = 1.0f + 1e-3f;

Phrase Cell(Index t, Index s) { return {"`weights`[", t, ", ", s, "]"}; }

template <class T>
void ExpectLength(std::string_view what, std::span<const T> given, Index expected) {
  if (!given.empty()) ExpectSizes(what, {static_cast<Index>(given.size())}, {expected});
}

}  // namespace

HeadMap::HeadMap(View<const float, 2> weights, const MapInfo& info) : weights_(weights), info_(info) {
  CheckInfo();
  visible_keys_.assign(static_cast<std::size_t>(queries()), 0);
  for (Index t = 0; t < queries(); ++t) CheckRow(t);
}

void HeadMap::CheckInfo() const {
  if (ElementCount(SizesOf(weights_)) == 0 || !weights_) {
    throw ShapeError("`weights`", SizesOf(weights_), "(T, S) with at least one query and key");
  }
  if (info_.visible) ExpectSizes("`visible`", SizesOf(info_.visible), SizesOf(weights_));
  ExpectLength("`padded_queries`", info_.padded_queries, queries());
  ExpectLength("`padded_keys`", info_.padded_keys, keys());
  ExpectLength("`tokens`", info_.tokens, keys());
  ExpectLength("`special`", info_.special, keys());
  // These bounds keep sums of positions far from overflow.
  constexpr Index kFar = Index{1} << 40;
  if (info_.query_offset < -kFar || info_.query_offset > kFar) {
    throw ValueError("`query_offset`", info_.query_offset, {-kFar, " to ", kFar});
  }
  const auto [begin, length] = info_.repeat;
  if (begin < 0 || length < 0 || begin > keys() || length > (keys() - begin) / 2) {
    throw Wrong(ErrorCode::kValue, "`repeat`", "is", {"twice ", length, " tokens from ", begin, " on"},
                {"some of the ", keys(), " keys"});
  }
  const PatchGrid& grid = info_.grid;
  if (grid.columns == 0) return;
  if (grid.columns < 0 || grid.prefix < 0 || grid.prefix > keys() || (keys() - grid.prefix) % grid.columns != 0 ||
      !(grid.patch_size > 0.0) || !std::isfinite(grid.patch_size)) {
    throw Wrong(ErrorCode::kValue, "`grid`", "is",
                {grid.prefix, " tokens and rows of ", grid.columns, " patches of size ", grid.patch_size},
                {"a division of ", keys(), " keys, and a positive size"});
  }
}

bool HeadMap::Sees(Index t, Index s) const {
  if (s < 0 || s >= keys() || (info_.causal && s > Position(t))) return false;
  if (info_.window > 0 && Position(t) - s >= info_.window) return false;
  if (!info_.padded_keys.empty() && info_.padded_keys[static_cast<std::size_t>(s)]) return false;
  return !info_.visible || info_.visible(t, s);
}

void HeadMap::CheckRow(Index t) {
  if (!info_.padded_queries.empty() && info_.padded_queries[static_cast<std::size_t>(t)]) return;
  Index seen = 0;
  for (Index s = 0; s < keys(); ++s) seen += Sees(t, s);
  if (seen == 0) return;  // a fully masked row may hold anything, even NaN
  double sum = 0.0;
  for (Index s = 0; s < keys(); ++s) {
    const float weight = weights_(t, s);
    if (!(weight >= 0.0f && weight <= kLargestWeight)) {
      throw ValueError(Cell(t, s), double{weight}, "0 to 1");
    }
    if (weight > 0.0f && !Sees(t, s)) {
      throw ValueError(Cell(t, s), double{weight}, "0, since that cell is masked");
    }
    sum += double{weight};
  }
  if (sum == 0.0) return;
  rows_.push_back(t);
  visible_keys_[static_cast<std::size_t>(t)] = seen;
  stochastic_ = stochastic_ && std::abs(sum - 1.0) <= kSumTolerance;
}

}  // namespace headlens
