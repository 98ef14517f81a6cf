// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/warp_tile.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/matrix/mma.h"
#include "opencl/matrix/mma_probe.h"
#include "opencl/matrix/rounding.h"

namespace headlens::opencl {
namespace {

constexpr WarpTile kTiles[] = {
    {256, 128, 4, 2, 4, 1}, {128, 128, 2, 4, 3, 2}, {64, 64, 2, 2, 3, 2}, {128, 64, 4, 2}, {64, 64, 2, 2}};

/// The tile that won on an H100. Numbers in two parts take registers, so that their tiles are small.
constexpr std::size_t PresetOf(Precision precision, ProductKind kind) {
  if (precision == Precision::kTf32x3) return 2;
  return kind == ProductKind::kLarge ? 0 : 1;
}

using KindTunables = std::array<Tunable, std::size(kWarpKinds)>;

KindTunables DescribeAll(Precision precision) {
  KindTunables all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = MmaTunable(MmaRaceName(precision, TunableOf(kWarpKinds[i]).name), WarpTiles(),
                        PresetOf(precision, kWarpKinds[i]));
  }
  return all;
}

/// The first tile without a ring that is no larger than one with a ring.
const WarpTile& DirectTile(const WarpTile& ring) {
  const auto suits = [&](const WarpTile& tile) { return tile.stages == 0 && tile.m <= ring.m && tile.n <= ring.n; };
  return *std::find_if(std::begin(kTiles), std::end(kTiles) - 1, suits);
}

std::string OptionsOf(const Session& session, const Product& p, const WarpTile& tile) {
  return MmaOptions(session) + Define("TILE_M", tile.m) + Define("TILE_N", tile.n) + Define("WARPS_M", tile.warps_m) +
         Define("WARPS_N", tile.warps_n) + ElementOptions(p.b_type) + (p.b_columns ? "-D B_COLUMNS " : "");
}

Grid GridOf(const Product& p, const WarpTile& tile) {
  const Index items = tile.warps() * kWarp;
  return {CountOf(p.n, tile.n) * CountOf(p.m, tile.m) * p.head_count * items, items};
}

/// Computes a product of operands that are read as they are.
void MultiplyDirectly(Session& session, const Product& p, const WarpTile& tile) {
  const std::string options = OptionsOf(session, p, tile) + (p.b_type == DType::kF32 ? "-D B_FLOATS" : "");
  session.Launch(kMatrixMmaSource, options, "MultiplyMma", GridOf(p, tile), p.a.buffer, p.b.buffer, p.c.buffer, p.bias,
                 p.a.place, p.b.place, p.c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k});
}

/// Returns true when all rows begin at multiples of this number.
bool IsAlignedTo(Index count, const gpu::Place& p) {
  return (p.base | p.batch | p.group | p.member | p.row) % count == 0;
}

/// Rows as a ring takes them, or nothing where there are none. Numbers of 16 bits are rounded, unless they are already
/// or `kept` has them.
std::optional<Operand> ForRing(Session& session, const Operand& from, const RoundedRows& rows, Memory* kept) {
  const Precision precision = session.precision();
  const bool rounds = HasHalves(precision);
  const DType own = !rounds ? DType::kF32 : precision == Precision::kFp16 ? DType::kF16 : DType::kBF16;
  if (rows.type == own && IsAlignedTo(rounds ? 8 : 4, from.place)) return from;
  if (!rounds) return std::nullopt;
  if (kept && *kept) return Operand{*kept, RoundedPlace(rows)};
  const Operand rounded = RoundRows(session, rows, from, Memory());
  if (kept) *kept = rounded.buffer;
  return rounded;
}

/// Computes a product by a ring. Returns false when its operands do not suit one.
bool MultiplyByRing(Session& session, const Product& p, const WarpTile& tile) {
  const RoundedRows a_rows{p.heads, p.head_count, p.m, p.k};
  const RoundedRows b_rows{p.heads, p.head_count, p.b_columns ? p.n : p.k, p.b_columns ? p.k : p.n, p.b_type};
  const auto a = ForRing(session, p.a, a_rows, nullptr), b = ForRing(session, p.b, b_rows, p.b_rounded);
  if (!a || !b) return false;
  // With more registers a compute unit would have room for one such work-group instead of two.
  const bool shares = tile.warps() == 8 && tile.m * tile.n <= 128 * 128;
  const std::string options = OptionsOf(session, p, tile) + (shares ? MostRegisters(session, 128) : "") +
                              Define("STAGES", tile.stages) + Define("STEPS", tile.steps) + "-D ALIGNED";
  session.Launch(kMatrixRingSource, options, "MultiplyRing", GridOf(p, tile), a->buffer, b->buffer, a->place, b->place,
                 p.a.buffer, p.b.buffer, p.c.buffer, p.bias, p.a.place, p.b.place, p.c.place, p.heads, cl_long{p.m},
                 cl_long{p.n}, cl_long{p.k});
  return true;
}

}  // namespace

std::string NameOf(const WarpTile& t) {
  return "tile " + std::to_string(t.m) + "x" + std::to_string(t.n) + " warps " + std::to_string(t.warps_m) + "x" +
         std::to_string(t.warps_n) +
         (t.stages > 0 ? " ring " + std::to_string(t.stages) + "x" + std::to_string(t.steps) : "");
}

bool Fits(const Session& session, const WarpTile& tile) {
  const MmaLayout layout(session.precision());
  const Index lefts = tile.m / tile.warps_m / 16, rights = tile.n / tile.warps_n / 8;
  if (tile.stages > 0)
    return MmaFits(session, tile.stages * tile.steps * layout.step() * (tile.m + tile.n), tile.warps(), 1, rights);
  const Index depth = 2 * layout.step();
  const Index b = std::max(tile.n * (depth + layout.pad_along()), depth * (tile.n + layout.pad_across()));
  return MmaFits(session, 2 * (tile.m * (depth + layout.pad_along()) + b), tile.warps(), lefts, rights);
}

std::span<const WarpTile> WarpTiles() { return kTiles; }

const Tunable& WarpTunableOf(Precision precision, ProductKind kind) {
  static const KindTunables split = DescribeAll(Precision::kTf32x3), rounded = DescribeAll(Precision::kFp16);
  const auto i = std::find(std::begin(kWarpKinds), std::end(kWarpKinds), kind) - std::begin(kWarpKinds);
  return (precision == Precision::kTf32x3 ? split : rounded)[static_cast<std::size_t>(i)];
}

bool MultiplyOnMatrixUnits(Session& session, const Product& p) {
  constexpr Index kLeastRows = 16;
  if (p.m < kLeastRows || (session.precision() != Precision::kTf32x3 && !p.rounds)) return false;
  if (!HasMatrixUnits(session)) return false;
  const auto tile = ChooseTile(session, WarpTunableOf(session.precision(), KindOf(session, p)), WarpTiles());
  if (tile) Multiply(session, p, *tile);
  return tile.has_value();
}

void Multiply(Session& session, const Product& p, const WarpTile& tile) {
  if (tile.stages == 0) {
    MultiplyDirectly(session, p, tile);
  } else if (!MultiplyByRing(session, p, tile)) {
    MultiplyDirectly(session, p, DirectTile(tile));
  }
}

}  // namespace headlens::opencl
