// SPDX-License-Identifier: Apache-2.0
/// Compares backends on random problems, compares them with Eigen, and checks properties that hold for any attention.
#include "headlens/attention.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "headlens/conventions.h"
#include "headlens/multihead.h"
#include "support.h"

namespace headlens::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

/// A random problem with everything that it borrows.
struct RandomProblem {
  Tensor q, k, v, additive;
  std::vector<std::uint8_t> boolean, padding;
  std::vector<std::int32_t> lengths;
  AttentionProblem problem;

  Index batch() const { return problem.q.shape[0]; }
  Index heads() const { return problem.q.shape[1]; }
  Index queries() const { return problem.q.shape[2]; }
  Index keys() const { return problem.k.shape[2]; }
};

RandomProblem MakeProblem(Random& random) {
  RandomProblem r;
  const Index batch = 1 + random.Below(3), groups = 1 + random.Below(3), heads = groups * (1 + random.Below(3));
  const Index queries = 1 + random.Below(40), keys = 1 + random.Below(70), width = 1 + random.Below(40),
              value_width = 1 + random.Below(40);
  // The heads lie inside rows of the model's width, as after a projection, so only the rows are dense.
  r.q = random.NormalTensor({batch, queries, heads * width});
  r.k = random.NormalTensor({batch, keys, groups * width});
  r.v = random.NormalTensor({batch, keys, groups * value_width});
  r.problem.q = SplitHeads(r.q.view<3>(), heads);
  r.problem.k = SplitHeads(r.k.view<3>(), groups);
  r.problem.v = SplitHeads(r.v.view<3>(), groups);
  r.problem.scale = random.Chance(0.7) ? DefaultScale(width) : random.Normal();
  r.problem.gqa_order = random.Chance(0.5) ? GqaOrder::kBlock : GqaOrder::kInterleaved;
  r.problem.fully_masked = static_cast<FullyMasked>(random.Below(3));
  if (random.Chance(0.3)) {
    r.problem.softcap = 0.5f + static_cast<float>(random.Below(4));
    r.problem.softcap_order = random.Chance(0.5) ? SoftcapOrder::kBeforeBias : SoftcapOrder::kAfterBias;
  }
  if (random.Chance(0.2)) {
    r.problem.dropout_p = 0.25;
    r.problem.seed = static_cast<std::uint64_t>(random.Below(1000));
  }
  Mask& mask = r.problem.mask;
  if (random.Chance(0.2)) mask.appended_keys = random.Below(std::min<Index>(keys, 3));
  const Index maskable = keys - mask.appended_keys;
  mask.causal = random.Chance(0.4);
  mask.causal_alignment = random.Chance(0.5) ? CausalAlignment::kTopLeft : CausalAlignment::kBottomRight;
  mask.boolean_keeps = random.Chance(0.5);
  const auto broadcast = [&](Index full) { return random.Chance(0.3) ? Index{0} : full; };
  if (random.Chance(0.3)) {
    for (Index i = 0; i < batch * heads * queries * maskable; ++i) r.boolean.push_back(random.Chance(0.3));
    mask.boolean = DenseView<const std::uint8_t, 4>(r.boolean.data(), {batch, heads, queries, maskable});
    for (Index& stride : mask.boolean.strides) stride = broadcast(stride);
  }
  if (random.Chance(0.3)) {
    r.additive = random.NormalTensor({batch, heads, queries, maskable});
    for (float& value : r.additive.values()) value = random.Chance(0.2) ? -kInf : value;
    mask.additive = r.additive.view<4>();
    for (Index& stride : mask.additive.strides) stride = broadcast(stride);
  }
  if (random.Chance(0.3)) {
    for (Index i = 0; i < batch * maskable; ++i) r.padding.push_back(random.Chance(0.2));
    mask.key_padding = DenseView<const std::uint8_t, 2>(r.padding.data(), {batch, maskable});
  }
  if (random.Chance(0.3)) {
    for (Index i = 0; i < batch * queries; ++i)
      r.lengths.push_back(static_cast<std::int32_t>(random.Below(maskable + 1)));
    mask.valid_lens = DenseView<const std::int32_t, 2>(r.lengths.data(), {batch, queries});
    if (random.Chance(0.5)) mask.valid_lens.strides[1] = 0;
  }
  return r;
}

/// All results that a caller can ask for.
struct AllResults {
  explicit AllResults(const AttentionProblem& p)
      : n{p.q.shape[0], p.q.shape[1], p.q.shape[2], p.k.shape[2]},
        output({n[0], n[1], n[2], p.v.shape[3]}),
        lse({n[0], n[1], n[2]}),
        mean({n[0], n[2], n[3]}) {
    for (Tensor& map : maps) map = Tensor({n[0], n[1], n[2], n[3]});
  }
  AttentionResults views() const {
    AttentionResults r;
    r.output = output.view<4>();
    r.lse = lse.view<3>();
    r.mean_weights = mean.view<3>();
    r.weights = maps[0].view<4>();
    View<float, 4>* const others[] = {&r.dropped_weights, &r.scores,        &r.scaled_scores,
                                      &r.capped_scores,   &r.biased_scores, &r.masked_scores};
    for (std::size_t i = 0; i < std::size(others); ++i) *others[i] = maps[i + 1].view<4>();
    return r;
  }
  Index n[4];
  Tensor output, lse, mean;
  Tensor maps[7];  // weights, dropped, scores, scaled, capped, biased, masked
};

/// The tolerance of fp32 results against fp64. Each score is a sum of d rounded terms, and errors of scores become
/// relative errors of weights.
struct Tolerance {
  explicit Tolerance(const RandomProblem& r, const AllResults& reference)
      : scores(static_cast<double>(r.problem.q.shape[3] + 4) * kEpsilon * MaxNorm(r.q.values()) *
               MaxNorm(r.k.values())),
        scaled(scores * std::max(1.0, std::abs(double{r.problem.scale})) +
               4 * kEpsilon * MaxNorm(reference.maps[6].values())),
        weights(4 * scaled + 8 * kEpsilon),
        output(weights * static_cast<double>(r.keys()) * (1 + MaxNorm(r.v.values())) / 4) {}
  double scores, scaled, weights, output;
};

TEST_CASE("SIMD agrees with the fp64 reference on random problems, all stages") {
  ForEachTarget([] {
    Random random(2024);
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      const RandomProblem r = MakeProblem(random);
      const AllResults reference(r.problem), simd(r.problem);
      ReferenceBackend().Attention(r.problem, reference.views());
      SimdBackend().Attention(r.problem, simd.views());
      const Tolerance tolerance(r, reference);
      const double map_tolerance[] = {tolerance.weights, 2 * tolerance.weights, tolerance.scores, tolerance.scaled,
                                      tolerance.scaled,  tolerance.scaled,      tolerance.scaled};
      for (std::size_t i = 0; i < std::size(reference.maps); ++i) {
        CAPTURE(i);
        CheckClose("map", simd.maps[i].values(), reference.maps[i].values(), map_tolerance[i]);
      }
      CheckClose("mean weights", simd.mean.values(), reference.mean.values(), tolerance.weights);
      CheckClose("lse", simd.lse.values(), reference.lse.values(),
                 2 * tolerance.scaled + 8 * kEpsilon * (1 + MaxNorm(reference.lse.values())));
      CheckClose("output", simd.output.values(), reference.output.values(), tolerance.output);
      // With only the output, nothing changes, although columns may then be skipped.
      const AllResults alone(r.problem);
      AttentionResults only;
      only.output = alone.output.view<4>();
      SimdBackend().Attention(r.problem, only);
      CheckClose("output alone", alone.output.values(), reference.output.values(), tolerance.output);
    }
  });
}

TEST_CASE("plain attention against Eigen") {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Random random(1);
  const Tensor q = random.NormalTensor({1, 1, 19, 24}), k = random.NormalTensor({1, 1, 37, 24}),
               v = random.NormalTensor({1, 1, 37, 11});
  AttentionProblem problem;
  problem.q = q.view<4>();
  problem.k = k.view<4>();
  problem.v = v.view<4>();
  problem.scale = DefaultScale(24);
  const auto map = [](const Tensor& t, Index rows, Index cols) {
    return Eigen::Map<const FloatMatrix>(t.data(), rows, cols).cast<double>();
  };
  const Matrix scores = map(q, 19, 24) * map(k, 37, 24).transpose() / std::sqrt(24.0);
  Matrix weights = (scores.colwise() - scores.rowwise().maxCoeff()).array().exp().matrix();
  weights = weights.array().colwise() / weights.rowwise().sum().array();
  const FloatMatrix expected = (weights * map(v, 37, 11)).cast<float>();
  for (const Backend* backend : TestBackends()) {
    CAPTURE(backend->name());
    Tensor output({1, 1, 19, 11});
    AttentionResults results;
    results.output = output.view<4>();
    backend->Attention(problem, results);
    CheckClose("output", output.values(), {expected.data(), static_cast<std::size_t>(expected.size())},
               24 * kEpsilon * MaxNorm(v.values()));
  }
}

/// The weights and output of a problem on a backend.
struct Solved {
  Solved(const Backend& backend, const AttentionProblem& p)
      : weights({p.q.shape[0], p.q.shape[1], p.q.shape[2], p.k.shape[2]}),
        output({p.q.shape[0], p.q.shape[1], p.q.shape[2], p.v.shape[3]}) {
    AttentionResults results;
    results.weights = weights.view<4>();
    results.output = output.view<4>();
    backend.Attention(p, results);
  }
  Tensor weights, output;
};

TEST_CASE("rows sum to 1 or, fully masked, to 0; masked cells are exactly 0") {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    RandomProblem r = MakeProblem(random);
    r.problem.fully_masked = FullyMasked::kZero;
    for (const Backend* backend : TestBackends()) {
      const Solved solved(*backend, r.problem);
      for (Index b = 0; b < r.batch(); ++b)
        for (Index h = 0; h < r.heads(); ++h)
          for (Index t = 0; t < r.queries(); ++t) {
            double sum = 0.0;
            bool any = false, zeros = true;
            for (Index s = 0; s < r.keys(); ++s) {
              const float weight = solved.weights.view<4>()(b, h, t, s);
              const bool masked = IsMasked(r.problem, b, h, t, s);
              any |= !masked;
              zeros &= !masked || weight == 0.0f;
              sum += double{weight};
            }
            CHECK(zeros);
            CHECK(std::abs(sum - (any ? 1.0 : 0.0)) <= static_cast<double>(r.keys()) * kEpsilon);
          }
    }
  }
}

TEST_CASE("a NaN or infinity behind a mask reaches nothing") {
  Random random(6);
  int spoiled = 0;
  for (int round = 0; round < 80; ++round) {
    RandomProblem r = MakeProblem(random);
    r.problem.fully_masked = FullyMasked::kZero;
    for (const Backend* backend : TestBackends()) {
      const Solved clean(*backend, r.problem);
      const Tensor k = r.k.Clone(), v = r.v.Clone();
      // Put NaN into each key that no query of its heads may look at.
      for (Index b = 0; b < r.batch(); ++b)
        for (Index s = 0; s < r.keys(); ++s)
          for (Index g = 0; g < r.problem.k.shape[1]; ++g) {
            bool seen = false;
            for (Index h = 0; h < r.heads(); ++h)
              for (Index t = 0; t < r.queries(); ++t)
                seen |= KvHead(r.problem, h) == g && !IsMasked(r.problem, b, h, t, s);
            if (seen) continue;
            ++spoiled;
            SplitHeads(r.k.view<3>(), r.problem.k.shape[1])(b, g, s, 0) = kNan;
            SplitHeads(r.v.view<3>(), r.problem.k.shape[1])(b, g, s, 0) = round % 2 ? kInf : kNan;
          }
      const Solved dirty(*backend, r.problem);
      CheckClose("weights", dirty.weights.values(), clean.weights.values(), 0.0);
      CheckClose("output", dirty.output.values(), clean.output.values(), 16 * kEpsilon * (1 + MaxNorm(v.values())));
      std::copy_n(k.data(), k.size(), r.k.data());
      std::copy_n(v.data(), v.size(), r.v.data());
    }
  }
  CHECK(spoiled > 100);
}

TEST_CASE("additive −∞ equals a boolean mask") {
  Random random(8);
  for (const Backend* backend : TestBackends()) {
    RandomProblem r = MakeProblem(random);
    r.problem.mask = {};
    std::vector<std::uint8_t> keep(static_cast<std::size_t>(r.queries() * r.keys()));
    Tensor additive({1, 1, r.queries(), r.keys()});
    for (std::size_t i = 0; i < keep.size(); ++i) {
      keep[i] = random.Chance(0.6);
      additive.values()[i] = keep[i] ? 0.0f : -kInf;
    }
    const std::array<Index, 4> shape = {r.batch(), r.heads(), r.queries(), r.keys()}, strides = {0, 0, r.keys(), 1};
    r.problem.mask.boolean = {keep.data(), shape, strides};
    const Solved boolean(*backend, r.problem);
    r.problem.mask = {};
    r.problem.mask.additive = {additive.data(), shape, strides};
    const Solved added(*backend, r.problem);
    // A backend may apply the scale to the scores or together with the exponentials.
    const double rounding = 8 * kEpsilon *
                            (1 + MaxNorm(r.q.values()) * MaxNorm(r.k.values()) * std::abs(double{r.problem.scale}) *
                                     static_cast<double>(r.problem.q.shape[3]));
    CheckClose("weights", added.weights.values(), boolean.weights.values(), rounding);
    CheckClose("output", added.output.values(), boolean.output.values(),
               rounding * static_cast<double>(r.keys()) * MaxNorm(r.v.values()));
  }
}

TEST_CASE("order-blind: permuting the keys and values changes nothing; a strip of a causal map is the same rows") {
  Random random(10);
  for (const Backend* backend : TestBackends()) {
    const Index length = 33, width = 12;
    const Tensor q = random.NormalTensor({1, 1, length, width}), k = random.NormalTensor({1, 1, length, width}),
                 v = random.NormalTensor({1, 1, length, width});
    Tensor k_reversed = k.Clone(), v_reversed = v.Clone();
    for (Index s = 0; s < length; ++s) {
      std::copy_n(k.view<4>().at(0, 0, s), width, k_reversed.view<4>().at(0, 0, length - 1 - s));
      std::copy_n(v.view<4>().at(0, 0, s), width, v_reversed.view<4>().at(0, 0, length - 1 - s));
    }
    AttentionProblem problem;
    problem.q = q.view<4>();
    problem.k = k.view<4>();
    problem.v = v.view<4>();
    problem.scale = DefaultScale(width);
    const Solved straight(*backend, problem);
    problem.k = k_reversed.view<4>();
    problem.v = v_reversed.view<4>();
    CheckClose("output", Solved(*backend, problem).output.values(), straight.output.values(),
               32 * kEpsilon * MaxNorm(v.values()));

    problem.k = k.view<4>();
    problem.v = v.view<4>();
    problem.mask.causal = true;
    const Solved whole(*backend, problem);
    problem.q = {q.view<4>().at(0, 0, 20), {1, 1, 5, width}, q.view<4>().strides};
    problem.query_offset = 20;
    const Solved strip(*backend, problem);
    CheckClose("strip", strip.weights.values(), whole.weights.values().subspan(20 * length, 5 * length), 8 * kEpsilon);
  }
}

TEST_CASE("dropout: seeded, the same on every backend, at its rate, and scaled") {
  Random random(12);
  RandomProblem r = MakeProblem(random);
  const Tensor q = random.NormalTensor({2, 4, 50, 8}), k = random.NormalTensor({2, 4, 60, 8});
  AttentionProblem problem;
  problem.q = q.view<4>();
  problem.k = problem.v = k.view<4>();
  problem.scale = DefaultScale(8);
  problem.dropout_p = 0.3;
  problem.seed = 42;
  std::vector<Tensor> kept;
  for (const Backend* backend : TestBackends()) {
    Tensor dropped({2, 4, 50, 60}), weights({2, 4, 50, 60});
    AttentionResults results;
    results.dropped_weights = dropped.view<4>();
    results.weights = weights.view<4>();
    backend->Attention(problem, results);
    Index zeros = 0;
    for (Index i = 0; i < dropped.size(); ++i) {
      zeros += dropped.data()[i] == 0.0f;
      if (dropped.data()[i] != 0.0f)
        CHECK(dropped.data()[i] == doctest::Approx(weights.data()[i] / 0.7f).epsilon(1e-5));
    }
    const double rate = static_cast<double>(zeros) / static_cast<double>(dropped.size());
    CHECK(std::abs(rate - 0.3) < 5 * std::sqrt(0.3 * 0.7 / static_cast<double>(dropped.size())));
    kept.push_back(std::move(dropped));
  }
  for (const Tensor& other : kept)
    for (Index i = 0; i < other.size(); ++i) CHECK((other.data()[i] == 0.0f) == (kept[0].data()[i] == 0.0f));
  problem.seed = 43;
  Tensor other({2, 4, 50, 60});
  AttentionResults results;
  results.dropped_weights = other.view<4>();
  SimdBackend().Attention(problem, results);
  CHECK(!std::equal(other.values().begin(), other.values().end(), kept[0].values().begin()));
}

TEST_CASE("conventions by name set every point on which libraries disagree") {
  AttentionSettings settings;
  Choose(FindConventions("torch-mha"), settings);
  CHECK_FALSE(settings.mask.boolean_keeps);
  CHECK(settings.fully_masked == FullyMasked::kNan);
  Choose(FindConventions("torch-sdpa"), settings);
  CHECK(settings.mask.boolean_keeps);
  CHECK(settings.fully_masked == FullyMasked::kZero);
  CHECK(settings.masked_nan == MaskedNan::kSpreads);
  Choose(FindConventions("onnx"), settings);
  CHECK(settings.masked_nan == MaskedNan::kBlocked);
  CHECK(settings.mask.causal_alignment == CausalAlignment::kBottomRight);
  Refused(ErrorCode::kOption, "conventions is \"numpy\", expected one of \"torch-mha\", \"torch-sdpa\", \"onnx\"",
          [] { FindConventions("numpy"); });
}

TEST_CASE("a layer takes and gives [B, T, D] and [T, B, D] memory, in any mixture") {
  Random random(31);
  const Index batch = 3, length = 4, width = 8;
  const TensorMap parameters = [&] {
    TensorMap all;
    all.emplace("in_proj_weight", random.NormalTensor({3 * width, width}));
    all.emplace("in_proj_bias", random.NormalTensor({3 * width}));
    all.emplace("out_proj.weight", random.NormalTensor({width, width}));
    all.emplace("out_proj.bias", random.NormalTensor({width}));
    return all;
  }();
  const Tensor batch_first = random.NormalTensor({batch, length, width}), step_first({length, batch, width});
  const View<const float, 3> plain = batch_first.view<3>();
  const View<float, 3> turned{step_first.data(), {batch, length, width}, {width, batch * width, 1}};
  for (Index b = 0; b < batch; ++b)
    for (Index t = 0; t < length; ++t) std::copy_n(plain.at(b, t), width, turned.at(b, t));
  for (const Backend* backend : TestBackends()) {
    CAPTURE(backend->name());
    MultiheadConfig config;
    config.embed_dim = width;
    config.num_heads = 2;
    const MultiheadAttention layer(config, parameters, *backend);
    const auto run = [&](unsigned order, const View<float, 3>& output) {
      const auto input = [&](unsigned bit) { return order & bit ? View<const float, 3>(turned) : plain; };
      MultiheadInputs inputs;
      inputs.query = input(1);
      inputs.key = input(2);
      inputs.value = input(4);
      MultiheadResults results;
      results.output = output;
      layer.Forward(inputs, results);
    };
    const Tensor expected({batch, length, width}), got({batch, length, width});
    run(0, expected.view<3>());
    // Rows that lie far apart are multiplied one at a time, for which the OpenCL backend has a kernel that sums in
    // another order.
    const double tolerance =
        backend->name() == "opencl" ? (width + 4) * (width + 4) * kEpsilon * MaxNorm(expected.values()) : 0.0;
    for (unsigned order = 0; order < 16; ++order) {
      CAPTURE(order);
      const View<float, 3> there = order & 8 ? View<float, 3>{got.data(), turned.shape, turned.strides} : got.view<3>();
      run(order, there);
      for (Index b = 0; b < batch; ++b)
        for (Index t = 0; t < length; ++t)
          CheckClose("output", {there.at(b, t), width}, {expected.view<3>().at(b, t), width}, tolerance);
    }
  }
}

TEST_CASE("degenerate sizes: no queries, no keys, no batch") {
  for (const Backend* backend : TestBackends()) {
    for (const auto& [batch, queries, keys] : {std::tuple<Index, Index, Index>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}}) {
      const Tensor q({batch, 2, queries, 4}), k({batch, 2, keys, 4});
      std::fill_n(q.data(), q.size(), 1.0f);
      std::fill_n(k.data(), k.size(), 1.0f);
      AttentionProblem problem;
      problem.q = q.view<4>();
      problem.k = problem.v = k.view<4>();
      const Solved solved(*backend, problem);
      for (const float value : solved.output.values()) CHECK(value == (keys == 0 ? 0.0f : 1.0f));
    }
  }
}

TEST_CASE("every rule about sizes has its own message, and both shapes are named") {
  const Tensor q({2, 4, 3, 8});
  const auto message = [&](const std::function<void(AttentionProblem&, AttentionResults&)>& spoil) -> std::string {
    AttentionProblem problem;
    problem.q = q.view<4>();
    problem.k = problem.v = q.view<4>();
    AttentionResults results;
    spoil(problem, results);
    std::string first;
    for (const Backend* backend : TestBackends()) {
      try {
        backend->Attention(problem, results);
        FAIL("no Error was thrown");
      } catch (const Error& error) {
        if (first.empty()) first = error.what();
        CHECK(first == error.what());
      }
    }
    return first;
  };
  const Tensor other({3, 4, 3, 8}), narrow({2, 4, 3, 7}), heads({2, 3, 3, 8}), mask({2, 4, 3, 2}), lens({2, 2});
  CHECK(message([&](auto& p, auto&) { p.k = other.view<4>(); }) ==
        "k has shape (3, 4, 3, 8), expected (2, 4, 3, 8): the batch and head width of q");
  CHECK(message([&](auto& p, auto&) { p.k = narrow.view<4>(); }) ==
        "k has shape (2, 4, 3, 7), expected (2, 4, 3, 8): the batch and head width of q");
  CHECK(message([&](auto& p, auto&) {
          p.k = p.v = heads.view<4>();
        }).find("expected a number of heads that divides the 4 of q") != std::string::npos);
  CHECK(message([&](auto& p, auto&) {
          p.v = heads.view<4>();
        }).find("v has shape (2, 3, 3, 8), expected (2, 4, 3, 8)") == 0);
  CHECK(message([&](auto& p, auto&) { p.mask.additive = mask.view<4>(); }).find("attn_mask has shape (2, 4, 3, 2)") ==
        0);
  CHECK(message([&](auto& p, auto&) { p.dropout_p = 1.5; }).find("dropout_p is 1.5, expected 0 to 1") == 0);
  CHECK(message([&](auto& p, auto&) { p.scale = kNan; }) == "scale is NaN, expected a finite number");
  CHECK(message([&](auto& p, auto&) { p.softcap = -1.0f; }).find("softcap") == 0);
  CHECK(message([&](auto&, auto& r) {
          r.weights = mask.view<4>();
        }).find("weights has shape (2, 4, 3, 2), expected (2, 4, 3, 3)") == 0);
  Tensor bad({2, 4, 3, 3});
  std::fill_n(bad.data(), bad.size(), 0.0f);
  bad.data()[5] = kNan;
  CHECK(message([&](auto& p, auto&) { p.mask.additive = bad.view<4>(); }) ==
        "attn_mask holds NaN at (0, 0, 1, 2), expected finite numbers or -inf");
}

}  // namespace
}  // namespace headlens::testing
