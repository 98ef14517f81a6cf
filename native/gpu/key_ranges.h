// SPDX-License-Identifier: Apache-2.0
/// The keys that rows may look at, as kernels read them.
#ifndef HEADLENS_NATIVE_GPU_KEY_RANGES_H_
#define HEADLENS_NATIVE_GPU_KEY_RANGES_H_

#include <cstdint>
#include <vector>

#include "gpu/attention_plan.h"

namespace headlens::gpu {

/// [B, rows, 2]: the first key that each query may look at, and the one after the last. Keys fit 32 bits.
std::vector<std::int32_t> RowRanges(const AttentionPlan& plan, const QueryRange& rows);

/// A partition of rows into tiles: `tiles` of them have `tile_rows` rows each, and every query has `members` rows.
struct Tiling {
  Index tiles, tile_rows, members;
};

/// [B, tiles, 4]: the range of keys that some row of each tile may look at, and the range that all of its rows look at.
/// The second is empty unless masks hide nothing inside of ranges, as `plain` says. Only the sequences of the pass are
/// filled in.
std::vector<std::int64_t> TileRanges(const AttentionPlan& plan, const Pass& pass, const QueryRange& rows,
                                     const Tiling& tiling, bool plain);

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_KEY_RANGES_H_
