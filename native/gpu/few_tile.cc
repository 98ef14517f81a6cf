// SPDX-License-Identifier: Apache-2.0
#include "gpu/few_tile.h"

#include <algorithm>
#include <bit>

#include "gpu/kernel_arguments.h"
#include "gpu/place.h"

namespace headlens::gpu {
namespace {

constexpr Index kFloat = sizeof(float);
constexpr Index kLoadBytes = 16;  // what a work-item reads fastest
constexpr Index kLeastLoads = 4;
constexpr Index kLeastWidth = 32;
constexpr Index kRegisters = 65536;  // of a compute unit of NVIDIA; others have about as many
constexpr Index kRegisterStep = 8;

Index PowerOfTwo(Index least) { return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(least))); }

}  // namespace

std::string NameOf(const FewTile& t) {
  return "few rows items " + std::to_string(t.items) + " loads " + std::to_string(t.loads);
}

Index FewShape::local_memory() const {
  const Index shares = rows * keys() * (width / piece + kFewPadding), blends = rows * items * piece;
  return (std::max(shares, blends) + rows * (2 * keys() + width + teams())) * kFloat + kFewBytes;
}

/// The kernel needs registers for the pieces that are read ahead, and for the sums of all rows; with about these the
/// compilers of README.md spill next to nothing.
Index FewShape::groups_each() const {
  const Index least = (40 + 4 * loads + 6 * rows + kRegisterStep - 1) / kRegisterStep * kRegisterStep;
  return std::max<Index>(kRegisters / (least * items), 1);
}

Index FewShape::registers() const { return kRegisters / (groups_each() * items) / kRegisterStep * kRegisterStep; }

/// A piece is of 16 bytes where a work-item has one row. With more rows it would take too many registers: each number
/// of a piece has a sum for every row. Little local memory leaves room for few loads.
std::optional<FewShape> ShapeOf(const FewTile& tile, const GroupLimits& limits, const FewWork& work, Index aligned) {
  if (work.rows > FewTile::kMostRows || tile.items > limits.items) return std::nullopt;
  const Index widest = kLoadBytes / work.number, piece = work.rows == 1 && aligned >= widest ? widest : kVector;
  FewShape shape{tile.items, tile.loads, PowerOfTwo(work.rows), PowerOfTwo(std::max(work.width, kLeastWidth)), piece};
  if (shape.teams() == 0) return std::nullopt;
  while (shape.loads > kLeastLoads && shape.local_memory() > limits.local_memory) shape.loads /= 2;
  return shape.local_memory() <= limits.local_memory ? std::optional(shape) : std::nullopt;
}

Index FewParts(Index compute_units, const FewShape& shape, Index groups, Index keys) {
  constexpr Index kLeastKeys = 256;  // fewer would be more work for the kernel that merges the parts
  const Index most = keys / std::max(kLeastKeys, shape.keys());
  return std::max<Index>(std::min(compute_units * shape.groups_each() / groups, most), 1);
}

}  // namespace headlens::gpu
