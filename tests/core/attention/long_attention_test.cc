// SPDX-License-Identifier: Apache-2.0
/// Problems with several blocks of rows and keys, compared with the fp64 reference on every backend, with and without
/// maps, and with different numbers of threads.
#include <cmath>
#include <memory>
#include <utility>

#include "headlens/attention.h"
#include "random_problem.h"
#include "support.h"

namespace headlens::testing {
namespace {

struct Wanted {
  Tensor output, lse, weights, mean;
  AttentionResults views() const {
    AttentionResults r;
    r.output = output.view<4>();
    r.lse = lse.view<3>();
    if (weights.size() > 0) r.weights = weights.view<4>();
    if (mean.size() > 0) r.mean_weights = mean.view<3>();
    return r;
  }
};

enum class Maps { kNone, kAll, kMean, kBoth };

Wanted Solve(const Backend& backend, const AttentionProblem& p, Maps maps) {
  const Index batch = p.q.shape[0], heads = p.q.shape[1], queries = p.q.shape[2], keys = p.k.shape[2];
  Wanted wanted{Tensor({batch, heads, queries, p.v.shape[3]}), Tensor({batch, heads, queries}), Tensor(), Tensor()};
  if (maps == Maps::kAll || maps == Maps::kBoth) wanted.weights = Tensor({batch, heads, queries, keys});
  if (maps == Maps::kMean || maps == Maps::kBoth) wanted.mean = Tensor({batch, queries, keys});
  backend.Attention(p, wanted.views());
  return wanted;
}

/// Checks all that was wanted, of which `expected` may have more.
void CheckSame(const Wanted& got, const Wanted& expected, double tolerance) {
  CheckClose("output", got.output.values(), expected.output.values(), tolerance);
  CheckClose("lse", got.lse.values(), expected.lse.values(), tolerance);
  if (got.weights.size() > 0) CheckClose("weights", got.weights.values(), expected.weights.values(), tolerance);
  if (got.mean.size() > 0) CheckClose("mean weights", got.mean.values(), expected.mean.values(), tolerance);
}

/// Rounding of the scores becomes a relative error of the weights, and the values' norm carries it to the output.
double ToleranceOf(const RandomProblem& r) {
  const auto width = static_cast<double>(r.problem.q.shape[3]);
  const double scores = width * kEpsilon * MaxNorm(r.q.values()) * MaxNorm(r.k.values());
  return (4 * scores * std::max(1.0, std::abs(double{r.problem.scale})) + 32 * kEpsilon) * (1 + MaxNorm(r.v.values()));
}

/// Checks every other backend, with and without maps, against the reference, which has one way of computing them all.
void CheckBackends(const RandomProblem& r) {
  const Wanted expected = Solve(ReferenceBackend(), r.problem, Maps::kBoth);
  const double tolerance = ToleranceOf(r);
  ForEachOtherBackend([&](const Backend& backend) {
    for (const Maps maps : {Maps::kNone, Maps::kAll, Maps::kMean})
      CheckSame(Solve(backend, r.problem, maps), expected, tolerance);
  });
}

/// Numbers of heads, queries and keys around the sizes of blocks, for one, few and many rows.
std::vector<ProblemSizes> Sizes() {
  return {{1, 1, 1, 300, 300, 16, 16},  {1, 2, 4, 97, 515, 24, 7},  {2, 1, 2, 13, 257, 8, 40},
          {1, 1, 1, 193, 1100, 64, 64}, {1, 2, 6, 1, 700, 32, 33},  {2, 2, 2, 3, 600, 16, 16},
          {1, 1, 8, 1, 300, 20, 20},    {1, 1, 20, 1, 300, 20, 20}, {1, 1, 1, 600, 600, 33, 129}};
}

/// Options that lead to every kind of row: ranges, marks, biases, sinks and others.
std::vector<std::function<void(Random&, RandomProblem&)>> Kinds() {
  return {
      [](Random&, RandomProblem&) {},
      [](Random&, RandomProblem& r) { r.problem.mask.causal = true; },
      [](Random&, RandomProblem& r) {
        r.problem.mask.causal = true;
        r.problem.mask.causal_alignment = CausalAlignment::kBottomRight;
        r.problem.mask.window_left = 70;
        r.problem.normalizer.temperature = 0.5f;
      },
      [](Random&, RandomProblem& r) { r.problem.scale = -0.2f; },
      [](Random& random, RandomProblem& r) { DrawMasks(random, r, true); },
      [](Random& random, RandomProblem& r) { DrawBiases(random, r); },
      [](Random& random, RandomProblem& r) {
        r.sinks = random.NormalTensor({r.heads()}, 3.0f);
        r.problem.normalizer.sinks = r.sinks.view<1>();
        r.problem.gqa_order = GqaOrder::kInterleaved;
      },
      [](Random&, RandomProblem& r) { r.problem.softcap = 2.0f; },
  };
}

template <class F>
void ForEachProblem(const F& test) {
  Random random(23);
  std::size_t number = 0;
  for (const ProblemSizes& sizes : Sizes())
    for (const auto& kind : Kinds()) {
      CAPTURE(number++);
      RandomProblem r = PlainProblem(random, sizes);
      kind(random, r);
      test(r);
    }
}

TEST_CASE("long rows: every backend agrees with the fp64 reference, with and without maps") {
  ForEachProblem(CheckBackends);
}

TEST_CASE("maps of more than the caches hold") {
  Random random(41);
  for (const ProblemSizes& sizes : {ProblemSizes{1, 2, 2, 500, 1061, 8, 8}, {1, 1, 1, 1024, 1024, 16, 16}})
    for (const auto& kind : Kinds()) {
      RandomProblem r = PlainProblem(random, sizes);
      kind(random, r);
      const Wanted expected = Solve(ReferenceBackend(), r.problem, Maps::kAll);
      for (const int threads : {1, 2})
        CheckSame(Solve(*MakeSimdBackend(threads), r.problem, Maps::kAll), expected, ToleranceOf(r));
    }
}

TEST_CASE("any number of threads gives the same bits") {
  std::vector<std::unique_ptr<const Backend>> several;
  for (const int threads : {2, 3, 5}) several.push_back(MakeSimdBackend(threads));
  ForEachProblem([&](const RandomProblem& r) {
    for (const Maps maps : {Maps::kNone, Maps::kAll, Maps::kMean}) {
      const Wanted expected = Solve(SimdBackend(), r.problem, maps);
      for (const auto& many : several) CheckSame(Solve(*many, r.problem, maps), expected, 0.0);
    }
  });
  for (const auto& many : several) {
    Random random(29);
    for (const Index rows : {1, 7, 100, 400}) {
      const Tensor x = random.NormalTensor({rows, 130}), w = random.NormalTensor({515, 130}),
                   b = random.NormalTensor({515});
      const Tensor one({rows, 515}), shared({rows, 515});
      SimdBackend().Linear(x.view<2>(), *SimdBackend().PackLinear(w.view<2>(), b.values()), one.view<2>());
      many->Linear(x.view<2>(), *many->PackLinear(w.view<2>(), b.values()), shared.view<2>());
      CheckClose("linear", shared.values(), one.values(), 0.0);
    }
  }
  CHECK(Refusal(ErrorCode::kValue, [] { MakeSimdBackend(0); }) == "threads is 0, expected at least 1");
}

TEST_CASE("long rows: a NaN or an infinity reaches the rows that see it, and no others") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  ForEachBackend([&](const Backend& backend) {
    for (const float bad : {kNan, kInf, -kInf})
      for (const bool in_value : {false, true}) {
        CAPTURE(bad);
        CAPTURE(in_value);
        Random random(31);
        RandomProblem r = PlainProblem(random, {1, 1, 1, 400, 400, 16, 16});
        r.problem.mask.causal = true;
        const Wanted clean = Solve(backend, r.problem, Maps::kNone);
        (in_value ? r.v : r.k).values()[350 * 16 + 5] = bad;
        const Wanted got = Solve(backend, r.problem, Maps::kNone);
        const Wanted expected = Solve(ReferenceBackend(), r.problem, Maps::kNone);
        CheckClose("rows before", got.output.values().first(350 * 16), clean.output.values().first(350 * 16),
                   ToleranceOf(r));
        bool same = true;
        for (Index i = 350 * 16; i < 400 * 16; ++i)
          same &= std::isfinite(got.output.data()[i]) == std::isfinite(expected.output.data()[i]);
        CHECK(same);
      }
  });
}

/// Problems with three heads. In the second, the later queries are beyond all keys that their window leaves and the
/// first keys are padding, so rows are fully masked both by a range and by marks.
std::vector<RandomProblem> PresetProblems() {
  std::vector<RandomProblem> problems;
  Random random(37);
  problems.push_back(PlainProblem(random, {1, 3, 3, 300, 700, 16, 20}));
  problems.back().problem.mask.causal = true;
  problems.push_back(PlainProblem(random, {2, 3, 3, 260, 150, 16, 20}));
  RandomProblem& hidden = problems.back();
  hidden.problem.mask.causal = true;
  hidden.problem.mask.window_left = 60;
  hidden.padding.assign(2 * 150, 0);
  std::fill_n(hidden.padding.begin(), 20, std::uint8_t{1});
  hidden.problem.mask.key_padding = DenseView<const std::uint8_t, 2>(hidden.padding.data(), {2, 150});
  return problems;
}

TEST_CASE("long rows: what fully masked rows get and NaN behind masks do is the same in every way of computing") {
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  for (RandomProblem& r : PresetProblems()) {
    float *query = r.q.view<3>().at(0, 70), *key = r.k.view<3>().at(0, 100), *value = r.v.view<3>().at(0, 100);
    for (float* bad : {static_cast<float*>(nullptr), query, key, value}) {
      const float before = bad ? std::exchange(*bad, kNan) : 0.0f;
      for (const FullyMasked fully_masked : {FullyMasked::kZero, FullyMasked::kNan, FullyMasked::kUniform})
        for (const MaskedNan masked_nan : {MaskedNan::kBlocked, MaskedNan::kSpreads}) {
          CAPTURE(static_cast<int>(fully_masked));
          CAPTURE(static_cast<int>(masked_nan));
          r.problem.fully_masked = fully_masked;
          r.problem.masked_nan = masked_nan;
          CheckBackends(r);
        }
      if (bad) *bad = before;
    }
  }
}

}  // namespace
}  // namespace headlens::testing
