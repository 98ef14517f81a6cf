// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/product_kind.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "opencl/matrix/lanes.h"
#include "opencl/matrix/tile.h"

namespace headlens::opencl {
namespace {

/// Smaller tiles are faster when tiles of that size would leave compute units idle.
constexpr Index kMiddleTile = 64, kSmallRows = 64, kLargeTilesOfUnit = 4;

/// The candidate that each family begins with, by its index. NVIDIA's are those that won on an H100; it has registers
/// for 64 sums of an item and double buffers. AMD runs 64 items as one, in groups of few. Intel and Apple have fewer
/// registers, and Apple has 32 KiB of local memory. The local memory of phones is slow or no more than a cache, and
/// their registers are few. The items of a CPU are loops between barriers.
constexpr std::size_t kPresets[][kFamilies] = {
    // NVIDIA, AMD, Intel, Apple, mobile, CPU, others
    {2, 2, 3, 3, 8, 9, 4},  // kLarge
    {2, 3, 6, 4, 8, 9, 4},  // kMiddle
    {8, 7, 7, 7, 8, 9, 7},  // kSmall
    {2, 1, 3, 1, 4, 5, 3},  // kFewAlongDepth
    {0, 1, 2, 2, 3, 5, 2},  // kFewAlongColumns
};

constexpr bool AreCandidates(ProductKind kind, std::size_t count) {
  for (std::size_t family = 0; family < kFamilies; ++family)
    if (kPresets[static_cast<std::size_t>(kind)][family] >= count) return false;
  return true;
}
static_assert(AreCandidates(ProductKind::kLarge, Tiles().size()));
static_assert(AreCandidates(ProductKind::kMiddle, Tiles().size()));
static_assert(AreCandidates(ProductKind::kSmall, Tiles().size()));
static_assert(AreCandidates(ProductKind::kFewAlongDepth, LanesFor(true).size()));
static_assert(AreCandidates(ProductKind::kFewAlongColumns, LanesFor(false).size()));

template <class Candidate, class F>
Tunable Describe(ProductKind kind, const char* name, std::span<const Candidate> candidates, const F& fits) {
  const auto& presets = kPresets[static_cast<std::size_t>(kind)];
  Tunable tunable{.name = name,
                  .candidates = {},
                  .fits = [=](const Session& session, std::size_t i) { return fits(session, candidates[i]); },
                  .preset = [&presets](Family family) { return presets[static_cast<std::size_t>(family)]; }};
  for (const Candidate& candidate : candidates) tunable.candidates.push_back(NameOf(candidate));
  return tunable;
}

std::array<Tunable, kProductKinds> DescribeAll() {
  const auto tile_fits = [](const Session& session, const Tile& tile) { return Fits(session, tile); };
  const auto lanes_fit = [](bool b_columns) {
    return [=](const Session& session, const Lanes& lanes) { return Fits(session, lanes, b_columns); };
  };
  return {Describe(ProductKind::kLarge, "product.large", Tiles(), tile_fits),
          Describe(ProductKind::kMiddle, "product.middle", Tiles(), tile_fits),
          Describe(ProductKind::kSmall, "product.small", Tiles(), tile_fits),
          Describe(ProductKind::kFewAlongDepth, "product.few-along-depth", LanesFor(true), lanes_fit(true)),
          Describe(ProductKind::kFewAlongColumns, "product.few-along-columns", LanesFor(false), lanes_fit(false))};
}

}  // namespace

ProductKind KindOf(const Session& session, const Product& p) {
  if (p.m <= Lanes::kMostRows) return p.b_columns ? ProductKind::kFewAlongDepth : ProductKind::kFewAlongColumns;
  if (p.m <= kSmallRows) return ProductKind::kSmall;
  const Index tiles = CountOf(p.m, kMiddleTile) * CountOf(p.n, kMiddleTile) * p.head_count;
  return tiles >= kLargeTilesOfUnit * session.compute_units() ? ProductKind::kLarge : ProductKind::kMiddle;
}

const Tunable& TunableOf(ProductKind kind) {
  static const std::array<Tunable, kProductKinds> all = DescribeAll();
  return all[static_cast<std::size_t>(kind)];
}

}  // namespace headlens::opencl
