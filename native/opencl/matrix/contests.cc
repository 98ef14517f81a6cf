// SPDX-License-Identifier: Apache-2.0
#include "opencl/matrix/contests.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "opencl/matrix/lanes.h"
#include "opencl/matrix/multiply.h"
#include "opencl/matrix/tile.h"
#include "opencl/matrix/warp_tile.h"

namespace headlens::opencl {
namespace {

/// Numbers that are spread evenly from -1 to 1, the same ones each time.
std::vector<float> Numbers(Index count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525 + 1013904223;
    number = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return numbers;
}

/// A product, some of whose results are held against sums in fp64.
class ProductTrial {
 public:
  ProductTrial(Session& session, Index m, Index n, Index k, Index heads, bool b_columns)
      : session_(session), a_(Numbers(heads * m * k)), b_(Numbers(heads * k * n)) {
    const gpu::Heads all{0, heads, 1};
    product_ = {.a = {session.Upload(std::span<const float>(a_)), gpu::DensePlace(all, m, k)},
                .b = {session.Upload(std::span<const float>(b_)),
                      b_columns ? gpu::DensePlace(all, n, k) : gpu::DensePlace(all, k, n)},
                .c = {session.Allocate<float>(heads * m * n), gpu::DensePlace(all, m, n)},
                .m = m,
                .n = n,
                .k = k,
                .b_columns = b_columns,
                .heads = all,
                .head_count = heads,
                .rounds = true,
                .b_rounded = &b_rounded_};  // layers, whose products are rounded, keep their weights' copy
    const std::vector<float> wrong(static_cast<std::size_t>(Results()), std::nanf(""));
    wrong_ = session.Upload(std::span<const float>(wrong));
    session.CopyRows({wrong_, 0}, Results(), {product_.c.buffer, 0}, Results(), 1, Results());
  }

  const Product& product() const { return product_; }
  Index Results() const { return product_.head_count * product_.m * product_.n; }
  double operations() const { return 2.0 * static_cast<double>(Results()) * static_cast<double>(product_.k); }

  /// Looks at some results, and then makes all of them wrong, so that the next launch cannot live on them.
  bool IsRight() const {
    constexpr Index kSamples = 64;
    std::vector<float> results(static_cast<std::size_t>(Results()));
    session_.Download(product_.c.buffer, 0, 1, Results(), results.data(), Results());
    session_.CopyRows({wrong_, 0}, Results(), {product_.c.buffer, 0}, Results(), 1, Results());
    // A number that is rounded to 16 bits is off by at most 2^-11 of itself.
    const double unit = HasHalves(session_.precision()) ? 0x1p-11 : 1e-6;
    const double tolerance = unit * static_cast<double>(product_.k);
    for (Index i = 0; i < kSamples; ++i) {
      const Index at = i * 7919 * 7919 % Results();
      if (!(std::abs(results[static_cast<std::size_t>(at)] - Expected(at)) <= tolerance)) return false;
    }
    return true;
  }

 private:
  double Expected(Index at) const {
    const Index m = product_.m, n = product_.n, k = product_.k, head = at / (m * n), column = at % n;
    const float* const a = a_.data() + at / n * k;
    const float* const b = b_.data() + head * n * k + (product_.b_columns ? column * k : column);
    const Index step = product_.b_columns ? 1 : n;
    double sum = 0.0;
    for (Index d = 0; d < k; ++d) sum += static_cast<double>(a[d]) * static_cast<double>(b[d * step]);
    return sum;
  }

  Session& session_;
  std::vector<float> a_, b_;
  Memory b_rounded_;
  Product product_;
  Memory wrong_;
};

/// A product that is large enough to keep a fast device busy, and takes a slow one some milliseconds.
std::shared_ptr<const ProductTrial> LargeTrial(Session& session) {
  constexpr double kSeconds = 4e-3;
  constexpr Index kMost = 4096, kTileArea = 64 * 64;
  for (Index size = 256;; size *= 2) {
    if (size * size < 4 * session.compute_units() * kTileArea) continue;  // that would be a product of kMiddle
    const auto trial = std::make_shared<const ProductTrial>(session, size, size, size, 1, true);
    const auto launch = [&] { Multiply(session, trial->product()); };
    SecondsOf(session, launch, 1);
    if (size >= kMost || SecondsOf(session, launch, 1) > kSeconds) return trial;
  }
}

/// A product of `rows` rows, as layers have it, with `tiles_of_unit` tiles of 64 columns for each compute unit.
std::shared_ptr<const ProductTrial> LayerTrial(Session& session, Index rows, Index tiles_of_unit) {
  const Index columns = std::min<Index>(64 * tiles_of_unit * session.compute_units(), 8192);
  return std::make_shared<const ProductTrial>(session, rows, columns, 1024, 1, true);
}

/// With few rows the products are those of a layer for one token, with more weights than the caches of a GPU hold, and
/// of one token's attention weights with the values of 4096 keys.
std::shared_ptr<const ProductTrial> MakeTrial(Session& session, ProductKind kind) {
  const Index columns = session.is_cpu() ? 1024 : 16384;
  switch (kind) {
    case ProductKind::kLarge:
      return LargeTrial(session);
    case ProductKind::kMiddle:
      return LayerTrial(session, 128, 1);
    case ProductKind::kSmall:
      return LayerTrial(session, 32, 2);
    case ProductKind::kFewAlongDepth:
      return std::make_shared<const ProductTrial>(session, 1, columns, 2048, 1, true);
    case ProductKind::kFewAlongColumns:
      return std::make_shared<const ProductTrial>(session, 1, 64, 4096, 16, false);
  }
  return nullptr;
}

/// launch(session, product, candidate) starts one of the candidates.
using LaunchProduct = std::function<void(Session&, const Product&, std::size_t)>;

Contest ContestOf(const Tunable& tunable, ProductKind kind, const LaunchProduct& launch) {
  return {.tunable = &tunable, .trial = [=](Session& session) -> Trial {
            const std::shared_ptr<const ProductTrial> trial = MakeTrial(session, kind);
            return {.operations = trial->operations(),
                    .launch = [&session, trial, launch](std::size_t i) { launch(session, trial->product(), i); },
                    .is_right = [trial] { return trial->IsRight(); }};
          }};
}

template <class Candidate>
Contest ContestOf(ProductKind kind, std::span<const Candidate> candidates) {
  return ContestOf(TunableOf(kind), kind, [candidates](Session& session, const Product& product, std::size_t i) {
    Multiply(session, product, candidates[i]);
  });
}

}  // namespace

std::vector<Contest> ProductContests() {
  return {ContestOf(ProductKind::kLarge, Tiles()), ContestOf(ProductKind::kMiddle, Tiles()),
          ContestOf(ProductKind::kSmall, Tiles()), ContestOf(ProductKind::kFewAlongDepth, LanesFor(true)),
          ContestOf(ProductKind::kFewAlongColumns, LanesFor(false))};
}

std::vector<Contest> WarpContests(Precision precision) {
  const std::span<const WarpTile> tiles = WarpTiles();
  std::vector<Contest> contests;
  for (const ProductKind kind : kWarpKinds)
    contests.push_back(ContestOf(
        WarpTunableOf(precision, kind), kind, [tiles](Session& session, const Product& product, std::size_t i) {
          i < tiles.size() ? Multiply(session, product, tiles[i]) : MultiplyWithoutUnits(session, product);
        }));
  return contests;
}

}  // namespace headlens::opencl
