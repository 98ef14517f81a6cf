// SPDX-License-Identifier: Apache-2.0
/// The kernels for matrix units, which a device emulates unless it is NVIDIA's: single instructions, products and fused
/// attention, each against fp64.
#include <cmath>
#include <memory>

#include "opencl/matrix/mma_probe.h"
#include "opencl/matrix/warp_tile.h"
#include "opencl/opencl.h"
#include "opencl/tune.h"
#include "random_problem.h"

namespace headlens::testing {
namespace {

using opencl::Precision;

constexpr Precision kPrecisions[] = {Precision::kTf32x3, Precision::kFp16, Precision::kBf16};

/// The relative error of the operands of a precision; for kTf32x3, that of a product.
double Unit(Precision precision) {
  return precision == Precision::kTf32x3 ? 5 * 0x1p-22 : precision == Precision::kFp16 ? 0x1p-11 : 0x1p-8;
}

/// Rounds to the nearest number of that precision, and to the even one of two.
float Rounded(float x, Precision precision) {
  if (precision == Precision::kTf32x3) return x;
  const bool half = precision == Precision::kFp16;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double step = std::ldexp(1.0, half ? std::max(exponent - 11, -24) : exponent - 8);
  return static_cast<float>(std::nearbyint(x / step) * step);
}

void Round(std::span<float> values, Precision precision) {
  for (float& x : values) x = Rounded(x, precision);
}

bool OnNvidia() { return opencl::FindDevice("").vendor.find("NVIDIA") != std::string::npos; }

opencl::Settings Wanting(Precision precision) { return {.precision = precision, .emulate_matrix_units = !OnNvidia()}; }

/// One for each precision, for all tests: compiling takes long.
opencl::Session& SessionOf(Precision precision) {
  static std::unique_ptr<opencl::Session> sessions[4];
  auto& session = sessions[static_cast<int>(precision)];
  if (!session) session = std::make_unique<opencl::Session>(Wanting(precision));
  return *session;
}

TEST_CASE("OpenCL matrix units: an instruction multiplies as its layout of lanes has it") {
  Random random(21);
  for (const Precision precision : kPrecisions) {
    CAPTURE(static_cast<int>(precision));
    const Index depth = precision == Precision::kTf32x3 ? 8 : 16;
    const Tensor left = random.NormalTensor({16, depth}), right = random.NormalTensor({depth, 16}, 1e-3f);
    const opencl::MmaResult got = opencl::MultiplyOnce(SessionOf(precision), left.values(), right.values());
    CHECK(got.ways);
    for (Index i = 0; i < 16; ++i) {
      float most = -INFINITY;
      double total = 0.0;
      for (Index j = 0; j < 16; ++j) {
        double sum = 0.0, magnitude = 0.0;
        for (Index d = 0; d < depth; ++d) {
          const double term = static_cast<double>(Rounded(left.data()[i * depth + d], precision)) *
                              static_cast<double>(Rounded(right.data()[d * 16 + j], precision));
          sum += term;
          magnitude += std::abs(term);
        }
        const float product = got.product[static_cast<std::size_t>(i * 16 + j)];
        // Rounded operands multiply exactly.
        const double products = precision == Precision::kTf32x3 ? Unit(precision) : 0.0;
        CHECK(std::abs(product - sum) <= (products + 8 * kEpsilon) * magnitude);
        if (j >= 8) continue;
        most = std::max(most, product);
        total += product;
      }
      CHECK(got.maxima[static_cast<std::size_t>(i)] == most);
      CHECK(std::abs(got.totals[static_cast<std::size_t>(i)] - total) <= 8 * kEpsilon * std::abs(most) * 8);
    }
  }
}

TEST_CASE("OpenCL matrix units: the probe finds NVIDIA's, since Ampere, and what is emulated") {
  for (const Precision precision : kPrecisions) CHECK(HasMatrixUnits(SessionOf(precision)));
  opencl::Session not_emulating({.precision = Precision::kFp16});
  CHECK(HasMatrixUnits(not_emulating) == OnNvidia());
  opencl::Session not_asked({.emulate_matrix_units = true});
  CHECK_FALSE(HasMatrixUnits(not_asked));
}

/// A product of heads whose rows have gaps, and what it is in fp64.
class RandomProduct {
 public:
  RandomProduct(Random& random, Index heads, Index m, Index n, Index k, bool b_columns, DType type = DType::kF32)
      : heads_(heads),
        m_(m),
        n_(n),
        k_(k),
        b_columns_(b_columns),
        type_(type),
        a_(random.NormalTensor({heads, m, k + 1})),
        b_(random.NormalTensor({heads * (b_columns ? n : k), RowOfB(n, k, b_columns, type)})),
        bias_(random.NormalTensor({n})) {
    if (type == DType::kF32) return;
    Round(b_.values(), Precision::kBf16);
    for (const float x : b_.values())
      bits_.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
  }

  /// Rows are multiples of 4, as a ring takes floats, where k + 1 is, and n where it counts.
  static Index RowOfB(Index n, Index k, bool b_columns, DType type) {
    if (!b_columns) return n + 4;
    return type == DType::kF32 ? k + 1 : k + 4;
  }

  float* a() { return a_.data(); }
  float& b(Index z, Index d, Index j) {
    const Index row = b_columns_ ? z * n_ + j : z * k_ + d;
    return b_.data()[row * b_.shape()[1] + (b_columns_ ? d : j)];
  }

  /// The product's rows, and nothing but these written: a frame of one number on each side. launch(product) computes
  /// it.
  template <class F>
  std::vector<float> Solve(opencl::Session& session, const F& launch) {
    std::vector<float> c(static_cast<std::size_t>(heads_ * m_ * (n_ + 1)), 7.0f);
    const opencl::Memory buffer = session.Upload(std::span<const float>(c));
    const Index b_row = b_.shape()[1];
    const opencl::Memory b = type_ == DType::kF32 ? session.Upload(std::span<const float>(b_.values()))
                                                  : session.Upload(std::span<const std::uint16_t>(bits_));
    launch({.a = {session.Upload(std::span<const float>(a_.values())), {0, 0, m_ * (k_ + 1), 0, k_ + 1}},
            .b = {b, {0, 0, (b_columns_ ? n_ : k_) * b_row, 0, b_row}},
            .c = {buffer, {0, 0, m_ * (n_ + 1), 0, n_ + 1}},
            .m = m_,
            .n = n_,
            .k = k_,
            .b_columns = b_columns_,
            .b_type = type_,
            .bias = session.Upload(std::span<const float>(bias_.values())),
            .heads = {0, heads_, 1},
            .head_count = heads_,
            .rounds = true});
    session.DownloadBytes(buffer, 0, static_cast<Index>(c.size() * sizeof(float)), c.data());
    return c;
  }
  std::vector<float> Solve(opencl::Session& session) {
    return Solve(session, [&](const opencl::Product& p) { CHECK(opencl::MultiplyOnMatrixUnits(session, p)); });
  }
  std::vector<float> Solve(opencl::Session& session, const opencl::WarpTile& tile) {
    return Solve(session, [&](const opencl::Product& p) { opencl::Multiply(session, p, tile); });
  }

  void Check(Precision precision, const std::vector<float>& got) {
    double worst = 0.0;
    for (Index z = 0; z < heads_; ++z)
      for (Index i = 0; i < m_; ++i)
        for (Index j = 0; j <= n_; ++j) {
          const float c = got[static_cast<std::size_t>((z * m_ + i) * (n_ + 1) + j)];
          if (j == n_) {
            if (c != 7.0f) FAIL("written beyond a row");
            continue;
          }
          double sum = bias_.data()[j], magnitude = std::abs(sum);
          for (Index d = 0; d < k_; ++d) {
            const double x = a_.data()[(z * m_ + i) * (k_ + 1) + d], y = b(z, d, j);
            sum += x * y;
            magnitude += std::abs(x * y);
          }
          if (std::isfinite(sum)) {
            // Both operands are rounded, or the product of parts is not whole; and sums of fp32 are as anywhere.
            const double bound = 2.5 * Unit(precision) + std::sqrt(static_cast<double>(k_) + 16) * kEpsilon;
            worst = std::max(worst, std::abs(c - sum) / (bound * magnitude + 0x1p-24 * static_cast<double>(k_)));
          } else {
            CHECK((std::isnan(sum) ? std::isnan(c) : static_cast<double>(c) == sum));
          }
        }
    CHECK(worst <= 1.0);
  }

 private:
  Index heads_, m_, n_, k_;
  bool b_columns_;
  DType type_;
  Tensor a_, b_, bias_;
  std::vector<std::uint16_t> bits_;
};

TEST_CASE("OpenCL matrix units: products of any size, both ways, in every precision") {
  Random random(22);
  // A tile alone is a small one, many are large on a device that has no more compute units.
  // Floats whose rows are multiples of 4, as each k + 1 is or is not, go through a ring.
  constexpr Index kSizes[][4] = {{1, 16, 1, 1}, {1, 63, 64, 35}, {1, 17, 9, 3}, {5, 130, 129, 34}};
  for (const Precision precision : kPrecisions)
    for (const bool b_columns : {true, false})
      for (const auto& sizes : kSizes) {
        const Index heads = sizes[0], m = sizes[1], n = sizes[2], k = sizes[3];
        // The precisions differ in how they round, the sizes and ways in where things are: not all with all.
        if (precision != Precision::kTf32x3 && (heads == 1) != b_columns) continue;
        if (precision == Precision::kBf16 && heads > 1) continue;
        CAPTURE(static_cast<int>(precision));
        CAPTURE(b_columns);
        CAPTURE(m);
        RandomProduct product(random, heads, m, n, k, b_columns);
        product.Check(precision, product.Solve(SessionOf(precision)));
      }
}

TEST_CASE("OpenCL matrix units: every tile, those with a ring with more slices than stages and fewer, both ways") {
  Random random(30);
  // Each k + 1 is a multiple of 4, so that floats are not left to a tile without a ring.
  constexpr Index kSizes[][4] = {{2, 17, 24, 3}, {1, 130, 136, 131}, {1, 300, 20, 63}};
  for (const Precision precision : kPrecisions)
    for (const opencl::WarpTile& tile : opencl::WarpTiles()) {
      CAPTURE(static_cast<int>(precision));
      CAPTURE(NameOf(tile));
      opencl::Session& session = SessionOf(precision);
      REQUIRE(Fits(session, tile));
      for (const auto& sizes : kSizes)
        for (const bool b_columns : {true, false}) {
          const Index k = sizes[3], n = sizes[2];
          if (precision == Precision::kBf16 && (b_columns || k > 100)) continue;
          // Other cases have tiles without a ring in both ways.
          if (tile.stages == 0 && (k < 100 || b_columns != (precision == Precision::kTf32x3))) continue;
          CAPTURE(k);
          CAPTURE(b_columns);
          RandomProduct product(random, sizes[0], sizes[1], n, k, b_columns);
          product.Check(precision, product.Solve(session, tile));
        }
    }
}

TEST_CASE("OpenCL matrix units: a product that no ring can take has a tile without one") {
  Random random(31);
  const opencl::WarpTile& ring = opencl::WarpTiles()[0];
  REQUIRE(ring.stages > 0);
  RandomProduct product(random, 1, 20, 9, 6, /*b_columns=*/true);
  product.Check(Precision::kTf32x3, product.Solve(SessionOf(Precision::kTf32x3), ring));
}

TEST_CASE("OpenCL matrix units: the errors of long sums do not add up") {
  // The numbers are positive, since matrix units cut sums off: each error makes them smaller.
  Random random(32);
  const auto make_positive = [](float& x) { x = std::abs(x) + 0.5f; };
  constexpr Index kRows = 16, kDepth = 4095;  // with rows that a ring takes
  opencl::Session& session = SessionOf(Precision::kTf32x3);
  // The smallest tile with a ring, and the smallest without: an emulation computes whole tiles.
  const std::span<const opencl::WarpTile> tiles = opencl::WarpTiles();
  const auto direct = std::find_if(tiles.begin(), tiles.end(), [](const auto& tile) { return tile.stages == 0; });
  REQUIRE(direct != tiles.begin());
  for (const opencl::WarpTile& tile : {*std::prev(direct), tiles.back()}) {
    CAPTURE(NameOf(tile));
    RandomProduct product(random, 1, kRows, kRows, kDepth, /*b_columns=*/true);
    for (Index d = 0; d < kDepth; ++d)
      for (Index i = 0; i < kRows; ++i) {
        make_positive(product.a()[i * (kDepth + 1) + d]);
        make_positive(product.b(0, d, i));
      }
    product.Check(Precision::kTf32x3, product.Solve(session, tile));
  }
  RandomProblem r = PlainProblem(random, {1, 1, 1, 20, kDepth, 20, 24});
  for (float& x : r.v.values()) make_positive(x);
  const auto backend = opencl::MakeBackend(Wanting(Precision::kTf32x3));
  const AllResults got(r.problem), expected = PlainAttention(r.problem);
  AttentionResults only;
  only.output = got.output.view<4>();
  backend->Attention(r.problem, only);
  CheckClose("output", got.output.values(), expected.output.values(), 2e-5);
}

TEST_CASE("OpenCL matrix units: products keep what they have rounded of B") {
  Random random(32);
  opencl::Session& session = SessionOf(Precision::kFp16);
  RandomProduct product(random, 1, 40, 30, 50, /*b_columns=*/true);
  opencl::Memory kept;
  const auto solve = [&] {
    return product.Solve(session, [&](opencl::Product p) {
      p.b_rounded = &kept;
      opencl::Multiply(session, p, opencl::WarpTiles()[2]);
    });
  };
  const std::vector<float> first = solve();
  REQUIRE(kept);
  const opencl::Memory rounded = kept;
  CHECK(solve() == first);
  CHECK(kept == rounded);
  product.Check(Precision::kFp16, first);
}

TEST_CASE("OpenCL matrix units: products with weights of 16 bits") {
  Random random(23);
  RandomProduct product(random, 1, 40, 30, 50, /*b_columns=*/true, DType::kBF16);
  product.Check(Precision::kBf16, product.Solve(SessionOf(Precision::kBf16)));
  const opencl::WarpTile& ring = opencl::WarpTiles()[2];
  for (const Index k : {50, 52}) {  // with rows of 56 numbers there is nothing to round
    RandomProduct by_ring(random, 1, 40, 30, k, /*b_columns=*/true, DType::kBF16);
    by_ring.Check(Precision::kBf16, by_ring.Solve(SessionOf(Precision::kBf16), ring));
  }
  RandomProduct by_halves(random, 1, 40, 30, 52, /*b_columns=*/true, DType::kBF16);
  by_halves.Check(Precision::kFp16, by_halves.Solve(SessionOf(Precision::kFp16), ring));
}

TEST_CASE("OpenCL matrix units: infinite, large and missing numbers are as in fp32") {
  Random random(24);
  for (const Precision precision : kPrecisions) {
    CAPTURE(static_cast<int>(precision));
    RandomProduct product(random, 2, 17, 9, 3, /*b_columns=*/true);
    product.a()[0] = INFINITY;
    product.a()[1 * 4] = 3.4e38f;  // rounds to infinity
    product.a()[2 * 4] = NAN;
    product.a()[3 * 4] = 1e5f;  // is more than fp16 has
    for (Index j = 0; j < 9; ++j) product.b(0, 0, j) = j % 2 == 0 ? 0.5f : -0.25f;
    product.b(1, 2, 5) = -INFINITY;
    product.Check(precision, product.Solve(SessionOf(precision)));
    product.Check(precision, product.Solve(SessionOf(precision), opencl::WarpTiles()[2]));
  }
}

TEST_CASE("OpenCL matrix units: linear layers and fused attention round only where they were asked to") {
  Random random(25);
  RandomProblem r = PlainProblem(random, {1, 1, 2, 20, 30, 24, 24});
  const Tensor x = random.NormalTensor({20, 24}), w = random.NormalTensor({30, 24});
  Tensor expected({20, 30});
  ReferenceBackend().Linear(x.view<2>(), *ReferenceBackend().PackLinear(w.view<2>(), {}), expected.view<2>());
  const auto furthest = [](std::span<const float> got, std::span<const float> right) {
    double worst = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(right[i])));
    return worst;
  };
  const AllResults attended = PlainAttention(r.problem);
  const auto check = [&](Precision precision, double least, double most) {
    CAPTURE(static_cast<int>(precision));
    const auto backend = opencl::MakeBackend(Wanting(precision));
    Tensor y({20, 30});
    backend->Linear(x.view<2>(), *backend->PackLinear(w.view<2>(), {}), y.view<2>());
    const AllResults alone(r.problem), all(r.problem);
    AttentionResults only;
    only.output = alone.output.view<4>();
    backend->Attention(r.problem, only);
    for (const double error :
         {furthest(y.values(), expected.values()), furthest(alone.output.values(), attended.output.values())}) {
      CHECK(error >= least);
      CHECK(error <= most);
    }
    backend->Attention(r.problem, all.views());  // maps are never rounded
    CheckResults(r, all, attended);
  };
  check(Precision::kTf32x3, 0.0, 1e-5);
  check(Precision::kBf16, 1e-4, 0.2);
}

/// The output and ln Σ exp of a problem whose inputs have been rounded, against those in fp64.
void CheckFused(const Backend& backend, Precision precision, RandomProblem& r) {
  for (Tensor* tensor : {&r.q, &r.k, &r.v}) Round(tensor->values(), precision);
  const AllResults got(r.problem), expected = PlainAttention(r.problem);
  AttentionResults only;
  only.output = got.output.view<4>();
  only.lse = got.lse.view<3>();
  backend.Attention(r.problem, only);
  const Tolerances tolerances(r, expected);
  // Weights are rounded too.
  const double rounding = precision == Precision::kTf32x3 ? 0.0 : 2 * Unit(precision) * MaxNorm(r.v.values());
  double factor = 1.0;
  if (r.problem.head_mask) factor = std::max(factor, MaxNorm(r.head_mask.values()));
  CheckClose("output", got.output.values(), expected.output.values(), tolerances.output + rounding * factor);
  CheckClose("lse", got.lse.values(), expected.lse.values(), tolerances.lse);
}

TEST_CASE("OpenCL matrix units: fused attention of random problems") {
  for (const Precision precision : {Precision::kTf32x3, Precision::kFp16}) {
    const auto backend = opencl::MakeBackend(Wanting(precision));
    Random random(26);
    for (int round = 0; round < 60; ++round) {
      CAPTURE(static_cast<int>(precision));
      CAPTURE(round);
      ProblemSizes sizes = DrawSizes(random);
      sizes.value_width = std::min<Index>(sizes.value_width, 32);  // one program
      RandomProblem r = DrawProblem(random, sizes);
      if (r.problem.mask.appended_keys > 0) continue;
      r.problem.normalizer.kind = NormalizerKind::kSoftmax;
      r.problem.dropout_p = 0.0;
      r.problem.fully_masked = FullyMasked::kZero;
      r.problem.masked_nan = MaskedNan::kBlocked;
      CheckFused(*backend, precision, r);
    }
  }
}

TEST_CASE("OpenCL matrix units: fused attention over tiles of keys and every width") {
  enum Kind { kPlain, kCausal, kWindow, kBiased };
  for (const Precision precision : {Precision::kTf32x3, Precision::kFp16}) {
    const auto backend = opencl::MakeBackend(Wanting(precision));
    Random random(27);
    for (const Index width : {20, 50, 100})
      for (const Kind kind : {kPlain, kCausal, kWindow, kBiased}) {
        if (kind == kBiased && (width != 50 || precision != Precision::kTf32x3)) continue;
        CAPTURE(static_cast<int>(precision));
        CAPTURE(width);
        CAPTURE(static_cast<int>(kind));
        const Index value_width = kind == kPlain ? width + 4 : width + 3;  // in 16 bytes each, or not
        const Index heads = width == 50 ? 2 : 1;
        RandomProblem r = PlainProblem(random, {1, 1, heads, 150, 170, width, value_width});
        Mask& mask = r.problem.mask;
        mask.causal = kind == kCausal || kind == kBiased;
        r.problem.query_offset = kind == kCausal ? 20 : 0;
        if (kind == kWindow) mask.window_left = 40, mask.window_right = 9;
        if (kind == kBiased) {
          r.problem.softcap = 3.0f;
          r.additive = random.NormalTensor({1, 1, 150, 170});
          mask.additive = r.additive.view<4>();
          mask.additive.strides[1] = 0;
          mask.additive.shape[1] = 2;
        }
        CheckFused(*backend, precision, r);
      }
  }
}

TEST_CASE("OpenCL matrix units: a negative scale, one of nothing, and one that no score survives") {
  for (const Precision precision : {Precision::kTf32x3, Precision::kFp16}) {
    const auto backend = opencl::MakeBackend(Wanting(precision));
    Random random(29);
    for (const float scale : {-0.3f, 0.0f, 1e-30f}) {
      CAPTURE(static_cast<int>(precision));
      CAPTURE(scale);
      RandomProblem r = PlainProblem(random, {1, 1, 1, 20, 30, 20, 24});
      r.problem.mask.causal = true;
      r.problem.scale = scale;
      CheckFused(*backend, precision, r);
    }
  }
}

TEST_CASE("OpenCL matrix units: they have to win the race against the ordinary kernels") {
  // An emulated unit never does.
  const auto race = [](Precision precision, const char* name) {
    CAPTURE(name);
    opencl::Session& session = SessionOf(precision);
    if (!session.settings().emulate_matrix_units) return;
    const std::vector<opencl::Contest> contests = opencl::Contests(session);
    const auto it = std::find_if(contests.begin(), contests.end(),
                                 [&](const opencl::Contest& contest) { return contest.tunable->name == name; });
    REQUIRE(it != contests.end());
    std::vector<std::string> tried;
    const auto note = [&](const opencl::TuningStep& step) { tried.push_back(step.candidate); };
    const opencl::TuningResult result = Race(session, *it, note);
    CHECK(tried == it->tunable->candidates);
    CHECK(result.chosen == tried.back());
    CHECK(result.untuned_gflops > 0.0);  // it was right
  };
  // The products are the larger of these problems, and the emulation multiplies three times for kTf32x3.
  race(Precision::kTf32x3, "tf32x3.attention-32");
  race(Precision::kFp16, "16-bit.product.small");
  opencl::Session in_fp32({});
  for (const opencl::Contest& contest : opencl::Contests(in_fp32)) {
    CHECK_FALSE(contest.tunable->name.starts_with("tf32x3."));
    CHECK_FALSE(contest.tunable->name.starts_with("16-bit."));
  }
}

/// Values that 16 bits do not hold, or that are no numbers.
constexpr std::pair<Tensor RandomProblem::*, float> kExtremes[] = {
    {&RandomProblem::k, 1e5f}, {&RandomProblem::k, -INFINITY}, {&RandomProblem::q, INFINITY},
    {&RandomProblem::q, NAN},  {&RandomProblem::v, 3e5f},      {&RandomProblem::v, NAN}};

TEST_CASE("OpenCL matrix units: attention that is infinite, or too large for 16 bits, is as in fp32") {
  Random random(28);
  for (const Precision precision : {Precision::kTf32x3, Precision::kFp16}) {
    const auto backend = opencl::MakeBackend(Wanting(precision));
    for (const auto& extreme : kExtremes) {
      const auto tensor = extreme.first;
      const float value = extreme.second;
      CAPTURE(static_cast<int>(precision));
      CAPTURE(value);
      RandomProblem r = PlainProblem(random, {1, 1, 1, 5, 7, 4, 4});
      for (float& x : r.q.values()) x = std::abs(x);
      r.problem.mask.causal = true;  // so that a row sees nothing else
      (r.*tensor).values()[0] = value;
      const AllResults got(r.problem), expected(r.problem);
      const auto solve = [&](const Backend& on, const AllResults& all) {
        AttentionResults only;
        only.output = all.output.view<4>();
        only.lse = all.lse.view<3>();
        on.Attention(r.problem, only);
      };
      solve(*backend, got);
      solve(ReferenceBackend(), expected);
      const double tolerance = 256 * kEpsilon;
      CheckClose("output", got.output.values(), expected.output.values(),
                 tolerance * MaxNorm(expected.output.values()));
      CheckClose("lse", got.lse.values(), expected.lse.values(), tolerance * (1 + MaxNorm(expected.lse.values())));
    }
  }
}

}  // namespace
}  // namespace headlens::testing
