// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/warp_tile.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "opencl/kernels/options.h"
#include "opencl/kernels/sources.h"
#include "opencl/matrix/mma.h"
#include "opencl/matrix/mma_probe.h"

namespace headlens::opencl {
namespace {

constexpr WarpTile kTiles[] = {{128, 128, 2, 4}, {128, 64, 4, 2}, {64, 64, 2, 2}};

using KindTunables = std::array<Tunable, std::size(kWarpKinds)>;

KindTunables DescribeAll(Precision precision) {
  KindTunables all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t preset = kWarpKinds[i] == ProductKind::kLarge ? 0 : std::size(kTiles) - 1;
    all[i] = MmaTunable(MmaRaceName(precision, TunableOf(kWarpKinds[i]).name), WarpTiles(), preset);
  }
  return all;
}

}  // namespace

std::string NameOf(const WarpTile& t) {
  return "tile " + std::to_string(t.m) + "x" + std::to_string(t.n) + " warps " + std::to_string(t.warps_m) + "x" +
         std::to_string(t.warps_n);
}

bool Fits(const Session& session, const WarpTile& tile) {
  const MmaLayout layout(session.precision());
  const Index depth = 2 * layout.step();
  const Index b = std::max(tile.n * (depth + layout.pad_along()), depth * (tile.n + layout.pad_across()));
  return MmaFits(session, 2 * (tile.m * (depth + layout.pad_along()) + b), tile.warps(), tile.m / tile.warps_m / 16,
                 tile.n / tile.warps_n / 8);
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
  const std::string options = MmaOptions(session) + Define("TILE_M", tile.m) + Define("TILE_N", tile.n) +
                              Define("WARPS_M", tile.warps_m) + Define("WARPS_N", tile.warps_n) +
                              ElementOptions(p.b_type) + (p.b_columns ? "-D B_COLUMNS " : "") +
                              (p.b_type == DType::kF32 ? "-D B_FLOATS" : "");
  const Index items = tile.warps() * kWarp;
  const Index tiles = CountOf(p.n, tile.n) * CountOf(p.m, tile.m) * p.head_count;
  session.Launch(kMatrixMmaSource, options, "MultiplyMma", {tiles * items, items}, p.a.buffer, p.b.buffer, p.c.buffer,
                 p.bias, p.a.place, p.b.place, p.c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k});
}

}  // namespace headlens::opencl
