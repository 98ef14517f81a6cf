// SPDX-License-Identifier: Apache-2.0
/// Attention without cells in memory, tile by tile: which tiles can be built, and how much a device needs for them. The
/// kernel is opencl/kernels/online.cl.
#ifndef HEADLENS_NATIVE_GPU_ONLINE_TILE_H_
#define HEADLENS_NATIVE_GPU_ONLINE_TILE_H_

#include <optional>
#include <string>

#include "gpu/group_limits.h"

namespace headlens::gpu {

/// The rows and keys that a work-group takes at a time, and the rectangle of its work-items. With `quads` each item has
/// four neighbouring columns at a time, as GPUs read local memory fastest. Two key_stages have room for the slice of
/// the keys' depth that comes beside the one that is multiplied.
struct OnlineTile {
  Index rows, keys, items_x, items_y, depth_slice;
  bool quads;
  Index key_stages = 1;

  Index items() const { return items_x * items_y; }
  /// The floats that all slices of the keys' depth take in local memory.
  Index stage() const;
  /// The number of rows of values in local memory at a time; at other times slices of the keys' depth are there.
  Index key_slice(Index width) const;
  /// The bytes of local memory that it takes for heads and values that fit in `width`.
  Index local_memory(Index width) const;
  /// Returns true when the kernel can be built so, and the limits leave room for it.
  bool Suits(const GroupLimits& limits, Index width) const;
};

/// The parameters as text, which is the name of a candidate.
std::string NameOf(const OnlineTile& tile);

/// The width that the kernel is built for where heads and values need at least `width`; nothing where that is more than
/// it has.
std::optional<Index> OnlineWidth(Index width);

/// The number of work-groups that share the keys of a tile of rows, so that all `tiles` together fill a device with so
/// many compute units.
Index OnlineParts(Index compute_units, const OnlineTile& tile, Index tiles, Index keys);

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_ONLINE_TILE_H_
