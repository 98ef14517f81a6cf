// SPDX-License-Identifier: Apache-2.0
/// Which kernels compete for products, and over which problems.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>

#include "opencl/attention/online.h"
#include "opencl/matrix/matrix.h"

namespace headlens::opencl {
namespace {

/// Those for GPUs from the largest to the smallest: each asks for less than the one before. Then one for CPUs, in long
/// vectors of which few items do all. The last runs on everything that OpenCL allows.
constexpr Tile kTiles[] = {
    {128, 128, 16, 8, 8, 4, 2}, {128, 128, 8, 8, 8, 4, 2},  {128, 64, 16, 8, 8, 4, 2}, {64, 64, 16, 4, 4, 4, 2},
    {64, 64, 16, 4, 4, 4, 1},   {64, 64, 16, 8, 8, 4, 2},   {32, 64, 16, 4, 4, 4, 2},  {32, 32, 16, 4, 4, 4, 2},
    {32, 32, 8, 4, 4, 4, 1},    {64, 64, 32, 4, 32, 16, 1}, {8, 8, 8, 8, 8, 4, 1},
};

/// For B [n, k]: lanes go along the depth, a line has `work` columns.
constexpr Lanes kAlongDepth[] = {{32, 8, 4}, {32, 4, 4}, {32, 4, 2}, {16, 8, 4}, {16, 4, 2}, {1, 1, 4}};

/// For B [k, n]: lanes go along the columns, lines along the depth.
constexpr Lanes kAlongColumns[] = {{32, 8, 4}, {16, 16, 4}, {16, 8, 4}, {16, 4, 2}, {8, 8, 4}, {1, 1, 4}};

/// What is read of memory at once.
constexpr Index kRead = 4;

/// Every item reads as many vectors as every other, and its rows and columns are whole vectors of local memory.
constexpr bool IsWhole(const Tile& t) {
  return t.m * t.depth % (t.items() * kRead) == 0 && t.n * t.depth % (t.items() * kRead) == 0 && t.depth % kRead == 0 &&
         t.work_n % t.wide == 0 && (t.wide != 4 || t.work_m % 4 == 0);
}
static_assert(std::all_of(std::begin(kTiles), std::end(kTiles), IsWhole));

/// Indices of candidates. Tiles: NVIDIA has registers for 64 sums of an item and double buffers; AMD runs 64 items as
/// one, in groups of few; Intel and Apple have fewer registers, and Apple 32 KiB of local memory; the local memory of
/// phones is slow or no more than a cache, and their registers are few. A CPU's items are loops between barriers.
constexpr std::size_t kPresets[][kFamilies] = {
    // NVIDIA, AMD, Intel, Apple, mobile, CPU, others
    {0, 2, 3, 3, 8, 9, 4},  // kLarge
    {3, 3, 6, 4, 8, 9, 4},  // kMiddle
    {6, 7, 7, 7, 8, 9, 7},  // kSmall
    {1, 1, 3, 1, 4, 5, 3},  // kFewAlongDepth
    {1, 1, 2, 2, 3, 5, 2},  // kFewAlongColumns
};

constexpr bool AreCandidates(ProductKind kind, std::size_t count) {
  for (std::size_t family = 0; family < kFamilies; ++family)
    if (kPresets[static_cast<std::size_t>(kind)][family] >= count) return false;
  return true;
}
static_assert(AreCandidates(ProductKind::kLarge, std::size(kTiles)) &&
              AreCandidates(ProductKind::kMiddle, std::size(kTiles)) &&
              AreCandidates(ProductKind::kSmall, std::size(kTiles)) &&
              AreCandidates(ProductKind::kFewAlongDepth, std::size(kAlongDepth)) &&
              AreCandidates(ProductKind::kFewAlongColumns, std::size(kAlongColumns)));

std::string Joined(std::initializer_list<Index> values) {
  std::string text;
  for (const Index value : values) {
    if (!text.empty()) text += 'x';
    text += std::to_string(value);
  }
  return text;
}

/// Evenly from -1 to 1, the same each time.
std::vector<float> Numbers(Index count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525 + 1013904223;
    number = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return numbers;
}

/// A product, and what some of its results should be.
class ProductTrial {
 public:
  ProductTrial(Session& session, Index m, Index n, Index k, Index heads, bool b_columns)
      : session_(session), a_(Numbers(heads * m * k)), b_(Numbers(heads * k * n)) {
    const Heads all{0, heads, 1};
    product_ = {
        .a = {session.Upload(std::span<const float>(a_)), DensePlace(all, m, k)},
        .b = {session.Upload(std::span<const float>(b_)), b_columns ? DensePlace(all, n, k) : DensePlace(all, k, n)},
        .c = {session.Allocate<float>(heads * m * n), DensePlace(all, m, n)},
        .m = m,
        .n = n,
        .k = k,
        .b_columns = b_columns,
        .heads = all,
        .head_count = heads,
        .rounds = true};
    const std::vector<float> wrong(static_cast<std::size_t>(Results()), std::nanf(""));
    wrong_ = session.Upload(std::span<const float>(wrong));
    session.CopyRows({wrong_, 0}, Results(), {product_.c.buffer, 0}, Results(), 1, Results());
  }

  const Product& product() const { return product_; }
  Index Results() const { return product_.head_count * product_.m * product_.n; }
  double operations() const { return 2.0 * static_cast<double>(Results()) * static_cast<double>(product_.k); }

  /// Then makes the results wrong, so that the next launch cannot live on them.
  bool IsRight() const {
    constexpr Index kSamples = 64;
    std::vector<float> results(static_cast<std::size_t>(Results()));
    session_.Download(product_.c.buffer, 0, 1, Results(), results.data(), Results());
    session_.CopyRows({wrong_, 0}, Results(), {product_.c.buffer, 0}, Results(), 1, Results());
    // What is rounded to 16 bits is off by 2^-11 of itself.
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
  Product product_;
  Memory wrong_;
};

Trial TrialOf(Session& session, const std::shared_ptr<const ProductTrial>& trial, const LaunchProduct& launch) {
  return {.operations = trial->operations(),
          .launch = [&session, trial, launch](std::size_t i) { launch(session, trial->product(), i); },
          .is_right = [trial] { return trial->IsRight(); }};
}

Index Units(const Session& session) { return static_cast<Index>(session.device().compute_units); }

/// Large enough that a slow device takes some milliseconds, and a fast one shows what it can.
std::shared_ptr<const ProductTrial> LargeTrial(Session& session) {
  constexpr double kSeconds = 4e-3;
  constexpr Index kMost = 4096, kTileArea = 64 * 64;
  for (Index size = 256;; size *= 2) {
    if (size * size < 4 * Units(session) * kTileArea) continue;  // that would be a product of the middle
    const auto trial = std::make_shared<const ProductTrial>(session, size, size, size, 1, true);
    const auto launch = [&] { Multiply(session, trial->product()); };
    SecondsOf(session, launch, 1);
    if (size >= kMost || SecondsOf(session, launch, 1) > kSeconds) return trial;
  }
}

/// So many rows of 64 columns for each compute unit, as layers have them.
std::shared_ptr<const ProductTrial> LayerTrial(Session& session, Index rows, Index tiles_of_unit) {
  const Index columns = std::min<Index>(64 * tiles_of_unit * Units(session), 8192);
  return std::make_shared<const ProductTrial>(session, rows, columns, 1024, 1, true);
}

/// For few rows: a layer's weights for one token, more of them than caches hold on a GPU; and what attention does with
/// one token's weights of 4096 keys.
std::shared_ptr<const ProductTrial> MakeTrial(Session& session, ProductKind kind) {
  const Index columns = session.device().type == "CPU" ? 1024 : 16384;
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

template <class Candidate, class F>
Tunable TunableOf(ProductKind kind, const char* name, std::span<const Candidate> candidates, const F& fits) {
  const LaunchProduct launch = [candidates](Session& session, const Product& product, std::size_t i) {
    Multiply(session, product, candidates[i]);
  };
  Tunable tunable{
      .name = name,
      .candidates = {},
      .fits = [=](const Session& session, std::size_t i) { return fits(session, candidates[i]); },
      .preset =
          [=](Family family) { return kPresets[static_cast<std::size_t>(kind)][static_cast<std::size_t>(family)]; },
      .trial = [=](Session& session) { return ProductTrialOf(session, kind, launch); }};
  for (const Candidate& candidate : candidates) tunable.candidates.push_back(NameOf(candidate));
  return tunable;
}

std::vector<Tunable> AllOfProducts() {
  const auto tile_fits = [](const Session& session, const Tile& tile) { return Fits(session, tile); };
  const auto lanes_fit = [](bool b_columns) {
    return [=](const Session& session, const Lanes& lanes) { return Fits(session, lanes, b_columns); };
  };
  return {TunableOf(ProductKind::kLarge, "product.large", Tiles(), tile_fits),
          TunableOf(ProductKind::kMiddle, "product.middle", Tiles(), tile_fits),
          TunableOf(ProductKind::kSmall, "product.small", Tiles(), tile_fits),
          TunableOf(ProductKind::kFewAlongDepth, "product.few-along-depth", LanesFor(true), lanes_fit(true)),
          TunableOf(ProductKind::kFewAlongColumns, "product.few-along-columns", LanesFor(false), lanes_fit(false))};
}

}  // namespace

Trial ProductTrialOf(Session& session, ProductKind kind, const LaunchProduct& launch) {
  return TrialOf(session, MakeTrial(session, kind), launch);
}

std::span<const Tile> Tiles() { return kTiles; }

std::span<const Lanes> LanesFor(bool b_columns) {
  return b_columns ? std::span<const Lanes>(kAlongDepth) : std::span<const Lanes>(kAlongColumns);
}

std::string NameOf(const Tile& t) {
  return "tile " + Joined({t.m, t.n, t.depth}) + " work " + Joined({t.work_m, t.work_n}) + " wide " + Joined({t.wide}) +
         " buffers " + Joined({t.buffers});
}

std::string NameOf(const Lanes& l) { return "items " + Joined({l.lanes, l.lines}) + " work " + std::to_string(l.work); }

bool Fits(const Session& session, const Tile& t) {
  return t.items() <= session.group_items() && t.local_memory() <= session.local_memory();
}

bool Fits(const Session& session, const Lanes& l, bool b_columns) {
  return l.items() <= session.group_items() && l.local_memory(b_columns) <= session.local_memory();
}

std::span<const Tunable> ProductTunables() {
  static const std::vector<Tunable> all = AllOfProducts();
  return all;
}

}  // namespace headlens::opencl
