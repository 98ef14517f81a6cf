// SPDX-License-Identifier: Apache-2.0
#include "gpu/online_tile.h"

#include <algorithm>
#include <iterator>

#include "gpu/kernel_arguments.h"

namespace headlens::gpu {
namespace {

constexpr Index kFloat = sizeof(float);
/// A work-group with fewer keys would be more work for the one that merges what the groups found.
constexpr Index kLeastKeys = 256;

/// Every width would be a program of its own, so there are a few.
constexpr Index kWidths[] = {32, 64, 96, 128, 192, 256};

bool Divides(Index a, Index b) { return b % a == 0; }

}  // namespace

Index OnlineTile::key_slice(Index width) const {
  Index slice = keys;
  while (slice > 4 && slice * width > stage()) slice /= 2;
  return slice;
}

Index OnlineTile::stage() const { return key_stages * depth_slice * (keys + kOnlinePadding); }

Index OnlineTile::local_memory(Index width) const {
  const Index weights = std::max(key_slice(width), items_x) * (rows + kOnlinePadding);
  return (width * rows + std::max(stage(), key_slice(width) * width) + weights + 2 * rows) * kFloat + kOnlineTileBytes;
}

bool OnlineTile::Suits(const GroupLimits& limits, Index width) const {
  const Index columns = items_x * (quads ? 4 : 1);
  return Divides(columns, keys) && Divides(columns, width) && Divides(4 * items_y, rows) &&
         Divides(depth_slice, width) && Divides(4 * items(), keys * depth_slice) &&
         Divides(4 * items(), key_slice(width) * width) && items() <= limits.items &&
         local_memory(width) <= limits.local_memory;
}

std::string NameOf(const OnlineTile& t) {
  return "rows " + std::to_string(t.rows) + " keys " + std::to_string(t.keys) + " items " + std::to_string(t.items_x) +
         "x" + std::to_string(t.items_y) + " depth " + std::to_string(t.depth_slice) + (t.quads ? " quads" : "") +
         (t.key_stages > 1 ? " stages " + std::to_string(t.key_stages) : "");
}

std::optional<Index> OnlineWidth(Index width) {
  const auto built = std::lower_bound(std::begin(kWidths), std::end(kWidths), width);
  return built == std::end(kWidths) ? std::nullopt : std::optional(*built);
}

Index OnlineParts(Index compute_units, const OnlineTile& tile, Index tiles, Index keys) {
  constexpr Index kGroupsEach = 8;  // a compute unit runs them in turns while they wait for the memory
  const Index most = keys / std::max(kLeastKeys, tile.keys);
  return std::max<Index>(std::min(compute_units * kGroupsEach / tiles, most), 1);
}

}  // namespace headlens::gpu
