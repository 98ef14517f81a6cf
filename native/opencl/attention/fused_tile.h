// SPDX-License-Identifier: Apache-2.0
/// Attention without cells in memory on matrix units, by the kernel of kernels/online_mma.cl.
#ifndef HEADLENS_NATIVE_OPENCL_ATTENTION_FUSED_TILE_H_
#define HEADLENS_NATIVE_OPENCL_ATTENTION_FUSED_TILE_H_

#include <optional>
#include <span>
#include <string>

#include "opencl/tuning/tunable.h"

namespace headlens::opencl {

/// The share of a work-group of AttendOnlineMma, which runs in place of AttendOnline. Each of its warps has 16 ·
/// `lefts` rows, of heads and values of at most that width, and takes `keys` keys at a time.
struct FusedTile {
  Index width, warps, lefts, keys;

  constexpr Index rows() const { return warps * lefts * 16; }
  Index items() const;
};

/// The parameters as text, which is the name of a candidate.
std::string NameOf(const FusedTile& tile);

/// Returns true when the device has the items and the local memory.
bool Fits(const Session& session, const FusedTile& tile);

/// The work that tiles compete for in one precision: heads and values of at most that width, and whether scores are
/// capped or biased, which takes registers.
struct FusedWork {
  Index width;
  bool changes_scores;
};
inline constexpr FusedWork kFusedWorks[] = {{32, false}, {64, false}, {128, false},
                                            {32, true},  {64, true},  {128, true}};

/// The tiles that compete, the first of which devices have without tuning; none for heads that are too wide.
std::span<const FusedTile> FusedTiles(Precision precision, const FusedWork& work);

/// The candidates for kFusedWorks[work]: these tiles, and then the ordinary kernels.
const Tunable& FusedTunableOf(Precision precision, std::size_t work);

/// The tile for that work; nothing if the session has no matrix units, or the ordinary kernels are faster.
std::optional<FusedTile> ChooseFusedTile(Session& session, const FusedWork& work);

/// The problems that a kernel is built for: whether scores are capped or biased, masks leave a range of keys to each
/// row, and all rows of keys and values begin at multiples of 16 bytes.
struct FusedInputs {
  bool changes_scores, row_ranges, aligned;
};
std::string FusedOptions(const Session& session, const FusedTile& tile, const FusedInputs& inputs);

}  // namespace headlens::opencl

#endif  // HEADLENS_NATIVE_OPENCL_ATTENTION_FUSED_TILE_H_
