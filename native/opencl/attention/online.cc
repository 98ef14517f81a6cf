// SPDX-License-Identifier: Apache-2.0
#include "opencl/attention/online.h"

#include <algorithm>
#include <limits>

namespace headlens::opencl {
namespace {

constexpr Index kFloat = sizeof(float);
/// As kernels/online.cl has it: so much longer are rows in local memory.
constexpr Index kPadding = 4;
/// What a work-group keeps about its tile there.
constexpr Index kTileBytes = 120;
/// Fewer keys for a work-group would be more work for the one that merges.
constexpr Index kLeastKeys = 256;

/// Every width would be a program of its own.
constexpr Index kWidths[] = {32, 64, 96, 128, 192, 256};

/// The best first of each kind. Few rows: a GPU waits for its memory, with many groups of one warp, whose barriers cost
/// nothing. Many rows: more registers for a work-item mean fewer reads of local memory. A CPU's compiler makes vectors
/// of one work-item's columns, where it has no other to wait for.
constexpr OnlineTile kTiles[] = {
    {4, 64, 32, 1, 16, false},  {8, 64, 32, 1, 16, false}, {16, 64, 32, 1, 16, false}, {128, 64, 8, 16, 16, true},
    {64, 128, 16, 8, 16, true}, {64, 64, 8, 8, 16, true},  {32, 64, 16, 8, 32, true},  {32, 64, 8, 8, 32, true},
    {16, 64, 16, 4, 16, true},  {8, 32, 8, 2, 8, false},   {4, 64, 1, 1, 32, false},   {8, 64, 1, 1, 32, false},
    {16, 64, 1, 1, 32, false},  {32, 64, 1, 1, 32, false}, {8, 32, 1, 1, 16, false},   {4, 8, 1, 1, 8, false},
};

bool Divides(Index a, Index b) { return b % a == 0; }

/// Groups with so many rows and fewer have few.
constexpr Index kFewRows = 16;

/// Indices of tiles, by kOnlineWorks. NVIDIA has registers for 128 sums of an item; AMD's groups of 64 want more room
/// in local memory; Intel has fewer registers, Apple 32 KiB of local memory, phones little of either.
constexpr std::size_t kPresets[][kFamilies] = {
    // NVIDIA, AMD, Intel, Apple, mobile, CPU, others
    {0, 0, 0, 0, 9, 10, 0},  // few rows
    {3, 6, 8, 7, 9, 13, 7},  // many, of widths up to 64
    {4, 6, 8, 7, 9, 13, 7},  // up to 128, and beyond
};
static_assert(std::size(kPresets) == std::size(kOnlineWorks));
static_assert(std::all_of(std::begin(kPresets), std::end(kPresets), [](const auto& presets) {
  return std::all_of(std::begin(presets), std::end(presets), [](std::size_t i) { return i < std::size(kTiles); });
}));

}  // namespace

Index OnlineTile::key_slice(Index width) const {
  Index slice = keys;
  while (slice > 4 && slice * width > depth_slice * (keys + kPadding)) slice /= 2;
  return slice;
}

Index OnlineTile::local_memory(Index width) const {
  const Index stage = std::max(depth_slice * (keys + kPadding), key_slice(width) * width);
  const Index weights = std::max(key_slice(width), items_x) * (rows + kPadding);
  return (width * rows + stage + weights + 2 * rows) * kFloat + kTileBytes;
}

bool OnlineTile::Suits(const Session& session, Index width) const {
  const Index columns = items_x * (quads ? 4 : 1);
  return Divides(columns, keys) && Divides(columns, width) && Divides(4 * items_y, rows) &&
         Divides(depth_slice, width) && Divides(4 * items(), keys * depth_slice) &&
         Divides(4 * items(), key_slice(width) * width) && items() <= session.group_items() &&
         local_memory(width) <= session.local_memory();
}

std::span<const OnlineTile> OnlineTiles() { return kTiles; }

std::optional<Index> OnlineWidth(Index width) {
  const auto built = std::lower_bound(std::begin(kWidths), std::end(kWidths), width);
  return built == std::end(kWidths) ? std::nullopt : std::optional(*built);
}

std::size_t OnlinePreset(Family family, std::size_t work) { return kPresets[work][static_cast<std::size_t>(family)]; }

std::string NameOf(const OnlineTile& t) {
  return "rows " + std::to_string(t.rows) + " keys " + std::to_string(t.keys) + " items " + std::to_string(t.items_x) +
         "x" + std::to_string(t.items_y) + " depth " + std::to_string(t.depth_slice) + (t.quads ? " quads" : "");
}

std::optional<OnlineTile> ChooseOnlineTile(const Session& session, Index width, Index rows) {
  const bool few = rows <= kFewRows;
  const std::size_t first = Choose(session, OnlineTunables()[few ? 0 : width <= kOnlineWorks[1].width ? 1 : 2]);
  // The tiles that follow one ask for less; those for few rows have more of them, those for many no more.
  const auto find = [&](std::size_t begin, Index least_rows, Index most_rows) -> std::optional<OnlineTile> {
    for (std::size_t i = begin; i < std::size(kTiles); ++i)
      if (kTiles[i].rows >= least_rows && kTiles[i].rows <= most_rows && kTiles[i].Suits(session, width))
        return kTiles[i];
    return std::nullopt;
  };
  constexpr Index kAny = std::numeric_limits<Index>::max();
  // At least half of a tile's rows should be there.
  if (const auto tile = few ? find(first, rows, kAny) : find(first, 0, 2 * rows)) return tile;
  if (const auto tile = find(first, 0, kAny)) return tile;
  return find(0, 0, kAny);
}

Index OnlineParts(const Session& session, const OnlineTile& tile, Index tiles, Index keys) {
  constexpr Index kGroupsEach = 8;  // of each compute unit: they take turns while they wait for the memory
  const Index wanted = static_cast<Index>(session.device().compute_units) * kGroupsEach;
  const Index most = keys / std::max(kLeastKeys, tile.keys);
  return std::max<Index>(std::min(wanted / tiles, most), 1);
}

bool HasHalves(Precision precision) { return precision == Precision::kFp16 || precision == Precision::kBf16; }

/// Rounding a key reads 4 bytes of each number and writes 2, and then saves 2 of the 4 that each tile of rows would
/// read.
bool RoundsRows(const Session& session, const OnlineTile& tile, Index rows) {
  constexpr Index kLeastTiles = 4;
  return HasHalves(session.precision()) && (rows + tile.rows - 1) / tile.rows >= kLeastTiles;
}

namespace {

const char* RoundedOption(Precision precision) { return precision == Precision::kFp16 ? "-D HALVES " : "-D BFLOATS "; }

}  // namespace

std::string OnlineOptions(const Session& session, const OnlineShape& shape, const OnlineInputs& inputs) {
  const auto& [tile, width] = shape;
  const bool unrolls = tile.items() > 1 && session.device().type != "CPU";
  // More registers would take a third of the warps, which is worth it only for as many sums.
  const bool has_many_sums = tile.rows * (tile.keys + width) / tile.items() >= 96;
  const char* const floats = inputs.aligned ? "-D ALIGNED_FLOATS " : "-D FLOATS ";
  return (has_many_sums ? "" : MostRegisters(session, 168)) + (unrolls ? "-D UNROLLED " : "") +
         (inputs.row_ranges ? "-D ROW_RANGES " : "") + (inputs.rounded ? RoundedOption(session.precision()) : floats) +
         Define("WIDTH", width) + Define("TILE_ROWS", tile.rows) + Define("TILE_KEYS", tile.keys) +
         Define("ITEMS_X", tile.items_x) + Define("ITEMS_Y", tile.items_y) + Define("DEPTH_SLICE", tile.depth_slice) +
         Define("KEY_SLICE", tile.key_slice(width)) + Define("QUADS", tile.quads);
}

void RoundRows(Session& session, const Operand& from, const Heads& heads, Index head_count, Index rows, Index width,
               Index padded, const Operand& to, const Memory& unusual) {
  const Index count = head_count * rows * padded;
  session.Launch(kRoundSource, GroupOption(session) + RoundedOption(session.precision()), "Round",
                 {count, GroupItems(session)}, from.buffer, from.place, heads, cl_long{rows}, cl_long{width},
                 cl_long{padded}, cl_long{count}, to.buffer, to.place, unusual);
}

Operand RoundRows(Session& session, const Operand& from, const Heads& heads, Index head_count, Index rows, Index width,
                  const Memory& unusual) {
  const Index padded = (width + 7) / 8 * 8;
  const Operand to{session.Allocate<cl_ushort>(head_count * rows * padded), DensePlace(heads, rows, padded)};
  RoundRows(session, from, heads, head_count, rows, width, padded, to, unusual);
  return to;
}

}  // namespace headlens::opencl
