// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/matrix_units.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "opencl/attention/attention.h"

namespace headlens::opencl {
namespace {

constexpr Index kWarp = 32;

/// As kernels/mma.cl has it for a precision.
struct Layout {
  explicit Layout(Precision precision) : splits(precision == Precision::kTf32x3) {}

  bool splits;
  Index step() const { return splits ? 8 : 16; }
  Index number_bytes() const { return splits ? 4 : 2; }
  Index pad_along() const { return 8; }
  Index pad_across() const { return splits ? 4 : 8; }
  Index left_words() const { return splits ? 8 : 4; }
  Index right_words() const { return splits ? 4 : 2; }
};

/// Emulation is for small problems, which take less time than a compiler that optimises.
std::string MmaOptions(const Session& session) {
  return Define("PRECISION", static_cast<Index>(session.precision())) +
         (session.emulates_matrix_units() ? "-D EMULATE -cl-opt-disable " : "");
}

/// Whether so many numbers of local memory are there, and what `warps` exchange of so many fragments when they emulate:
/// this a GPU would not need, so that a device may take more for it than a GPU has.
bool Fits(const Session& session, Index numbers, Index warps, Index lefts, Index rights) {
  const Layout layout(session.precision());
  const Index bytes = numbers * layout.number_bytes();
  if (warps * kWarp > session.group_items() || bytes > session.local_memory()) return false;
  if (!session.emulates_matrix_units()) return true;
  const Index words = warps * kWarp * (lefts * layout.left_words() + rights * layout.right_words());
  return bytes + words * static_cast<Index>(sizeof(cl_uint)) <= static_cast<Index>(session.device().local_memory);
}

constexpr WarpTile kWarpTiles[] = {{128, 128, 2, 4}, {128, 64, 4, 2}, {64, 64, 2, 2}};

/// For B [k, n] and [n, k] alike.
bool Fits(const Session& session, const WarpTile& tile) {
  const Layout layout(session.precision());
  const Index depth = 2 * layout.step();
  const Index b = std::max(tile.n * (depth + layout.pad_along()), depth * (tile.n + layout.pad_across()));
  return Fits(session, 2 * (tile.m * (depth + layout.pad_along()) + b), tile.warps(), tile.m / tile.warps_m / 16,
              tile.n / tile.warps_n / 8);
}

bool Fits(const Session& session, const FusedTile& tile) {
  const Layout layout(session.precision());
  return Fits(session, tile.keys * (2 * tile.width + layout.pad_along() + layout.pad_across()), tile.warps, tile.lefts,
              2);
}

constexpr char kOrdinary[] = "ordinary kernels";

std::string NameOf(const WarpTile& t) {
  return "tile " + std::to_string(t.m) + "x" + std::to_string(t.n) + " warps " + std::to_string(t.warps_m) + "x" +
         std::to_string(t.warps_n);
}

std::string NameOf(const FusedTile& t) {
  return "rows " + std::to_string(t.rows()) + " keys " + std::to_string(t.keys) + " warps " + std::to_string(t.warps);
}

template <class Tile>
std::vector<std::string> NamesOf(std::span<const Tile> tiles) {
  std::vector<std::string> names;
  for (const Tile& tile : tiles) names.push_back(NameOf(tile));
  names.push_back(kOrdinary);
  return names;
}

/// The chosen tile; nothing where the ordinary kernels were.
template <class Tile>
std::optional<Tile> Chosen(const Session& session, const Tunable& tunable, std::span<const Tile> tiles) {
  const std::size_t i = Choose(session, tunable);
  return i < tiles.size() ? std::optional(tiles[i]) : std::nullopt;
}

/// Both ways of 16 bits are as fast as each other: one race for them.
std::string Prefix(Precision precision) { return precision == Precision::kTf32x3 ? "tf32x3." : "16-bit."; }

/// Few rows are read faster than matrix units could be filled with them.
constexpr ProductKind kProductKinds[] = {ProductKind::kLarge, ProductKind::kMiddle, ProductKind::kSmall};

Tunable ProductTunable(Precision precision, ProductKind kind) {
  const std::span<const WarpTile> tiles(kWarpTiles);
  return {
      .name = Prefix(precision) + ProductTunables()[static_cast<std::size_t>(kind)].name,
      .candidates = NamesOf(tiles),
      .fits = [tiles](const Session& session, std::size_t i) { return i == tiles.size() || Fits(session, tiles[i]); },
      .preset = [kind](Family) { return kind == ProductKind::kLarge ? std::size_t{0} : std::size(kWarpTiles) - 1; },
      .trial =
          [kind, tiles](Session& session) {
            return ProductTrialOf(session, kind, [tiles](Session& on, const Product& product, std::size_t i) {
              i < tiles.size() ? Multiply(on, product, tiles[i]) : MultiplyWithoutUnits(on, product);
            });
          }};
}

/// As many rows as registers hold without spilling: README.md has the figures.
constexpr FusedTile kSplitTiles[] = {{32, 4, 2, 32}, {32, 8, 1, 32},  {64, 8, 1, 32},
                                     {64, 4, 2, 16}, {128, 4, 1, 16}, {128, 4, 1, 32}};
constexpr FusedTile kSplitBiasedTiles[] = {{32, 4, 1, 32}, {64, 4, 1, 32}, {128, 4, 1, 16}};
constexpr FusedTile kRoundedTiles[] = {{32, 4, 2, 64}, {32, 8, 1, 64},  {64, 4, 2, 64},  {64, 4, 2, 32},
                                       {64, 8, 1, 64}, {128, 8, 1, 64}, {128, 8, 1, 32}, {128, 4, 2, 16}};
constexpr FusedTile kRoundedBiasedTiles[] = {{32, 4, 1, 64}, {64, 4, 1, 32}, {128, 4, 1, 32}};

constexpr FusedWork kFusedWorks[] = {{32, false}, {64, false}, {128, false}, {32, true}, {64, true}, {128, true}};

Tunable FusedTunable(Precision precision, const FusedWork& work) {
  const std::span<const FusedTile> tiles = FusedTiles(precision, work);
  return {
      .name = Prefix(precision) + "attention-" + std::to_string(work.width) + (work.changes_scores ? "-biased" : ""),
      .candidates = NamesOf(tiles),
      .fits = [tiles](const Session& session, std::size_t i) { return i == tiles.size() || Fits(session, tiles[i]); },
      .preset = [](Family) { return std::size_t{0}; },
      .trial =
          [tiles, work](Session& session) {
            return AttentionTrialOf(session, {.width = work.width, .capped = work.changes_scores},
                                    [tiles](std::size_t i) -> AttentionKernel {
                                      if (i < tiles.size()) return tiles[i];
                                      return OrdinaryKernels();
                                    });
          }};
}

std::vector<Tunable> AllOfUnits(Precision precision) {
  std::vector<Tunable> all;
  for (const ProductKind kind : kProductKinds) all.push_back(ProductTunable(precision, kind));
  for (const FusedWork& work : kFusedWorks) all.push_back(FusedTunable(precision, work));
  return all;
}

}  // namespace

Index FusedTile::items() const { return warps * kWarp; }

std::span<const FusedTile> FusedTiles(Precision precision, const FusedWork& work) {
  const bool splits = precision == Precision::kTf32x3;
  const std::span<const FusedTile> all =
      work.changes_scores ? (splits ? std::span<const FusedTile>(kSplitBiasedTiles) : kRoundedBiasedTiles)
                          : (splits ? std::span<const FusedTile>(kSplitTiles) : kRoundedTiles);
  const auto first = std::find_if(all.begin(), all.end(), [&](const FusedTile& t) { return t.width >= work.width; });
  const auto end = std::find_if(first, all.end(), [&](const FusedTile& t) { return t.width != first->width; });
  return {first, end};
}

std::span<const Tunable> UnitTunables(Precision precision) {
  static const std::vector<Tunable> split = AllOfUnits(Precision::kTf32x3), rounded = AllOfUnits(Precision::kFp16);
  return precision == Precision::kTf32x3 ? split : rounded;
}

namespace {

/// [columns, rows] of [rows, columns].
std::vector<float> Transposed(std::span<const float> matrix, Index columns) {
  std::vector<float> transposed;
  const Index rows = static_cast<Index>(matrix.size()) / columns;
  for (Index j = 0; j < columns; ++j)
    for (Index i = 0; i < rows; ++i) transposed.push_back(matrix[static_cast<std::size_t>(i * columns + j)]);
  return transposed;
}

/// On the device, as the tiles of a precision have it.
Memory Numbers(Session& session, std::span<const float> rows, Index width) {
  const Memory floats = session.Upload(rows);
  if (!HasHalves(session.precision())) return floats;
  const Index count = static_cast<Index>(rows.size()) / width;
  const cl_uint none = 0;
  return RoundRows(session, {floats, MatrixPlace(width)}, {}, 1, count, width, session.Upload(std::span(&none, 1)))
      .buffer;
}

}  // namespace

MmaResult MultiplyOnce(Session& session, std::span<const float> left, std::span<const float> right) {
  MmaResult result;
  const Index depth = Layout(session.precision()).step();
  const auto allocate = [&](const auto& to) { return session.Allocate<float>(static_cast<Index>(to.size())); };
  const auto download = [&](const Memory& from, auto& to) {
    session.DownloadBytes(from, 0, static_cast<Index>(sizeof to), to.data());
  };
  std::array<float, 16 * 16> again;
  const Memory products[] = {allocate(result.product), allocate(again)};
  const Memory maxima = allocate(result.maxima), totals = allocate(result.totals);
  session.Launch(kMmaProbeSource, MmaOptions(session) + "-D ALIGNED", "MultiplyOnce", {kWarp, kWarp},
                 Numbers(session, left, depth), Numbers(session, right, 16),
                 Numbers(session, Transposed(right, 16), depth), products[0], products[1], maxima, totals);
  download(products[0], result.product);
  download(products[1], again);
  download(maxima, result.maxima);
  download(totals, result.totals);
  result.ways = again == result.product;
  return result;
}

namespace {

/// Whole numbers small enough for sums without rounding; those on the left are more than one part has, if there are
/// two.
bool MultipliesRight(Session& session) {
  const Layout layout(session.precision());
  const Index depth = layout.step(), scale = layout.splits ? 65 : 1;
  std::vector<float> left, right;
  for (Index i = 0; i < 16; ++i)
    for (Index d = 0; d < depth; ++d) left.push_back(static_cast<float>(scale * (15 * i + d)));
  for (Index d = 0; d < depth; ++d)
    for (Index j = 0; j < 16; ++j) right.push_back(static_cast<float>(d - 3 - 2 * j));
  const MmaResult got = MultiplyOnce(session, left, right);
  for (Index i = 0; i < 16; ++i) {
    float most = -std::numeric_limits<float>::max(), total = 0.0f;
    for (Index j = 0; j < 16; ++j) {
      float sum = 0.0f;
      for (Index d = 0; d < depth; ++d)
        sum += left[static_cast<std::size_t>(i * depth + d)] * right[static_cast<std::size_t>(d * 16 + j)];
      if (got.product[static_cast<std::size_t>(i * 16 + j)] != sum) return false;
      if (j >= 8) continue;
      most = std::max(most, sum);
      total += sum;
    }
    const auto row = static_cast<std::size_t>(i);
    if (got.maxima[row] != most || got.totals[row] != total) return false;
  }
  return got.ways;
}

}  // namespace

bool ProbeMatrixUnits(const Settings& settings) {
  try {
    Session session(settings);
    const DeviceInfo& device = session.device();
    const bool is_nvidia = device.type == "GPU" && device.vendor.find("NVIDIA") != std::string::npos;
    return (is_nvidia || settings.emulate_matrix_units) && MultipliesRight(session);
  } catch (const Error&) {
    return false;
  } catch (const cl::Error&) {
    return false;
  }
}

void Multiply(Session& session, const Product& p, const WarpTile& tile) {
  const std::string options = MmaOptions(session) + Define("TILE_M", tile.m) + Define("TILE_N", tile.n) +
                              Define("WARPS_M", tile.warps_m) + Define("WARPS_N", tile.warps_n) +
                              ElementOptions(p.b_type) + (p.b_columns ? "-D B_COLUMNS " : "") +
                              (p.b_type == DType::kF32 ? "-D B_FLOATS" : "");
  const Index items = tile.warps() * kWarp;
  const Index tiles = (p.n + tile.n - 1) / tile.n * ((p.m + tile.m - 1) / tile.m) * p.head_count;
  session.Launch(kMatrixMmaSource, options, "MultiplyMma", {tiles * items, items}, p.a.buffer, p.b.buffer, p.c.buffer,
                 p.bias, p.a.place, p.b.place, p.c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k});
}

bool MultiplyOnMatrixUnits(Session& session, const Product& p) {
  constexpr Index kLeastRows = 16;
  if (p.m < kLeastRows || (session.precision() != Precision::kTf32x3 && !p.rounds)) return false;
  if (!session.has_matrix_units()) return false;
  const Tunable& tunable = UnitTunables(session.precision())[static_cast<std::size_t>(KindOf(session, p))];
  const auto tile = Chosen(session, tunable, std::span<const WarpTile>(kWarpTiles));
  if (tile) Multiply(session, p, *tile);
  return tile.has_value();
}

std::string FusedOptions(const Session& session, const FusedTile& tile, bool changes_scores, bool aligned) {
  return MmaOptions(session) + Define("WIDTH", tile.width) + Define("WARPS", tile.warps) + Define("LEFTS", tile.lefts) +
         Define("TILE_KEYS", tile.keys) + (changes_scores ? "-D CHANGES_SCORES " : "") + (aligned ? "-D ALIGNED" : "");
}

std::optional<FusedTile> FusedOnMatrixUnits(Session& session, const FusedWork& work) {
  if (!session.has_matrix_units()) return std::nullopt;
  const std::span<const Tunable> tunables = UnitTunables(session.precision());
  for (std::size_t i = 0; i < std::size(kFusedWorks); ++i) {
    const FusedWork& candidate = kFusedWorks[i];
    if (candidate.width >= work.width && candidate.changes_scores == work.changes_scores)
      return Chosen(session, tunables[std::size(kProductKinds) + i], FusedTiles(session.precision(), candidate));
  }
  return std::nullopt;
}

}  // namespace headlens::opencl
