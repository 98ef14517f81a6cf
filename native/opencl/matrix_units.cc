// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix_units.h"

#include <algorithm>
#include <array>

namespace headlens::opencl {
namespace {

constexpr Index kWarp = 32;

/// As kernels/mma.cl has it for a precision.
struct Layout {
  explicit Layout(Precision precision) : splits(precision == Precision::kTf32x3) {}

  bool splits;
  Index step() const { return splits ? 8 : 16; }
  Index pair_bytes() const { return splits ? 8 : 4; }
  Index pad_depth() const { return 4; }
  Index pad_row() const { return splits ? 4 : 8; }
  Index left_words() const { return splits ? 8 : 4; }
  Index right_words() const { return splits ? 4 : 2; }
};

/// Emulation is for small problems, which take less time than a compiler that optimises.
std::string MmaOptions(const Session& session) {
  return Define("PRECISION", static_cast<Index>(session.precision())) +
         (session.emulates_matrix_units() ? "-D EMULATE -cl-opt-disable " : "");
}

/// Whether so many PAIRs of local memory are there, and what `warps` exchange of so many fragments when they emulate:
/// this a GPU would not need, so that a device may take more for it than a GPU has.
bool Fits(const Session& session, Index pairs, Index warps, Index lefts, Index rights) {
  const Layout layout(session.precision());
  const Index bytes = pairs * layout.pair_bytes();
  if (warps * kWarp > session.group_items() || bytes > session.local_memory()) return false;
  if (!session.emulates_matrix_units()) return true;
  const Index words = warps * kWarp * (lefts * layout.left_words() + rights * layout.right_words());
  return bytes + words * static_cast<Index>(sizeof(cl_uint)) <= static_cast<Index>(session.device().local_memory);
}

/// What a work-group computes of a product, and the warps that share it.
struct WarpTile {
  Index m, n, warps_m, warps_n;

  Index warps() const { return warps_m * warps_n; }
};

constexpr WarpTile kWarpTiles[] = {{128, 128, 2, 4}, {64, 64, 2, 2}};

bool Suits(const WarpTile& tile, const Session& session, const Product& product) {
  const Layout layout(session.precision());
  const Index pairs = layout.step(), row = pairs + layout.pad_depth();
  const Index b_pairs = product.b_columns ? tile.n * row : pairs * (tile.n + layout.pad_row());
  if (!Fits(session, 2 * (tile.m * row + b_pairs), tile.warps(), tile.m / tile.warps_m / 16, tile.n / tile.warps_n / 8))
    return false;
  const Index tiles = (product.m + tile.m - 1) / tile.m * ((product.n + tile.n - 1) / tile.n) * product.head_count;
  return tile.m == std::end(kWarpTiles)[-1].m || tiles >= static_cast<Index>(session.device().compute_units);
}

/// Each warp of `warps` computes 16 · `lefts` rows, `keys` keys at a time.
struct FusedTile {
  Index width, warps, lefts, keys;
};

/// As many rows as registers hold without spilling; splitting takes more of these, and so do biases.
constexpr FusedTile kSplitTiles[] = {{32, 4, 2, 32}, {64, 4, 2, 32}, {128, 4, 1, 32}};
constexpr FusedTile kSplitBiasedTiles[] = {{32, 4, 1, 32}, {64, 4, 1, 32}, {128, 4, 1, 16}};
constexpr FusedTile kRoundedTiles[] = {{32, 4, 2, 64}, {64, 4, 2, 32}, {128, 8, 1, 64}};
constexpr FusedTile kRoundedBiasedTiles[] = {{32, 4, 1, 64}, {64, 4, 1, 32}, {128, 4, 1, 32}};

std::span<const FusedTile> FusedTiles(const Session& session, bool changes_scores) {
  if (session.precision() == Precision::kTf32x3)
    return changes_scores ? std::span(kSplitBiasedTiles) : std::span(kSplitTiles);
  return changes_scores ? std::span(kRoundedBiasedTiles) : std::span(kRoundedTiles);
}

}  // namespace

MmaResult MultiplyOnce(Session& session, std::span<const float> left, std::span<const float> right) {
  MmaResult result;
  const auto allocate = [&](const auto& to) { return session.Allocate<float>(static_cast<Index>(to.size())); };
  const auto download = [&](const Memory& from, auto& to) {
    session.DownloadBytes(from, 0, static_cast<Index>(sizeof to), to.data());
  };
  const Memory product = allocate(result.product), maxima = allocate(result.maxima), totals = allocate(result.totals);
  session.Launch(kMmaProbeSource, MmaOptions(session), "MultiplyOnce", {kWarp, kWarp}, session.Upload(left),
                 session.Upload(right), product, maxima, totals);
  download(product, result.product);
  download(maxima, result.maxima);
  download(totals, result.totals);
  return result;
}

bool ProbeMatrixUnits(Session& session) {
  const bool is_nvidia = session.device().type == "GPU" && session.device().vendor.find("NVIDIA") != std::string::npos;
  if (!is_nvidia && !session.emulates_matrix_units()) return false;
  // Whole numbers small enough for sums without rounding; those on the left are more than one part has, if there are
  // two.
  const Layout layout(session.precision());
  const Index depth = layout.step(), scale = layout.splits ? 65 : 1;
  std::vector<float> left, right;
  for (Index i = 0; i < 16; ++i)
    for (Index d = 0; d < depth; ++d) left.push_back(static_cast<float>(scale * (15 * i + d)));
  for (Index d = 0; d < depth; ++d)
    for (Index j = 0; j < 8; ++j) right.push_back(static_cast<float>(d - 3 - 2 * j));
  try {
    const MmaResult got = MultiplyOnce(session, left, right);
    for (Index i = 0; i < 16; ++i) {
      float most = -std::numeric_limits<float>::max(), total = 0.0f;
      for (Index j = 0; j < 8; ++j) {
        float sum = 0.0f;
        for (Index d = 0; d < depth; ++d)
          sum += left[static_cast<std::size_t>(i * depth + d)] * right[static_cast<std::size_t>(d * 8 + j)];
        if (got.product[static_cast<std::size_t>(i * 8 + j)] != sum) return false;
        most = std::max(most, sum);
        total += sum;
      }
      const auto row = static_cast<std::size_t>(i);
      if (got.maxima[row] != most || got.totals[row] != total) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  } catch (const cl::Error&) {
    return false;
  }
}

bool MultiplyOnMatrixUnits(Session& session, const Product& p) {
  // Few rows are read faster than matrix units could be filled with them.
  constexpr Index kLeastRows = 16;
  if (p.m < kLeastRows || (session.precision() != Precision::kTf32x3 && !p.rounds)) return false;
  if (!session.has_matrix_units()) return false;
  const WarpTile* tile = std::find_if(std::begin(kWarpTiles), std::end(kWarpTiles),
                                      [&](const WarpTile& candidate) { return Suits(candidate, session, p); });
  if (tile == std::end(kWarpTiles)) return false;
  const std::string options = MmaOptions(session) + Define("TILE_M", tile->m) + Define("TILE_N", tile->n) +
                              Define("WARPS_M", tile->warps_m) + Define("WARPS_N", tile->warps_n) +
                              ElementOptions(p.b_type) + (p.b_columns ? "-D B_COLUMNS " : "") +
                              (p.b_type == DType::kF32 ? "-D B_FLOATS" : "");
  const Index items = tile->warps() * kWarp;
  const Index tiles = (p.n + tile->n - 1) / tile->n * ((p.m + tile->m - 1) / tile->m) * p.head_count;
  const Grid grid{tiles * items, items};
  session.Launch(kMatrixMmaSource, options, "MultiplyMma", grid, p.a.buffer, p.b.buffer, p.c.buffer, p.bias, p.a.place,
                 p.b.place, p.c.place, p.heads, cl_long{p.m}, cl_long{p.n}, cl_long{p.k});
  return true;
}

std::optional<FusedKernel> FusedOnMatrixUnits(Session& session, Index width, bool changes_scores) {
  if (!session.has_matrix_units()) return std::nullopt;
  const Layout layout(session.precision());
  for (const FusedTile& tile : FusedTiles(session, changes_scores)) {
    if (tile.width < width) continue;
    const Index pairs =
        tile.keys * (tile.width / 2 + layout.pad_depth()) + tile.keys / 2 * (tile.width + layout.pad_row());
    if (!Fits(session, pairs, tile.warps, tile.lefts, std::min<Index>(tile.keys / 8, 4))) return std::nullopt;
    return FusedKernel{MmaOptions(session) + Define("WIDTH", tile.width) + Define("WARPS", tile.warps) +
                           Define("LEFTS", tile.lefts) + Define("TILE_KEYS", tile.keys) +
                           (changes_scores ? "-D CHANGES_SCORES" : ""),
                       tile.warps * tile.lefts * 16, tile.warps * kWarp};
  }
  return std::nullopt;
}

}  // namespace headlens::opencl
