// SPDX-License-Identifier: Apache-2.0
/// Compares every vector kernel with scalar code in fp64, on every target, for all lengths around the vector width and
/// for odd addresses.
#include "backends/simd/kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "attention/masks/mask_set.h"
#include "attention/philox.h"
#include "backends/simd/mark_loops.h"
#include "support.h"

namespace headlens::testing {
namespace {

using simd::BestKernels;
using simd::GemmArgs;
using simd::HeadRows;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

/// Calls `check(x, n)` with random rows of every length up to a few vectors of the widest target, at three
/// misalignments. The memory after the row must not change.
template <class F>
void ForEachRow(float scale, const F& check) {
  Random random(7);
  for (Index n = 0; n <= 67; ++n)
    for (const Index offset : {0, 1, 3}) {
      CAPTURE(n);
      CAPTURE(offset);
      Tensor memory = random.NormalTensor({n + offset + 1}, scale);
      float* x = memory.data() + offset;
      x[n] = 123.0f;
      check(x, n);
      CHECK(x[n] == 123.0f);
    }
}

/// Compares an in-place kernel of one row with `twin`, an fp64 function of each element and its index.
template <class Kernel, class Twin>
void CheckElementwise(float scale, double relative, double absolute, const Kernel& kernel, const Twin& twin) {
  ForEachRow(scale, [&](float* x, Index n) {
    const std::vector<float> before(x, x + n);
    kernel(x, n);
    for (Index i = 0; i < n; ++i) {
      const double expected = twin(double{before[static_cast<std::size_t>(i)]}, i);
      CAPTURE(i);
      CHECK(std::abs(x[i] - expected) <= relative * std::abs(expected) + absolute);
    }
  });
}

/// Rows of keys that BF16 represents exactly, in both types, with no memory after the last one.
struct Rows {
  Rows(Random& random, Index rows, Index width, Index row_stride)
      : floats(random.NormalTensor({std::max<Index>(rows * row_stride - (row_stride - width), 0)})),
        stride(row_stride),
        count(rows),
        columns(width) {
    for (float& x : floats.values()) {
      halves.push_back(RoundToBf16(x));
      x = LoadFloat(DType::kBF16, reinterpret_cast<const std::byte*>(&halves.back()));
    }
  }
  HeadRows f32() const { return {DType::kF32, floats.data(), stride, count, columns}; }
  HeadRows bf16() const { return {DType::kBF16, halves.data(), stride, count, columns}; }

  Tensor floats;
  std::vector<std::uint16_t> halves;
  Index stride, count, columns;
};

/// Computes C = A · B + bias with columns [n, ldc) of C around it, and compares it with `expected` [m, n].
void CheckEdges(const Tensor& a, const Tensor& bt, const Tensor& biases, const std::vector<Dot>& expected, Index k) {
  const auto& kernels = BestKernels();
  const Index m = a.shape()[0], n = bt.shape()[0], ldc = n + 5, width = kernels.panel_width;
  const Index columns = (n + width - 1) / width * width;
  REQUIRE(columns <= biases.size());
  const std::vector<float> bias(biases.data(), biases.data() + columns);  // no more than the kernel may read
  Tensor packed({columns, std::max<Index>(k, 1)}), c({m, ldc});
  std::fill_n(c.data(), c.size(), 77.0f);
  kernels.pack_rows({DType::kF32, bt.data(), k + 1, n, k}, packed.data());
  kernels.gemm({.a = a.data(),
                .lda = a.shape()[1],
                .b = packed.data(),
                .b_row = width,
                .b_panel = width * k,
                .bias = bias.data(),
                .c = c.data(),
                .ldc = ldc,
                .m = m,
                .n = n,
                .k = k,
                .b_is_far = n % 2 == 1});
  bool good = true;
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < ldc; ++j) {
      if (j >= n) {
        good &= c.data()[i * ldc + j] == 77.0f;
        continue;
      }
      // Each of the k additions rounds once or twice: γ_k of Higham 2002, §3.1, with room for multiply-adds that are
      // not fused.
      const auto& [sum, norm] = expected[static_cast<std::size_t>(i * n + j)];
      good &= std::abs(c.data()[i * ldc + j] - sum) <= (static_cast<double>(k) + 2) * kEpsilon * norm;
    }
  CHECK(good);
}

TEST_CASE("gemm: all edges of the tile, against fp64") {
  constexpr Index kMostColumns = 256;  // more than any target's panels have for the columns below
  Random random(11);
  for (const Index m : {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25})
    for (const Index n : {1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65})
      for (const Index k : {0, 1, 2, 5, 255, 256, 257, 600, 768, 769, 1600}) {
        if (k > 5 && (m > 13 || n > 33)) continue;  // combines large depths with small sizes only
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        const Tensor a = random.NormalTensor({m, k + 3}), bt = random.NormalTensor({n, k + 1}),
                     biases = random.NormalTensor({kMostColumns});
        // Sums in fp64 take longer than the kernels, and are the same for all targets.
        std::vector<Dot> expected;
        for (Index i = 0; i < m; ++i)
          for (Index j = 0; j < n; ++j)
            expected.push_back(
                DotOf(biases.data()[j], {a.data() + i * (k + 3), {k}, {1}}, {bt.data() + j * (k + 1), {k}, {1}}));
        ForEachTarget([&] { CheckEdges(a, bt, biases, expected, k); });
      }
}

TEST_CASE("gemm: accumulates, and leaves out what no row of a tile needs") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(13);
    // A is packed in WebAssembly when B is wide, and elsewhere when its rows lie 4 KiB apart.
    for (const auto& sizes : {std::array<Index, 3>{1, 3, 2},
                              {1, 256, 2},
                              {1, 700, 2},
                              {12, 3, 2},
                              {12, 256, 2},
                              {12, 700, 2},
                              {31, 3, 2},
                              {31, 256, 2},
                              {31, 700, 2},
                              {200, 3, 2},
                              {200, 256, 2},
                              {200, 700, 2},
                              {3, 256, 64},
                              {31, 700, 64},
                              {200, 3, 64},
                              {5, 1024, 2},
                              {200, 1024, 2},
                              {31, 1700, 2}}) {
      const Index m = sizes[0], k = sizes[1], panels = sizes[2];
      CAPTURE(m);
      CAPTURE(k);
      CAPTURE(panels);
      const Index n = panels * kernels.panel_width + 3, width = kernels.panel_width;
      Tensor a = random.NormalTensor({m, k});
      const Tensor b = random.NormalTensor({k, n}), before = random.NormalTensor({m, n});
      Tensor packed({(n + width - 1) / width * width, k}), whole = before.Clone(), some = before.Clone();
      kernels.pack_columns({DType::kF32, b.data(), n, k, n}, packed.data());
      // Each tile has its own part of the depth, and one has none. A is zero elsewhere, or anything where it is not
      // read.
      std::vector<KeyRange> depths, columns;
      for (Index i = 0; i < m; i += kernels.tile_rows) {
        const Index from = random.Below(k), to = depths.size() == 1 ? from : from + random.Below(k - from + 1);
        depths.push_back({from, to});
        const Index left = random.Below(n);
        columns.push_back({left, left + random.Below(n - left + 1)});
        for (Index r = i; r < std::min(i + kernels.tile_rows, m); ++r)
          for (Index p = 0; p < k; ++p)
            if (p < from || p >= to) a.data()[r * k + p] = 0.0f;
      }
      GemmArgs args{.a = a.data(),
                    .lda = k,
                    .b = packed.data(),
                    .b_row = width,
                    .b_panel = width * k,
                    .bias = nullptr,
                    .c = whole.data(),
                    .ldc = n,
                    .m = m,
                    .n = n,
                    .k = k,
                    .accumulate = true,
                    .b_is_far = panels > 2};
      kernels.gemm(args);
      double norm = 0.0, worst = 0.0;
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) {
          const auto [from, to] = depths[static_cast<std::size_t>(i / kernels.tile_rows)];  // A is zero elsewhere
          const double sum = DotOf(before.data()[i * n + j], {a.data() + i * k + from, {to - from}, {1}},
                                   {b.data() + from * n + j, {to - from}, {n}})
                                 .sum;
          norm = std::max(norm, std::abs(sum));
          worst = std::max(worst, std::abs(sum - double{whole.data()[i * n + j]}));
        }
      CHECK(worst <= static_cast<double>(k) * kEpsilon * norm);
      for (Index i = 0; i < m; ++i) {
        const KeyRange deep = depths[static_cast<std::size_t>(i / kernels.tile_rows)];
        for (Index p = 0; p < k; ++p)
          if (p < deep.begin || p >= deep.end) a.data()[i * k + p] = kNan;
      }
      args.c = some.data();
      args.depths = depths.data();
      kernels.gemm(args);
      CHECK(std::equal(some.values().begin(), some.values().end(), whole.values().begin()));
      // Without accumulation, a tile without depth becomes zero. Panels that a tile does not need stay as they are, and
      // columns after those that it needs may do so.
      std::copy_n(before.data(), before.size(), some.data());
      args.accumulate = false;
      args.columns = columns.data();
      kernels.gemm(args);
      bool good = true;
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) {
          const KeyRange need = columns[static_cast<std::size_t>(i / kernels.tile_rows)];
          const bool must_stay = j / width * width >= need.end || (j / width + 1) * width <= need.begin;
          const double expected = double{whole.data()[i * n + j]} - double{before.data()[i * n + j]};
          const double got = double{some.data()[i * n + j]};
          const bool stayed = got == double{before.data()[i * n + j]};
          const bool right = std::abs(got - expected) <= static_cast<double>(k) * kEpsilon * (norm + 1);
          good &= must_stay ? stayed : right || (stayed && j >= need.end);
        }
      CHECK(good);
    }
  });
}

TEST_CASE("panels: of rows and of columns, padded with zeros") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(17);
    const Index width = kernels.panel_width;
    for (const Index rows : {1, 3, 4, 9, 33})
      for (const Index columns : {1, 4, 6, 35, 64, 131}) {
        CAPTURE(rows);
        CAPTURE(columns);
        const Rows x(random, rows, columns, columns + 2);
        const auto check = [&](bool by_rows, const HeadRows& src) {
          const Index n = by_rows ? rows : columns, depth = by_rows ? columns : rows, panels = (n + width - 1) / width;
          Tensor packed({panels * width * depth + 1});
          packed.values().back() = 5.0f;
          (by_rows ? kernels.pack_rows : kernels.pack_columns)(src, packed.data());
          bool good = packed.values().back() == 5.0f;
          for (Index j = 0; j < panels * width; ++j)
            for (Index p = 0; p < depth; ++p) {
              const float expected = j >= n    ? 0.0f
                                     : by_rows ? x.floats.data()[j * (columns + 2) + p]
                                               : x.floats.data()[p * (columns + 2) + j];
              good &= packed.data()[(j / width * depth + p) * width + j % width] == expected;
            }
          CHECK(good);
        };
        for (const bool by_rows : {true, false}) {
          check(by_rows, x.f32());
          check(by_rows, x.bf16());
        }
      }
  });
}

TEST_CASE("dots and blend: one row with a matrix where it lies") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(19);
    for (const Index count : {0, 1, 3, 4, 9, 16, 17, 40})
      for (const Index width : {1, 7, 8, 64, 67, 131, 300}) {
        CAPTURE(count);
        CAPTURE(width);
        const Index stride = width + 3;
        const Rows given(random, count, width, stride);
        const Tensor& rows = given.floats;
        const Tensor x = random.NormalTensor({std::max(count, width)});
        std::vector<float> dots(static_cast<std::size_t>(count) + 1, 7.0f),
            sum(static_cast<std::size_t>(width) + 1, 7.0f);
        kernels.dots(x.data(), given.f32(), dots.data());
        kernels.blend(x.data(), given.f32(), false, sum.data());
        CHECK(dots.back() == 7.0f);
        CHECK(sum.back() == 7.0f);
        std::vector<float> from_halves(dots.size(), 7.0f);
        kernels.dots(x.data(), given.bf16(), from_halves.data());
        CHECK(from_halves == dots);
        from_halves.assign(sum.size(), 7.0f);
        kernels.blend(x.data(), given.bf16(), false, from_halves.data());
        CHECK(from_halves == sum);
        HeadRows part = given.bf16();  // first some rows, then the others
        part.count = count / 3;
        from_halves.assign(sum.size(), 7.0f);
        kernels.blend(x.data(), part, false, from_halves.data());
        part.data = given.halves.data() + part.count * stride;
        part.count = count - count / 3;
        kernels.blend(x.data() + count / 3, part, true, from_halves.data());
        CHECK(from_halves == sum);
        const double norm = MaxNorm(x.values()) * MaxNorm(rows.values());
        bool good = true;
        for (Index s = 0; s < count; ++s) {
          double dot = 0.0;
          for (Index j = 0; j < width; ++j) dot += double{x.data()[j]} * double{rows.data()[s * stride + j]};
          good &=
              std::abs(dot - double{dots[static_cast<std::size_t>(s)]}) <= static_cast<double>(width) * kEpsilon * norm;
        }
        for (Index j = 0; j < width; ++j) {
          double blended = 0.0;
          for (Index s = 0; s < count; ++s) blended += double{x.data()[s]} * double{rows.data()[s * stride + j]};
          good &= std::abs(blended - double{sum[static_cast<std::size_t>(j)]}) <=
                  static_cast<double>(count) * kEpsilon * norm;
        }
        CHECK(good);
      }
  });
}

TEST_CASE("exponentials: relative error over every step of the range, exact zeros, NaN") {
  ForEachTarget([] {
    constexpr Index kSteps = 1 << 20;
    Tensor x({kSteps});
    for (Index i = 0; i < kSteps; ++i) x.data()[i] = -87.0f * static_cast<float>(i) / kSteps;
    const Tensor before = x.Clone();
    BestKernels().exp_sum(x.data(), kSteps, 0.0f, 1.0f);
    double worst = 0.0;
    for (Index i = 0; i < kSteps; ++i) {
      const double expected = std::exp(double{before.data()[i]});
      // x · log₂e is rounded, so the error grows with |x|.
      worst = std::max(worst, std::abs(x.data()[i] - expected) / expected / (2.0 + std::abs(double{before.data()[i]})));
    }
    CHECK(worst <= kEpsilon);
    CHECK(worst > 0.0);

    float special[] = {-kInf, -1e30f, -88.5f, 0.0f, kNan, 3.0f, 2.0f, 3.0f, -kInf};
    BestKernels().exp_sum(special, 9, 3.0f, 1.0f);
    CHECK(special[0] == 0.0f);
    CHECK(special[1] == 0.0f);
    CHECK(special[2] == 0.0f);
    CHECK(std::isnan(special[4]));
    CHECK(special[5] == 1.0f);
    CHECK(special[8] == 0.0f);
  });
}

TEST_CASE("exp_sum, max, add_scaled and all_finite reduce whole rows") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    ForEachRow(3.0f, [&](float* x, Index n) {
      float max = -kInf;
      for (Index i = 0; i < n; ++i) max = std::max(max, x[i]);
      CHECK(kernels.max(x, n) == max);
      CHECK(kernels.all_finite(x, n));
      for (Index i = 0; i < n; ++i)
        for (const float bad : {kNan, kInf, -kInf}) {
          const float kept = std::exchange(x[i], bad);
          CHECK_FALSE(kernels.all_finite(x, n));
          x[i] = kept;
        }
      const std::vector<float> y(static_cast<std::size_t>(n), 0.5f);
      const std::vector<float> before(x, x + n);
      kernels.add_scaled(x, n, y.data(), 4.0f);
      for (Index i = 0; i < n; ++i) CHECK(x[i] == before[static_cast<std::size_t>(i)] + 2.0f);
      std::copy(before.begin(), before.end(), x);
      double sum = 0.0;
      for (Index i = 0; i < n; ++i) sum += std::exp(double{x[i]} - double{max});
      CHECK(std::abs(kernels.exp_sum(x, n, max, 1.0f) - sum) <= 4 * kEpsilon * (1.0 + sum));
      std::copy(before.begin(), before.end(), x);
      kernels.exp_sum(x, n, max, 0.25f);
      for (Index i = 0; i < n; ++i) {
        const double expected = std::exp((double{before[static_cast<std::size_t>(i)]} - double{max}) * 0.25);
        CHECK(std::abs(double{x[i]} - expected) <= 8 * kEpsilon * expected);
      }
    });
    const float with_nan[] = {1.0f, kNan, 5.0f, kNan, 2.0f, 1.0f, 0.0f, 0.0f, kNan};
    CHECK(kernels.max(with_nan, 9) == 5.0f);
  });
}

TEST_CASE("rows that are streamed: cells in a range, zeros around it") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    if (!kernels.stream_row) return;  // WebAssembly has no such stores
    Random random(37);
    ForEachRow(1.0f, [&](float* x, Index n) {
      const Tensor cells = random.NormalTensor({n + 1});
      const Index begin = random.Below(n + 1), end = begin + random.Below(n - begin + 1);
      kernels.stream_row(cells.data(), {begin, end}, n, x);
      kernels.flush_streams();
      bool good = true;
      for (Index i = 0; i < n; ++i) good &= x[i] == (i >= begin && i < end ? cells.data()[i] : 0.0f);
      CHECK(good);
    });
  });
}

TEST_CASE("masks and biases: −∞ wins over anything") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(3);
    ForEachRow(1.0f, [&](float* x, Index n) {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
      std::vector<float> bias(bytes.size());
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = random.Chance(0.5) ? static_cast<std::uint8_t>(1 + random.Below(255)) : 0;
        bias[i] = random.Chance(0.3) ? -kInf : random.Normal();
      }
      if (n > 0) x[n / 2] = kNan;
      const std::vector<float> before(x, x + n);
      kernels.mask(x, n, bytes.data());
      for (std::size_t i = 0; i < bytes.size(); ++i)
        CHECK((bytes[i] != 0 ? x[i] == -kInf : x[i] == before[i] || std::isnan(before[i])));
      std::copy(before.begin(), before.end(), x);
      kernels.add_bias(x, n, bias.data());
      for (std::size_t i = 0; i < bias.size(); ++i) {
        CHECK((bias[i] == -kInf        ? x[i] == -kInf
               : std::isnan(before[i]) ? std::isnan(x[i])
                                       : x[i] == before[i] + bias[i]));
      }
    });
  });
}

TEST_CASE("elementwise kernels") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(5);
    const Tensor other = random.NormalTensor({128});
    const auto at = [&](Index i) { return double{other.data()[i]}; };
    for (const float scale : {0.01f, 1.0f, 30.0f}) {
      CheckElementwise(
          scale, kEpsilon, 0, [&](float* x, Index n) { kernels.scale(x, n, 1.7f); },
          [](double x, Index) { return x * double{1.7f}; });
      CheckElementwise(
          scale, 4 * kEpsilon, 1e-9, [&](float* x, Index n) { kernels.softcap(x, n, 1.5f); },
          [](double x, Index) { return 1.5 * std::tanh(x / 1.5); });
      CheckElementwise(
          scale, 0, 3 * kEpsilon * (1 + scale), [&](float* x, Index n) { kernels.gelu_erf(x, n); },
          [](double x, Index) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
      CheckElementwise(
          scale, 0, 3 * kEpsilon * (1 + scale), [&](float* x, Index n) { kernels.gelu_tanh(x, n); },
          [](double x, Index) {
            return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
          });
      CheckElementwise(
          scale, 0, 0, [&](float* x, Index n) { kernels.relu(x, n); },
          [](double x, Index) { return std::max(x, 0.0); });
      CheckElementwise(
          scale, kEpsilon, 0, [&](float* x, Index n) { kernels.add(x, n, other.data() + 1); },
          [&](double x, Index i) { return x + at(i + 1); });
      CheckElementwise(
          scale, kEpsilon, 0, [&](float* x, Index n) { kernels.multiply(x, n, other.data() + 1); },
          [&](double x, Index i) { return x * at(i + 1); });
      // The relative error of exp(−|x|) grows with |x|, which is at most 4 · scale here.
      CheckElementwise(scale, (8 + 4 * scale) * kEpsilon, 1e-30, kernels.silu,
                       [](double x, Index) { return x / (1 + std::exp(-x)); });
    }
  });
}

TEST_CASE("norms and rotation") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(9);
    const Tensor weight = random.NormalTensor({128}), bias = random.NormalTensor({128});
    ForEachRow(2.0f, [&](float* x, Index n) {
      if (n == 0) return;
      double mean = 0, squares = 0, variance = 0;
      for (Index i = 0; i < n; ++i) {
        mean += x[i] / static_cast<double>(n);
        squares += double{x[i]} * x[i] / static_cast<double>(n);
      }
      for (Index i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
      std::vector<float> y(static_cast<std::size_t>(n));
      kernels.rms_norm(x, n, weight.data(), 1e-5f, y.data());
      for (Index i = 0; i < n; ++i) {
        const double expected = x[i] / std::sqrt(squares + 1e-5) * double{weight.data()[i]};
        CHECK(std::abs(y[static_cast<std::size_t>(i)] - expected) <= 8 * kEpsilon * (1e-3 + std::abs(expected)));
      }
      kernels.layer_norm(x, n, weight.data(), bias.data(), 1e-3f, y.data());
      for (Index i = 0; i < n; ++i) {
        const double expected =
            (x[i] - mean) / std::sqrt(variance + 1e-3) * double{weight.data()[i]} + double{bias.data()[i]};
        CHECK(std::abs(y[static_cast<std::size_t>(i)] - expected) <= 64 * kEpsilon * (1 + std::abs(expected)));
      }
      if (n % 2 != 0) return;
      const std::vector<float> before(x, x + n);
      const Index half = n / 2;
      kernels.rotate(x, half, weight.data(), bias.data());
      for (Index i = 0; i < half; ++i) {
        const double a = before[static_cast<std::size_t>(i)], b = before[static_cast<std::size_t>(i + half)];
        const double c = weight.data()[i], s = bias.data()[i], norm = std::abs(a) + std::abs(b);
        CHECK(std::abs(x[i] - (a * c - b * s)) <= 4 * kEpsilon * norm * (std::abs(c) + std::abs(s)));
        CHECK(std::abs(x[i + half] - (b * c + a * s)) <= 4 * kEpsilon * norm * (std::abs(c) + std::abs(s)));
      }
    });
  });
}

TEST_CASE("hinges, their sums, and sigmoids") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    for (const float spread : {0.1f, 1.0f, 30.0f})
      for (const float step : {1.0f, 0.5f})
        for (const float tau : {-1.0f, -0.3f, 0.0f}) {
          const float max = 2 * spread;
          const auto hinge = [&](double x) { return std::max((x - double{max}) * double{step} - double{tau}, 0.0); };
          const double rounding = 4 * kEpsilon * (8 * double{spread} + 1);
          CheckElementwise(
              spread, 0, rounding, [&](float* x, Index n) { kernels.hinge(x, n, max, step, tau); },
              [&](double x, Index) { return hinge(x); });
          ForEachRow(spread, [&](float* x, Index n) {
            if (n > 2) x[n / 2] = -kInf, x[n - 1] = -1e30f;
            double least = 0, most = 0, sum = 0, squares = 0;
            for (Index i = 0; i < n; ++i) {
              const double h = hinge(double{x[i]});
              least += h > rounding ? 1 : 0;
              most += (double{x[i]} - double{max}) * double{step} - double{tau} > -rounding ? 1 : 0;
              sum += h, squares += h * h;
            }
            const std::vector<float> before(x, x + n);
            const simd::HingeSums sums = kernels.hinge_sums(x, n, max, step, tau);
            CHECK(std::equal(before.begin(), before.end(), x));
            CHECK((double{sums.count} >= least && double{sums.count} <= most));
            CHECK(std::abs(double{sums.sum} - sum) <= (rounding + kEpsilon) * (sum + most + 1));
            CHECK(std::abs(double{sums.squares} - squares) <= 4 * (rounding + kEpsilon) * (squares + sum + most + 1));
            kernels.hinge(x, n, max, step, tau);
            if (n > 2) CHECK((x[n / 2] == 0.0f && x[n - 1] == 0.0f));
          });
        }
    for (const float spread : {0.01f, 1.0f, 30.0f})
      for (const float bias : {-7.0f, 0.0f, 2.5f}) {
        CheckElementwise(
            spread, (16 + 8 * spread) * kEpsilon, 1e-30, [&](float* x, Index n) { kernels.sigmoid(x, n, bias); },
            [&](double x, Index) { return 1 / (1 + std::exp(-x - double{bias})); });
      }
    float special[] = {-kInf, kInf, kNan, -1e30f, 1e30f, 0.0f, -0.0f, -200.0f, 200.0f};
    kernels.sigmoid(special, 9, 0.0f);
    const float expected[] = {0.0f, 1.0f, kNan, 0.0f, 1.0f, 0.5f, 0.5f, 0.0f, 1.0f};
    for (int i = 0; i < 9; ++i) CHECK((special[i] == expected[i] || (i == 2 && std::isnan(special[i]))));
  });
}

/// Rows full of ties, zeros of both signs and −∞, and random rows.
void FillTied(Random& random, float* x, Index n) {
  const float few[] = {-kInf, -0.0f, 0.0f, 2.5f, -1e-40f, -3.0f, std::numeric_limits<float>::max()};
  for (Index i = 0; i < n; ++i) x[i] = few[random.Below(std::size(few))];
}

TEST_CASE("the first of the largest, and whether there is a NaN") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(17);
    for (const bool tied : {false, true})
      ForEachRow(1.0f, [&](float* x, Index n) {
        if (tied) FillTied(random, x, n);
        CHECK_FALSE(kernels.any_nan(x, n));
        if (n == 0) return;
        CHECK(kernels.first_max(x, n) == std::max_element(x, x + n) - x);
        std::vector<float> low(x, x + n);
        for (Index i = 0; i < n; ++i) {
          const float kept = std::exchange(x[i], kNan);
          CHECK(kernels.any_nan(x, n));
          x[i] = kept;
          const float before = std::exchange(low[static_cast<std::size_t>(i)], std::numeric_limits<float>::max());
          CHECK(kernels.first_max(low.data(), n) == std::max_element(low.begin(), low.end()) - low.begin());
          low[static_cast<std::size_t>(i)] = before;
        }
        std::fill_n(x, n, -kInf);
        CHECK(kernels.first_max(x, n) == 0);
      });
  });
}

/// Computes the expected result by sorting the whole row.
std::vector<float> LargestBySort(const std::vector<float>& x, Index k) {
  std::vector<float> sorted = x, kept = x;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (k >= static_cast<Index>(x.size())) return kept;
  for (float& value : kept)
    if (value < sorted[static_cast<std::size_t>(k - 1)]) value = -kInf;
  return kept;
}

TEST_CASE("the k largest, and what ties with the k-th") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(19);
    const auto check = [&](float* x, Index n, Index k) {
      const std::vector<float> before(x, x + n), expected = LargestBySort(before, k);
      kernels.keep_largest(x, n, k);
      CAPTURE(k);
      CHECK(std::equal(expected.begin(), expected.end(), x));
      std::copy(before.begin(), before.end(), x);
    };
    for (const float scale : {1e-42f, 1e-3f, 1.0f, 1e30f})
      ForEachRow(scale, [&](float* x, Index n) {
        for (const Index k : {Index{1}, Index{2}, n / 2, n - 1, n, n + 1, Index{1} << 40})
          if (k >= 1) check(x, n, k);
      });
    ForEachRow(1.0f, [&](float* x, Index n) {
      FillTied(random, x, n);
      for (Index k = 1; k <= n + 1; ++k) check(x, n, k);
      for (Index i = 0; i < n; ++i)
        if (random.Chance(0.9)) x[i] = -kInf;
      for (Index k = 1; k <= n + 1; ++k) check(x, n, k);
      for (const float same : {-kInf, 0.0f, -7.0f}) {
        std::fill_n(x, n, same);
        for (const Index k : {Index{1}, n}) check(x, n, std::max<Index>(k, 1));
      }
    });
    Tensor row = random.NormalTensor({5000});
    for (const Index k : {1, 8, 64, 2500, 4999}) check(row.data(), row.size(), k);
    // Neighbouring floats, of one sign or of both.
    for (const float start : {1.0f, -1.0f, 0.0f}) {
      float value = start;
      for (Index i = 0; i < row.size(); ++i, value = std::nextafter(value, kInf)) row.data()[(i * 1237) % 5000] = value;
      for (const Index k : {1, 8, 2500, 4999}) check(row.data(), row.size(), k);
    }
  });
}

TEST_CASE("dropout: the very numbers of Philox, wherever a row begins") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    constexpr std::uint64_t kCarry =
        (std::uint64_t{1} << 34) - 70;  // the low word of the counter overflows within a row
    for (const double p : {0x1p-40, 0.1, 0.5, 0.999999, 1.0})
      for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1} << 63 | 12345})
        for (const std::uint64_t first :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4098}, kCarry, kCarry + 3}) {
          CAPTURE(p);
          CAPTURE(seed);
          CAPTURE(first);
          ForEachRow(1.0f, [&](float* x, Index n) {
            if (n > 1) x[n / 2] = kNan;
            const std::vector<float> before(x, x + n);
            kernels.drop(x, n, 1.5f, seed, first, HighestDropped(p));
            bool same = true;
            for (Index i = 0; i < n; ++i) {
              const float value = before[static_cast<std::size_t>(i)] * 1.5f;
              const bool kept = DropoutKeeps(seed, first + static_cast<std::uint64_t>(i), p);
              same &= kept ? x[i] == value || (std::isnan(value) && std::isnan(x[i])) : x[i] == 0.0f;
            }
            CHECK(same);
          });
        }
    // At the bound itself, a number that is drawn is dropped with its own p and kept with the next smaller one.
    for (std::uint64_t i = 0; i < 100; ++i) {
      const double drawn = static_cast<double>(Philox(5, i / 4)[i % 4]) * 0x1p-32;
      for (const double p : {drawn, std::nextafter(drawn, 1.0)}) {
        if (p <= 0.0) continue;
        float x = 1.0f;
        kernels.drop(&x, 1, 1.0f, 5, i, HighestDropped(p));
        CHECK(x == (p == drawn ? 1.0f : 0.0f));
      }
    }
  });
}

/// Compares a kernel of marks with `twin`, which returns true for each index to be marked. Earlier marks must stay.
template <class Kernel, class Twin>
void CheckMarks(Random& random, Index n, const Kernel& kernel, const Twin& twin) {
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(n + 1)), before;
  for (std::uint8_t& mark : marks) mark = random.Chance(0.2) ? 1 : 0;
  before = marks;
  kernel(marks.data());
  bool good = marks.back() == before.back();
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    good &= marks[at] == (before[at] != 0 || twin(i) ? 1 : 0);
  }
  CAPTURE(n);
  CHECK(good);
}

TEST_CASE("marks: comparisons of bytes, ints and floats, and what is not exempt") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(21);
    for (Index n = 0; n <= 199; ++n) {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n + 1)), set(bytes.size()), except(bytes.size());
      std::vector<std::int32_t> ints(bytes.size());
      std::vector<float> floats(bytes.size());
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = random.Chance(0.5) ? static_cast<std::uint8_t>(random.Below(256)) : 0;
        ints[i] = random.Chance(0.5) ? -70000 : static_cast<std::int32_t>(random.Below(3)) << 30;
        floats[i] = random.Chance(0.5) ? -kInf : random.Chance(0.5) ? kNan : random.Normal();
        set[i] = random.Chance(0.5) ? 1 : 0, except[i] = random.Chance(0.5) ? 1 : 0;
      }
      const std::uint8_t* b = bytes.data() + 1;  // odd addresses
      const std::int32_t* w = ints.data() + 1;
      const float* f = floats.data() + 1;
      for (const bool equal : {true, false}) {
        CheckMarks(
            random, n, [&](std::uint8_t* marks) { kernels.mark_bytes(b, n, 0, equal, marks); },
            [&](Index i) { return (b[i] == 0) == equal; });
        CheckMarks(
            random, n, [&](std::uint8_t* marks) { kernels.mark_ints(w, n, -70000, equal, marks); },
            [&](Index i) { return (w[i] == -70000) == equal; });
        CheckMarks(
            random, n, [&](std::uint8_t* marks) { kernels.mark_floats(f, n, -kInf, equal, marks); },
            [&](Index i) { return (f[i] == -kInf) == equal; });
      }
      CheckMarks(
          random, n, [&](std::uint8_t* marks) { kernels.mark_unless(set.data() + 1, except.data() + 1, n, marks); },
          [&](Index i) { return set[static_cast<std::size_t>(i + 1)] && !except[static_cast<std::size_t>(i + 1)]; });
    }
  });
}

TEST_CASE("marks: steps") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(23);
    for (const Index n : {1, 2, 7, 8, 31, 64, 67, 1000})
      for (const Index step : {1, 2, 3, 5, 8, 15, 16, 17, 64, 1000, 1 << 20})
        for (const Index first : {Index{0}, Index{1}, step / 2, step - 1}) {
          if (first >= step) continue;
          CAPTURE(step);
          CAPTURE(first);
          CheckMarks(
              random, n, [&](std::uint8_t* marks) { kernels.mark_off_step(n, first, step, marks); },
              [&](Index i) { return (i - first) % step != 0; });
        }
  });
}

TEST_CASE("marks of a row: kernels mark what the reference marks") {
  ForEachTarget([] {
    Random random(25);
    Tensor cells = random.NormalTensor({3000});
    for (Index i = 0; i < cells.size(); ++i)
      if (random.Chance(0.4)) cells.data()[i] = -kInf;
    const auto check = [&](KeyRange keys, const auto& mark) {
      std::vector<std::uint8_t> plain(static_cast<std::size_t>(keys.end - keys.begin)), vector(plain.size());
      RowMarks(keys, plain.data(), PlainMarkLoops()).Inside({keys.end - 1, keys.end});
      vector = plain;
      const simd::SimdMarkLoops loops(BestKernels());
      RowMarks expected(keys, plain.data(), PlainMarkLoops()), got(keys, vector.data(), loops);
      mark(expected);
      mark(got);
      CHECK(plain == vector);
    };
    for (const KeyRange keys : {KeyRange{0, 1}, KeyRange{3, 17}, KeyRange{2, 1000}}) {
      for (const Index stride : {0, 1, 3})
        check(keys, [&](RowMarks& marks) { marks.Equal(cells.data(), stride, -kInf); });
      for (const Index step : {Index{2}, Index{7}, Index{999}, Index{1} << 50})
        for (const Index own : {Index{0}, Index{6}, Index{-5}, Index{1} << 51, -(Index{1} << 51)})
          check(keys, [&](RowMarks& marks) { marks.OffStep(own, step); });
    }
    // More keys than the kernel counts in one piece.
    const Index many = (Index{5} << 18) + 3;
    for (const Index step : {Index{3}, Index{1} << 19, (Index{1} << 20) + 5})
      check({1, many}, [&](RowMarks& marks) { marks.OffStep(many - 7, step); });
    std::vector<std::uint8_t> marks(10);
    const auto marked = [&](const auto& mark) {
      std::fill(marks.begin(), marks.end(), std::uint8_t{0});
      RowMarks row({20, 30}, marks.data(), PlainMarkLoops());
      mark(row);
      std::string text;
      for (const std::uint8_t byte : marks) text += byte ? '1' : '0';
      return text;
    };
    CHECK(marked([](RowMarks& row) { row.Inside({-5, 22}); }) == "1100000000");
    CHECK(marked([](RowMarks& row) { row.Inside({28, 99}); }) == "0000000011");
    CHECK(marked([](RowMarks& row) { row.Inside({25, 25}); }) == "0000000000");
    CHECK(marked([](RowMarks& row) { row.Inside({40, 50}); }) == "0000000000");
    CHECK(marked([](RowMarks& row) { row.Outside({22, 28}); }) == "1100000011");
    CHECK(marked([](RowMarks& row) { row.Outside({0, 99}); }) == "0000000000");
    CHECK(marked([](RowMarks& row) { row.Outside({0, 0}); }) == "1111111111");
    CHECK(marked([](RowMarks& row) { row.Outside({40, 50}); }) == "1111111111");
    CHECK(marked([](RowMarks& row) { row.Outside({0, 5}); }) == "1111111111");
    CHECK(marked([](RowMarks& row) { row.All(); }) == "1111111111");
  });
}

TEST_CASE("rotation of neighbours") {
  ForEachTarget([] {
    const auto& kernels = BestKernels();
    Random random(15);
    const Tensor cosine = random.NormalTensor({40}), sine = random.NormalTensor({40});
    ForEachRow(2.0f, [&](float* x, Index n) {
      const std::vector<float> before(x, x + n);
      // The angles also lie at odd addresses.
      const float *c = cosine.data() + 1, *s = sine.data() + 3;
      kernels.rotate_interleaved(x, n / 2, c, s);
      for (Index i = 0; i < n / 2; ++i) {
        const double a = before[static_cast<std::size_t>(2 * i)], b = before[static_cast<std::size_t>(2 * i + 1)];
        const double slack = 4 * kEpsilon * (std::abs(a) + std::abs(b)) * (std::abs(c[i]) + std::abs(s[i]));
        CHECK(std::abs(x[2 * i] - (a * double{c[i]} - b * double{s[i]})) <= slack);
        CHECK(std::abs(x[2 * i + 1] - (b * double{c[i]} + a * double{s[i]})) <= slack);
      }
      if (n % 2 != 0) CHECK(x[n - 1] == before[static_cast<std::size_t>(n - 1)]);
    });
  });
}

TEST_CASE("16-bit weights: every value there is, expanded exactly") {
  ForEachTarget([] {
    const Index count = 1 << 16, width = 64;
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
    Tensor one({width, width});
    for (Index i = 0; i < width; ++i)
      for (Index j = 0; j < width; ++j) one.view<2>()(i, j) = i == j ? 1.0f : 0.0f;
    for (const DType type : {DType::kF16, DType::kBF16}) {
      const auto* bytes = reinterpret_cast<std::byte*>(bits.data());
      const auto weights = SimdBackend().PackLinear({type, bytes, count / width, width, width, 1}, {});
      std::vector<float> row(static_cast<std::size_t>(width));
      Tensor out({width, count / width});
      bool same_rows = true, same_products = true;
      for (Index o = 0; o < count / width; ++o) {
        weights->CopyRow(o, row);
        for (Index i = 0; i < width; ++i) {
          const float expected = LoadFloat(type, bytes + 2 * (o * width + i));
          const float got = row[static_cast<std::size_t>(i)];
          same_rows &= got == expected || (std::isnan(got) && std::isnan(expected));
        }
      }
      // Rows with NaN or infinity are left out, since those times the zeros of the identity are NaN.
      SimdBackend().Linear(one.view<2>(), *weights, out.view<2>());
      for (Index o = 0; o < count / width; ++o) {
        const auto value = [&](Index i) { return LoadFloat(type, bytes + 2 * (o * width + i)); };
        bool finite = true;
        for (Index i = 0; i < width; ++i) finite &= std::isfinite(value(i));
        for (Index i = 0; i < width && finite; ++i) same_products &= out.view<2>()(i, o) == value(i);
      }
      CHECK(same_rows);
      CHECK(same_products);
      // Multiplies each number by 1, with one row and with several.
      const auto column = SimdBackend().PackLinear({type, bytes, count, 1, 1, 1}, {});
      const std::vector<float> ones(2, 1.0f);
      for (const Index rows : {1, 2}) {
        Tensor y({rows, count});
        SimdBackend().Linear({ones.data(), {rows, 1}, {1, 1}}, *column, y.view<2>());
        bool same = true;
        for (Index row = 0; row < rows; ++row)
          for (Index o = 0; o < count; ++o) {
            const float expected = LoadFloat(type, bytes + 2 * o), got = y.view<2>()(row, o);
            same &= got == expected || (std::isnan(got) && std::isnan(expected));
          }
        CHECK(same);
      }
    }
  });
}

TEST_CASE("16-bit weights: all edges of the tile, transposed and unaligned") {
  ForEachTarget([] {
    Random random(13);
    for (const DType type : {DType::kF16, DType::kBF16})
      for (const Index rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13})
        for (const Index out : {1, 16, 33})
          for (const Index in : {1, 7, 256, 300, 800})
            for (const bool transposed : {false, true}) {
              std::vector<std::byte> bytes(static_cast<std::size_t>(2 * out * in + 1));
              for (std::size_t i = 1; i + 1 < bytes.size(); i += 2) {  // magnitudes from 1 to 2, of either sign
                bytes[i] = static_cast<std::byte>(random.Below(256));
                const int high = type == DType::kF16 ? 0x3C + static_cast<int>(random.Below(4)) : 0x3F;
                if (type == DType::kBF16) bytes[i] |= std::byte{0x80};
                bytes[i + 1] = static_cast<std::byte>(high + (random.Chance(0.5) ? 0x80 : 0));
              }
              const WeightMatrix w{type, bytes.data() + 1, out, in, transposed ? 1 : in, transposed ? out : 1};
              const Tensor x = random.NormalTensor({rows, in}), bias = random.NormalTensor({out});
              Tensor got({rows, out}), expected({rows, out});
              const auto packed = SimdBackend().PackLinear(w, bias.values());
              SimdBackend().Linear(x.view<2>(), *packed, got.view<2>());
              ReferenceBackend().Linear(x.view<2>(), *ReferenceBackend().PackLinear(w, bias.values()),
                                        expected.view<2>());
              CheckClose("16-bit linear", got.values(), expected.values(), 4 * kEpsilon * static_cast<double>(in + 4));
            }
  });
}

TEST_CASE("no target is an emulation where the machine has vectors") {
#if defined(__wasm_simd128__)
  CHECK(SimdTarget() == "WASM");
#elif defined(__x86_64__) || defined(__aarch64__)
  CHECK(SimdTarget() != "EMU128");
  CHECK(SimdTarget() != "SCALAR");
#endif
}

}  // namespace
}  // namespace headlens::testing
