// SPDX-License-Identifier: Apache-2.0
/// Attention without cells in memory for groups of few rows: the shapes that a kernel can be built for, and how much a
/// device needs for them. The kernel is opencl/kernels/few.cl.
#ifndef HEADLENS_NATIVE_GPU_FEW_TILE_H_
#define HEADLENS_NATIVE_GPU_FEW_TILE_H_

#include <optional>
#include <string>

#include "gpu/group_limits.h"

namespace headlens::gpu {

/// The work-items of a group, and the pieces of keys or values that each of them reads before it uses the first.
struct FewTile {
  static constexpr Index kMostRows = 8;  ///< of a group of heads: registers hold no more

  Index items, loads;
};

/// The parameters as text, which is the name of a candidate.
std::string NameOf(const FewTile& tile);

/// The rows of a group of heads, a width that holds those of its heads and its values, and the bytes of a number in
/// memory.
struct FewWork {
  Index rows, width, number;
};

/// The sizes that the kernel is built for.
struct FewShape {
  Index items, loads, rows, width;  ///< the last two are powers of two
  Index piece;                      ///< the numbers that a work-item reads at once; all rows are whole pieces

  Index teams() const { return items * piece / width; }
  /// The keys that a work-group takes at a time.
  Index keys() const { return teams() * loads; }
  Index local_memory() const;
  /// The work-groups that a compute unit runs at a time, and the registers that each work-item may then have.
  Index groups_each() const;
  Index registers() const;
};

/// The shape that a tile has for some work, all rows of which are whole pieces of `aligned` numbers at least; nothing
/// where the kernel cannot be built so, or the limits leave no room for it.
std::optional<FewShape> ShapeOf(const FewTile& tile, const GroupLimits& limits, const FewWork& work, Index aligned);

/// The number of work-groups that share the keys of each of `groups` groups of heads, so that all together fill a
/// device with so many compute units.
Index FewParts(Index compute_units, const FewShape& shape, Index groups, Index keys);

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_FEW_TILE_H_
