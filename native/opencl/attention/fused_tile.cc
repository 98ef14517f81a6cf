// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/fused_tile.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "opencl/kernels/options.h"
#include "opencl/matrix/mma.h"
#include "opencl/matrix/mma_probe.h"

namespace headlens::opencl {
namespace {

/// They have about as many rows as registers hold. README.md has their registers, and the bytes that they spill. The
/// first of each width won on an H100.
constexpr FusedTile kSplitTiles[] = {{32, 4, 2, 32}, {32, 8, 1, 32},  {64, 8, 1, 32},
                                     {64, 4, 1, 32}, {128, 8, 1, 16}, {128, 4, 1, 16}};
constexpr FusedTile kSplitBiasedTiles[] = {{32, 4, 1, 32}, {64, 4, 1, 32}, {128, 4, 1, 16}};
constexpr FusedTile kRoundedTiles[] = {{32, 4, 2, 64}, {32, 8, 1, 64}, {64, 4, 2, 64},  {64, 4, 2, 32},
                                       {64, 8, 1, 64}, {64, 4, 1, 64}, {128, 4, 1, 32}, {128, 8, 1, 32}};
constexpr FusedTile kRoundedBiasedTiles[] = {{32, 4, 1, 64}, {64, 4, 1, 32}, {128, 4, 1, 32}};

using WorkTunables = std::array<Tunable, std::size(kFusedWorks)>;

WorkTunables DescribeAll(Precision precision) {
  WorkTunables all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FusedWork& work = kFusedWorks[i];
    const std::string name = "attention-" + std::to_string(work.width) + (work.changes_scores ? "-biased" : "");
    all[i] = MmaTunable(MmaRaceName(precision, name), FusedTiles(precision, work), 0);
  }
  return all;
}

}  // namespace

Index FusedTile::items() const { return warps * kWarp; }

std::string NameOf(const FusedTile& t) {
  return "rows " + std::to_string(t.rows()) + " keys " + std::to_string(t.keys) + " warps " + std::to_string(t.warps);
}

bool Fits(const Session& session, const FusedTile& tile) {
  const MmaLayout layout(session.precision());
  const Index numbers = 2 * tile.keys * (2 * tile.width + layout.pad_along() + layout.pad_across());
  return MmaFits(session, numbers, tile.warps, tile.lefts, 2);
}

std::span<const FusedTile> FusedTiles(Precision precision, const FusedWork& work) {
  const bool splits = precision == Precision::kTf32x3;
  const std::span<const FusedTile> all =
      work.changes_scores ? (splits ? std::span<const FusedTile>(kSplitBiasedTiles) : kRoundedBiasedTiles)
                          : (splits ? std::span<const FusedTile>(kSplitTiles) : kRoundedTiles);
  const auto first = std::find_if(all.begin(), all.end(), [&](const FusedTile& t) { return t.width >= work.width; });
  const auto end = std::find_if(first, all.end(), [&](const FusedTile& t) { return t.width != first->width; });
  return {first, end};
}

const Tunable& FusedTunableOf(Precision precision, std::size_t work) {
  static const WorkTunables split = DescribeAll(Precision::kTf32x3), rounded = DescribeAll(Precision::kFp16);
  return (precision == Precision::kTf32x3 ? split : rounded)[work];
}

std::optional<FusedTile> ChooseFusedTile(Session& session, const FusedWork& work) {
  if (!HasMatrixUnits(session)) return std::nullopt;
  for (std::size_t i = 0; i < std::size(kFusedWorks); ++i) {
    const FusedWork& candidate = kFusedWorks[i];
    if (candidate.width >= work.width && candidate.changes_scores == work.changes_scores)
      return ChooseTile(session, FusedTunableOf(session.precision(), i), FusedTiles(session.precision(), candidate));
  }
  return std::nullopt;
}

std::string FusedOptions(const Session& session, const FusedTile& tile, const FusedInputs& inputs) {
  return MmaOptions(session) + Define("WIDTH", tile.width) + Define("WARPS", tile.warps) + Define("LEFTS", tile.lefts) +
         Define("TILE_KEYS", tile.keys) + (inputs.changes_scores ? "-D CHANGES_SCORES " : "") +
         (inputs.row_ranges ? "-D ROW_RANGES " : "") + (inputs.aligned ? "-D ALIGNED " : "");
}

}  // namespace headlens::opencl
