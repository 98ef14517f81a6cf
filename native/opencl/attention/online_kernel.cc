// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/online_kernel.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "gpu/place.h"
#include "opencl/kernels/options.h"

namespace headlens::opencl {
namespace {

/// The best tiles of each kind come first. With few rows a GPU waits for its memory, and many groups of one warp are
/// best, since their barriers cost nothing. With many rows, more registers for a work-item mean fewer reads of local
/// memory. A CPU's compiler makes vectors of the columns of a work-item that is alone in its group.
constexpr OnlineTile kTiles[] = {
    {4, 64, 32, 1, 16, false},    {8, 64, 32, 1, 16, false},   {16, 64, 32, 1, 16, false}, {128, 64, 8, 16, 16, true},
    {128, 64, 8, 16, 8, true, 2}, {64, 64, 16, 8, 8, true, 2}, {64, 64, 16, 8, 16, true},  {64, 64, 8, 8, 16, true},
    {32, 64, 16, 8, 32, true},    {32, 64, 8, 8, 32, true},    {16, 64, 16, 4, 16, true},  {8, 32, 8, 2, 8, false},
    {4, 64, 1, 1, 32, false},     {8, 64, 1, 1, 32, false},    {16, 64, 1, 1, 32, false},  {32, 64, 1, 1, 32, false},
    {8, 32, 1, 1, 16, false},     {4, 8, 1, 1, 8, false},
};

/// The most rows that a group may have to be computed by the tiles for few rows.
constexpr Index kFewRows = 16;

/// More loads have more bytes on their way from the memory, and fewer leave registers for more work-items that wait.
constexpr FewTile kFewTiles[] = {{256, 8}, {256, 4}, {128, 8}, {128, 4}, {64, 8}, {64, 4}};

/// The tile that each family begins with at each of kOnlineWorks, by its index; at few rows GPUs begin with the first
/// of kFewTiles, and have these for what it does not suit. NVIDIA has registers for 128 sums of an item. AMD's groups
/// of 64 want more room in local memory. Intel has fewer registers, Apple has 32 KiB of local memory, and phones have
/// little of either.
constexpr std::size_t kPresets[][kFamilies] = {
    // NVIDIA, AMD, Intel, Apple, mobile, CPU, others
    {0, 0, 0, 0, 11, 12, 0},   // few rows
    {3, 8, 10, 9, 11, 15, 9},  // many, of widths up to 64
    {5, 8, 10, 9, 11, 15, 9},  // up to 128, and beyond
};
static_assert(std::size(kPresets) == std::size(kOnlineWorks));
static_assert(std::all_of(std::begin(kPresets), std::end(kPresets), [](const auto& presets) {
  return std::all_of(std::begin(presets), std::end(presets), [](std::size_t i) { return i < std::size(kTiles); });
}));

/// Candidates for few rows are kFewTiles, and then kTiles.
constexpr std::size_t FewTilesOf(const OnlineWork& work) { return work.few ? std::size(kFewTiles) : 0; }

/// Returns true when a tile is worth a trial. A CPU has vectors where others have work-items.
bool IsWorthIt(const Session& session, const OnlineWork& work, const FewTile& tile) {
  return !session.is_cpu() &&
         gpu::ShapeOf(tile, session.limits(), {1, work.width, sizeof(float)}, gpu::kVector).has_value();
}

/// Returns true when a tile is worth a trial. Those of one work-item were made for CPUs, and all others for other
/// devices.
bool IsWorthIt(const Session& session, const OnlineWork& work, const OnlineTile& tile) {
  constexpr Index kMostOfFew = 16;
  const bool for_cpu = tile.items() == 1;
  return for_cpu == session.is_cpu() && (!work.few || tile.rows <= kMostOfFew) &&
         tile.Suits(session.limits(), work.width);
}

using WorkTunables = std::array<Tunable, std::size(kOnlineWorks)>;

WorkTunables DescribeAll() {
  WorkTunables all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const OnlineWork& work = kOnlineWorks[i];
    const auto fits = [i](const Session& on, std::size_t candidate) {
      const auto suits = [&](const auto& tile) { return IsWorthIt(on, kOnlineWorks[i], tile); };
      return std::visit(suits, OnlineCandidate(i, candidate));
    };
    const auto preset = [i, few = FewTilesOf(work)](Family family) {
      return few > 0 && family != Family::kCpu ? 0 : few + kPresets[i][static_cast<std::size_t>(family)];
    };
    all[i] = {.name = work.name, .candidates = {}, .fits = fits, .preset = preset};
    if (work.few)
      for (const FewTile& tile : kFewTiles) all[i].candidates.push_back(NameOf(tile));
    for (const OnlineTile& tile : kTiles) all[i].candidates.push_back(NameOf(tile));
  }
  return all;
}

}  // namespace

std::span<const OnlineTile> OnlineTiles() { return kTiles; }
std::span<const FewTile> FewTiles() { return kFewTiles; }

std::variant<OnlineTile, FewTile> OnlineCandidate(std::size_t work, std::size_t candidate) {
  const std::size_t few = FewTilesOf(kOnlineWorks[work]);
  if (candidate < few) return kFewTiles[candidate];
  return kTiles[candidate - few];
}

const Tunable& OnlineTunableOf(std::size_t work) {
  static const WorkTunables all = DescribeAll();
  return all[work];
}

std::optional<OnlineTile> ChooseOnlineTile(const Session& session, Index width, Index rows) {
  const bool few = rows <= kFewRows;
  const std::size_t work = few ? 0 : width <= kOnlineWorks[1].width ? 1 : 2;
  const std::size_t chosen = Choose(session, OnlineTunableOf(work)), few_tiles = FewTilesOf(kOnlineWorks[work]);
  const auto family = static_cast<std::size_t>(FamilyOf(session.device()));
  const std::size_t first = chosen < few_tiles ? kPresets[work][family] : chosen - few_tiles;
  // When a tile does not suit, the next ones in the list are tried. Those for few rows are in the order of their rows,
  // and those for many rows never have more rows than the one before.
  const auto find = [&](std::size_t begin, Index least_rows, Index most_rows) -> std::optional<OnlineTile> {
    for (std::size_t i = begin; i < std::size(kTiles); ++i)
      if (kTiles[i].rows >= least_rows && kTiles[i].rows <= most_rows && kTiles[i].Suits(session.limits(), width))
        return kTiles[i];
    return std::nullopt;
  };
  constexpr Index kAny = std::numeric_limits<Index>::max();
  // At least half of a tile's rows should be there.
  if (const auto tile = few ? find(first, rows, kAny) : find(first, 0, 2 * rows)) return tile;
  if (const auto tile = find(first, 0, kAny)) return tile;
  return find(0, 0, kAny);
}

std::optional<FewTile> ChooseFewTile(const Session& session) {
  const std::size_t chosen = Choose(session, OnlineTunableOf(0));
  return chosen < std::size(kFewTiles) ? std::optional(kFewTiles[chosen]) : std::nullopt;
}

/// Rounding a key reads 4 bytes of each number and writes 2. It then saves 2 of the 4 bytes that each tile of rows
/// would read.
bool RoundsRows(const Session& session, const OnlineTile& tile, Index rows) {
  constexpr Index kLeastTiles = 4;
  return HasHalves(session.precision()) && (rows + tile.rows - 1) / tile.rows >= kLeastTiles;
}

std::string OnlineOptions(const Session& session, const OnlineShape& shape, const OnlineInputs& inputs) {
  const auto& [tile, width] = shape;
  const bool unrolls = tile.items() > 1 && !session.is_cpu();
  // More registers would cost a third of the warps, which only pays off when a work-item has many sums.
  const bool has_many_sums = tile.rows * (tile.keys + width) / tile.items() >= 96;
  const char* const floats = inputs.aligned ? "-D ALIGNED_FLOATS " : "-D FLOATS ";
  return (has_many_sums ? "" : MostRegisters(session, 168)) + (unrolls ? "-D UNROLLED " : "") +
         (inputs.row_ranges ? "-D ROW_RANGES " : "") + (inputs.rounded ? HalvesOption(session.precision()) : floats) +
         Define("WIDTH", width) + Define("TILE_ROWS", tile.rows) + Define("TILE_KEYS", tile.keys) +
         Define("ITEMS_X", tile.items_x) + Define("ITEMS_Y", tile.items_y) + Define("DEPTH_SLICE", tile.depth_slice) +
         Define("KEY_SLICE", tile.key_slice(width)) + Define("QUADS", tile.quads) +
         Define("KEY_STAGES", tile.key_stages);
}

std::string FewOptions(const Session& session, const gpu::FewShape& shape, const OnlineInputs& inputs) {
  return MostRegisters(session, shape.registers()) + (session.is_cpu() ? "" : "-D UNROLLED ") +
         (inputs.row_ranges ? "-D ROW_RANGES " : "") +
         (inputs.rounded ? HalvesOption(session.precision()) : "-D ALIGNED_FLOATS ") + Define("WIDTH", shape.width) +
         Define("ROWS", shape.rows) + Define("ITEMS", shape.items) + Define("LOADS", shape.loads) +
         Define("PIECE", shape.piece) + Define("LOCAL_BYTES", shape.local_memory());
}

}  // namespace headlens::opencl
