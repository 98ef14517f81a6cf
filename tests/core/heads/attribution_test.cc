// SPDX-License-Identifier: Apache-2.0
#include "headlens/attribution.h"

#include <cmath>
#include <limits>

#include "support.h"

namespace headlens::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Weights [layers, heads, T, T] with which every token looks at itself.
Tensor Identity(Index layers, Index heads, Index length) {
  Tensor weights({layers, heads, length, length},
                 std::vector<float>(static_cast<std::size_t>(layers * heads * length * length), 0.0f));
  for (Index l = 0; l < layers; ++l)
    for (Index h = 0; h < heads; ++h)
      for (Index i = 0; i < length; ++i) weights.view<4>()(l, h, i, i) = 1.0f;
  return weights;
}

View<const float, 2> HeadOf(const Tensor& x, Index h) {
  return DenseView<const float>(x.view<3>().at(h), std::array<Index, 2>{x.shape()[1], x.shape()[2]});
}
View<const float, 3> LayerOf(const Tensor& x, Index l) {
  return DenseView<const float>(x.view<4>().at(l), std::array<Index, 3>{x.shape()[1], x.shape()[2], x.shape()[3]});
}

doctest::Approx About(double expected) { return doctest::Approx(expected).epsilon(1e-6); }

void CheckMatrix(const char* what, const Matrix& got, const Matrix& expected, double tolerance) {
  REQUIRE(got.rows() == expected.rows());
  REQUIRE(got.columns() == expected.columns());
  for (Index i = 0; i < got.rows(); ++i)
    for (Index j = 0; j < got.columns(); ++j)
      CHECK_MESSAGE(std::abs(got(i, j) - expected(i, j)) <= tolerance, what, " (", i, ", ", j, "): ", got(i, j),
                    " instead of ", expected(i, j));
}

TEST_CASE("Jensen-Shannon: 0 for equal heads, ln 2 a row for heads that share nothing, the definition in between") {
  Random random(1);
  Tensor weights = RandomWeights(random, {3, 6, 6}, true);
  std::copy_n(weights.view<3>().at(0), 36, weights.view<3>().at(2));
  const double smoothing = 0.001;
  const Matrix js = JensenShannon(weights.view<3>(), {.causal = true}, smoothing);
  CHECK(js(0, 2) == 0.0);
  CHECK(js(1, 1) == 0.0);
  CHECK(js(0, 1) == js(1, 0));
  double expected = 0.0;
  for (Index i = 0; i < 6; ++i) {
    for (Index j = 0; j < 6; ++j) {
      const double a = 0.999 * double{weights.view<3>()(0, i, j)} + 0.001 / 6,
                   b = 0.999 * double{weights.view<3>()(1, i, j)} + 0.001 / 6, m = (a + b) / 2;
      expected += (a * std::log(a / m) + b * std::log(b / m)) / 2;
    }
  }
  CHECK(js(0, 1) == About(expected));

  Tensor apart({2, 4, 4}, std::vector<float>(32, 0.0f));
  for (Index i = 0; i < 4; ++i) apart.view<3>()(0, i, i) = apart.view<3>()(1, i, (i + 1) % 4) = 1.0f;
  CHECK(JensenShannon(apart.view<3>(), {}, 0.0)(0, 1) == About(4 * std::log(2.0)));
  const std::vector<std::uint8_t> padded = {0, 0, 0, 1};
  CHECK(JensenShannon(apart.view<3>(), {.padded_queries = padded}, 0.0)(0, 1) == About(3 * std::log(2.0)));

  apart.data()[0] = 0.5f;
  Refused(ErrorCode::kValue, "weights of head 0 have rows that do not sum to 1, expected",
          [&] { JensenShannon(apart.view<3>()); });
  apart.data()[0] = kNan;
  Refused(ErrorCode::kValue, "is NaN", [&] { JensenShannon(apart.view<3>()); });
  Refused(ErrorCode::kValue, "smoothing", [&] { JensenShannon(weights.view<3>(), {}, 2.0); });
  Refused(ErrorCode::kShape, "at least one element", [&] { JensenShannon({}); });
}

/// A random attention layer with its summands u_ij [T, S, D].
struct RandomLayer {
  Index heads = 3, length = 5, value_width = 4, width = 7;
  Tensor weights, values, out_weight;

  explicit RandomLayer(std::uint64_t seed) {
    Random random(seed);
    weights = RandomWeights(random, {heads, length, length}, true);
    values = random.NormalTensor({heads, length, value_width});
    out_weight = random.NormalTensor({width, heads * value_width}, 0.4f);
  }

  AttentionSummands summands() const { return {weights.view<3>(), values.view<3>(), out_weight.view<2>()}; }

  std::vector<double> Summand(Index i, Index j, std::optional<Index> only = {}) const {
    std::vector<double> u(static_cast<std::size_t>(width), 0.0);
    for (Index h = 0; h < heads; ++h) {
      if (only && h != *only) continue;
      for (Index e = 0; e < width; ++e)
        for (Index c = 0; c < value_width; ++c)
          u[static_cast<std::size_t>(e)] += double{weights.view<3>()(h, i, j)} * double{values.view<3>()(h, j, c)} *
                                            double{out_weight.view<2>()(e, h * value_width + c)};
    }
    return u;
  }
};

double NormOf(const std::vector<double>& u) {
  double sum = 0.0;
  for (const double x : u) sum += x * x;
  return std::sqrt(sum);
}

TEST_CASE("norms of summands: a head's, and the layer's by Gram matrices") {
  const RandomLayer layer(2);
  Matrix expected(5, 5);
  for (Index h = 0; h < layer.heads; ++h) {
    const Tensor transformed = TransformedValues(HeadOf(layer.values, h), layer.out_weight.view<2>(), h);
    for (Index i = 0; i < 5; ++i)
      for (Index j = 0; j < 5; ++j) expected(i, j) = NormOf(layer.Summand(i, j, h));
    CheckMatrix("head", WeightedNorms(HeadOf(layer.weights, h), transformed.view<2>()), expected, 1e-6);
  }
  for (Index i = 0; i < 5; ++i)
    for (Index j = 0; j < 5; ++j) expected(i, j) = NormOf(layer.Summand(i, j));
  CheckMatrix("layer", LayerNorms(layer.summands()), expected, 1e-12);
  // Only its own query looks at the last key. Without that row, NaN in its values has no effect.
  const std::vector<std::uint8_t> padded = {0, 0, 0, 0, 1};
  AttentionSummands padding = layer.summands();
  padding.info.padded_queries = padded;
  for (Index h = 0; h < layer.heads; ++h) layer.values.view<3>()(h, 4, 1) = kNan;
  for (Index j = 0; j < 5; ++j) expected(4, j) = 0.0;
  CheckMatrix("padded", LayerNorms(padding), expected, 1e-12);
  Refused(ErrorCode::kValue, "what head 0 makes of key 4", [&] { LayerNorms(layer.summands()); });
  Refused(ErrorCode::kShape, "values", [&] {
    AttentionSummands wrong = layer.summands();
    wrong.values.shape[1] = 4;
    LayerNorms(wrong);
  });
  Refused(ErrorCode::kShape, "out_weight",
          [&] { TransformedValues(HeadOf(layer.values, 0), layer.out_weight.view<2>(), 3); });
}

TEST_CASE("value-weighted maps: the largest value counts 1") {
  const Tensor weights({2, 2}, std::vector<float>{1, 0, 0.25f, 0.75f});
  const Tensor values({2, 2}, std::vector<float>{3, 4, 0, 1});
  const Matrix weighted = ValueWeighted(weights.view<2>(), values.view<2>());
  CHECK(weighted(0, 0) == 1.0);
  CHECK(weighted(1, 0) == About(0.25));
  CHECK(weighted(1, 1) == About(0.75 / 5));
  const Tensor zeros({2, 2}, std::vector<float>(4, 0.0f));
  CHECK(ValueWeighted(weights.view<2>(), zeros.view<2>())(1, 1) == 0.0);
  Refused(ErrorCode::kShape, "values", [&] { ValueWeighted(weights.view<2>(), Tensor({3, 2}).view<2>()); });
}

TEST_CASE("value-weighted maps: the largest of all keys that may be looked at, and of no other") {
  const Tensor weights({2, 3}, std::vector<float>{1, 0, 0, 0.5f, 0.5f, 0});
  const Tensor values({3, 2}, std::vector<float>{3, 4, 0, 1, 6, 8});
  // No query looks at key 2, but all of them may.
  CHECK(ValueWeighted(weights.view<2>(), values.view<2>())(0, 0) == About(0.5));
  values.data()[4] = kNan;
  Refused(ErrorCode::kValue, "the norm of a key's vector is NaN",
          [&] { ValueWeighted(weights.view<2>(), values.view<2>()); });
  const std::vector<std::uint8_t> padded_keys = {0, 0, 1}, padded_queries = {0, 1};
  for (const MapInfo& info : {MapInfo{.causal = true}, MapInfo{.padded_keys = padded_keys}}) {
    const Matrix weighted = ValueWeighted(weights.view<2>(), values.view<2>(), info);
    CHECK(weighted(0, 0) == 1.0);
    CHECK(weighted(1, 1) == About(0.5 / 5));
    CHECK(WeightedNorms(weights.view<2>(), values.view<2>(), info)(1, 0) == About(2.5));
  }
  // Without the second query no query may look at key 1, and its row stays zeros whatever it holds.
  values.data()[3] = kNan;
  weights.data()[4] = kNan;
  const Matrix first = ValueWeighted(weights.view<2>(), values.view<2>(),
                                     {.causal = true, .padded_queries = padded_queries, .padded_keys = padded_keys});
  CHECK(first(0, 0) == 1.0);
  for (Index j = 0; j < 3; ++j) CHECK(first(1, j) == 0.0);
}

TEST_CASE("padded tokens mix nothing and lose nothing, whatever they hold") {
  const RandomLayer layer(3);
  Random random(4);
  const Tensor residual = random.NormalTensor({5, 7});
  const MixingOptions options{.residual = residual.view<2>()};
  const auto whole = MixingRatio(layer.summands(), options);
  const Matrix zeroing = ValueZeroing(layer.summands(), {}, residual.view<2>());
  // With a causal mask, earlier tokens do not see the last one.
  const std::vector<std::uint8_t> padded = {0, 0, 0, 0, 1};
  for (Index j = 0; j < 5; ++j) layer.weights.view<3>()(1, 4, j) = kNan;
  residual.view<2>()(4, 0) = layer.values.view<3>()(2, 4, 0) = kNan;
  AttentionSummands padding = layer.summands();
  padding.info = {.causal = true, .padded_queries = padded, .padded_keys = padded};
  const auto ratios = MixingRatio(padding, options);
  const Matrix without = ValueZeroing(padding, {}, residual.view<2>());
  for (std::size_t i = 0; i < 4; ++i) CHECK(*ratios[i] == About(*whole[i]));
  CHECK(!ratios[4]);
  for (Index i = 0; i < 5; ++i)
    for (Index j = 0; j < 5; ++j) CHECK(without(i, j) == About(i < 4 ? zeroing(i, j) : 0.0));
}

TEST_CASE("mixing ratio: by definition, with residual and layer norm; 0 for a head that looks at itself") {
  const RandomLayer layer(3);
  Random random(4);
  const Tensor residual = random.NormalTensor({5, 7}), gamma = random.NormalTensor({7});
  const MixingOptions options{residual.view<2>(), gamma.values(), 1e-5};
  const auto plain = MixingRatio(layer.summands()), full = MixingRatio(layer.summands(), options);
  for (Index i = 0; i < 5; ++i) {
    std::vector<double> own = layer.Summand(i, i), others(7, 0.0);
    for (Index j = 0; j < 5; ++j)
      for (std::size_t e = 0; j != i && e < 7; ++e) others[e] += layer.Summand(i, j)[e];
    CHECK(*plain[static_cast<std::size_t>(i)] == About(NormOf(others) / (NormOf(others) + NormOf(own))));
    for (std::size_t e = 0; e < 7; ++e) own[e] += double{residual.view<2>()(i, static_cast<Index>(e))};
    // The layer norm is applied to each part alone, since the common scale cancels in the ratio.
    for (std::vector<double>* u : {&own, &others}) {
      double mean = 0.0;
      for (const double x : *u) mean += x / 7;
      for (std::size_t e = 0; e < 7; ++e) (*u)[e] = ((*u)[e] - mean) * double{gamma.data()[e]};
    }
    CHECK(*full[static_cast<std::size_t>(i)] == About(NormOf(others) / (NormOf(others) + NormOf(own))));
  }
  CHECK(*plain[0] == 0.0);  // causal: the first token sees only itself
  const Tensor nothing({3, 5, 5}, std::vector<float>(75, 0.0f));
  AttentionSummands none = layer.summands();
  none.weights = nothing.view<3>();
  CHECK(!MixingRatio(none)[0]);
  gamma.data()[0] = kNan;
  Refused(ErrorCode::kValue, "layer_norm", [&] { MixingRatio(layer.summands(), options); });
}

TEST_CASE("value zeroing: the closed form agrees with running the layer without each value") {
  const RandomLayer layer(5);
  Random random(6);
  const Tensor residual = random.NormalTensor({5, 7}), bias = random.NormalTensor({7});
  const auto forward = [&](Index zeroed, View<float, 2> output) {
    for (Index i = 0; i < 5; ++i) {
      std::vector<double> sum(7, 0.0);
      for (Index j = 0; j < 5; ++j)
        for (std::size_t e = 0; j != zeroed && e < 7; ++e) sum[e] += layer.Summand(i, j)[e];
      for (Index e = 0; e < 7; ++e)
        output(i, e) = static_cast<float>(sum[static_cast<std::size_t>(e)] + double{bias.data()[e]} +
                                          double{residual.view<2>()(i, e)});
    }
  };
  const Matrix run = ValueZeroing(5, 5, 7, forward);
  CheckMatrix("closed form", ValueZeroing(layer.summands(), bias.values(), residual.view<2>()), run, 1e-4);
  for (Index i = 0; i < 5; ++i) {
    double sum = 0.0;
    for (Index j = 0; j < 5; ++j) {
      sum += run(i, j);
      CHECK((j <= i || run(i, j) == 0.0));
    }
    CHECK(sum == About(1.0));
  }
  const Matrix nothing = ValueZeroing(2, 2, 3, [](Index, View<float, 2> y) { std::fill_n(y.data, 6, 1.0f); });
  for (const double x : nothing.values()) CHECK(std::abs(x) < 1e-12);
  Refused(ErrorCode::kValue, "output without token -1",
          [] { ValueZeroing(1, 1, 1, [](Index, View<float, 2> y) { y(0, 0) = kNan; }); });
}

Matrix RolloutOf(const Tensor& weights, const RolloutOptions& options = {}) {
  Rollout rollout(options);
  for (Index l = 0; l < weights.shape()[0]; ++l) rollout.Add(LayerOf(weights, l));
  Matrix copy(rollout.result().rows(), rollout.result().columns());
  std::copy(rollout.result().values().begin(), rollout.result().values().end(), copy.values().begin());
  return copy;
}

TEST_CASE("rollout: identity stays identity, one layer is 0.5 A + 0.5 I, more are products") {
  const Matrix identity = RolloutOf(Identity(3, 2, 4));
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 4; ++j) CHECK(identity(i, j) == (i == j ? 1.0 : 0.0));

  Random random(8);
  const Tensor weights = RandomWeights(random, {3, 2, 5, 5});
  const auto layer = [&](Index l, Index i, Index j) {
    return (double{weights.view<4>()(l, 0, i, j)} + double{weights.view<4>()(l, 1, i, j)}) / 4 + (i == j ? 0.5 : 0.0);
  };
  Matrix expected(5, 5);
  for (Index l = 0; l < 3; ++l) {
    Matrix product(5, 5);
    for (Index i = 0; i < 5; ++i)
      for (Index j = 0; j < 5; ++j) {
        if (l == 0) product(i, j) = layer(0, i, j);
        for (Index k = 0; l > 0 && k < 5; ++k) product(i, j) += layer(l, i, k) * expected(k, j);
      }
    expected = std::move(product);
  }
  CheckMatrix("rollout", RolloutOf(weights), expected, 1e-7);
  Matrix last(5, 5);
  for (Index i = 0; i < 5; ++i)
    for (Index j = 0; j < 5; ++j) last(i, j) = layer(2, i, j);
  CheckMatrix("last layer only", RolloutOf(weights, {.start_layer = 2}), last, 1e-7);
  for (const HeadFusion fusion : {HeadFusion::kMean, HeadFusion::kMax, HeadFusion::kMin}) {
    const Matrix fused = RolloutOf(weights, {.fusion = fusion, .discard_ratio = 0.4});
    for (Index i = 0; i < 5; ++i) {
      double sum = 0.0;
      for (const double x : fused.row(i)) sum += x;
      CHECK(sum == About(1.0));
    }
  }
}

TEST_CASE("heads are fused by mean, largest or smallest, and the smallest weights discarded") {
  const Tensor weights({2, 2, 2}, std::vector<float>{1, 0, 0.5f, 0.5f, 0.6f, 0.4f, 0.1f, 0.9f});
  const auto row = [&](HeadFusion fusion, double discard, Index i) {
    const Matrix fused = FuseHeads(weights.view<3>(), fusion, discard);
    return std::pair(fused(i, 0), fused(i, 1));
  };
  CHECK(row(HeadFusion::kMean, 0, 0).second == About(0.2 / 2));
  CHECK(row(HeadFusion::kMax, 0, 0).second == About(0.4 / 2.4));
  CHECK(row(HeadFusion::kMin, 0, 0).second == 0.0);
  CHECK(row(HeadFusion::kMean, 0.25, 0).second == 0.0);  // 0.2 is the smallest of 0.8, 0.2, 0.3, 0.7
  CHECK(row(HeadFusion::kMean, 0.25, 1).first == About(0.3 / 2));
  CHECK(row(HeadFusion::kMean, 0.5, 1).first == 0.0);
}

TEST_CASE("rollout and flow: a padded token keeps itself alone, and reaches no other") {
  // Left padding: row 0 holds NaN.
  const Tensor weights({2, 1, 3, 3}, std::vector<float>{kNan, kNan, kNan, 0, 1, 0, 0, 0.5f, 0.5f,  //
                                                        kNan, kNan, kNan, 0, 1, 0, 0, 0.5f, 0.5f});
  const std::vector<std::uint8_t> padded = {1, 0, 0};
  const MapInfo info{.causal = true, .padded_queries = padded, .padded_keys = padded};
  Matrix expected(3, 3);
  expected(0, 0) = expected(1, 1) = 1.0;
  expected(2, 1) = 0.25;
  expected(2, 2) = 0.75;
  for (const HeadFusion fusion : {HeadFusion::kMean, HeadFusion::kMax, HeadFusion::kMin})
    CheckMatrix("layer", FuseHeads(LayerOf(weights, 0), fusion, 0.0, info), expected, 1e-12);
  expected(2, 1) = 0.25 + 0.75 * 0.25;
  expected(2, 2) = 0.75 * 0.75;
  CheckMatrix("rollout", RolloutOf(weights, {.info = info}), expected, 1e-12);
  // From token 2: 0.75 goes to itself, and 0.25 to token 1, once directly and once through itself.
  expected(2, 1) = 0.5 / 1.25;
  expected(2, 2) = 0.75 / 1.25;
  CheckMatrix("flow", AttentionFlow(weights.view<4>(), {.info = info}).value(), expected, 1e-12);
  Refused(ErrorCode::kValue, "weights[0, 0] is NaN", [&] { RolloutOf(weights); });
}

TEST_CASE("rollout refuses what it cannot roll out") {
  Refused(ErrorCode::kValue, "discard_ratio", [] { Rollout({.discard_ratio = 1.0}); });
  Refused(ErrorCode::kValue, "discard_ratio", [] { Rollout({.discard_ratio = std::nan("")}); });
  Refused(ErrorCode::kValue, "start_layer", [] { Rollout({.start_layer = -1}); });
  Refused(ErrorCode::kValue, "expected less than 1, the number of layers", [] {
    Rollout rollout({.start_layer = 1});
    rollout.Add(LayerOf(Identity(1, 1, 2), 0));
    rollout.result();
  });
  Refused(ErrorCode::kShape, "layer", [] {
    Rollout rollout;
    rollout.Add(LayerOf(Identity(1, 1, 2), 0));
    rollout.Add(LayerOf(Identity(1, 1, 3), 0));
  });
  Refused(ErrorCode::kShape, "expected (1, 2, 2)", [] { FuseHeads(Tensor({1, 2, 3}).view<3>()); });
}

/// The smallest capacity of a cut between the two nodes, over all sets of nodes. It equals the maximal flow.
double LeastCut(const Tensor& weights, Index source, Index sink) {
  const Index layers = weights.shape()[0], length = weights.shape()[2], nodes = (layers + 1) * length;
  std::vector<Matrix> fused;
  for (Index l = 0; l < layers; ++l) fused.push_back(FuseHeads(LayerOf(weights, l)));
  double least = std::numeric_limits<double>::infinity();
  for (unsigned set = 0; set < 1u << nodes; ++set) {
    const auto inside = [&](Index node) { return (set >> node & 1u) != 0; };
    if (!inside(layers * length + source) || inside(sink)) continue;
    double cut = 0.0;
    for (Index l = 0; l < layers; ++l)
      for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j)
          if (inside((l + 1) * length + i) && !inside(l * length + j)) cut += fused[static_cast<std::size_t>(l)](i, j);
    least = std::min(least, cut);
  }
  return least;
}

TEST_CASE("flow is the least cut, by trying all of them") {
  Random random(9);
  for (const auto& [layers, length, causal] :
       {std::tuple<Index, Index, bool>{1, 4, false}, {2, 3, false}, {2, 4, true}, {3, 3, false}}) {
    const Tensor weights = RandomWeights(random, {layers, 2, length, length}, causal);
    const Matrix flow = AttentionFlow(weights.view<4>()).value();
    for (Index i = 0; i < length; ++i) {
      double sum = 0.0;
      for (Index j = 0; j < length; ++j) sum += LeastCut(weights, i, j);
      for (Index j = 0; j < length; ++j) CHECK(flow(i, j) == About(LeastCut(weights, i, j) / sum));
    }
  }
  const Matrix identity = AttentionFlow(Identity(3, 2, 4).view<4>()).value();
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 4; ++j) CHECK(identity(i, j) == (i == j ? 1.0 : 0.0));
}

TEST_CASE("flow: too many tokens are refused, and it can be stopped") {
  const Tensor many = Identity(1, 1, 65);
  Refused(ErrorCode::kUnsupported,
          "attention flow takes 65 x 65 maximal flows, expected at most 64 x 64: max_tokens is 64",
          [&] { AttentionFlow(many.view<4>()); });
  CHECK(AttentionFlow(many.view<4>(), {.max_tokens = 65}).has_value());
  int calls = 0;
  CHECK(!AttentionFlow(Identity(1, 1, 8).view<4>(), {}, [&](double) { return ++calls < 3; }));
  CHECK(calls == 3);
  Refused(ErrorCode::kShape, "weights", [] { AttentionFlow(Tensor({1, 1, 2, 3}).view<4>()); });
  Refused(ErrorCode::kShape, "at least one element", [] { AttentionFlow({}); });
}

TEST_CASE("importance: what the output loses without each head, its share, its direction; the pruning curve") {
  // Head 0 gives the output, head 1 adds a little at a right angle, and head 2 opposes.
  const Tensor contributions({3, 1, 2}, std::vector<float>{4, 0, 0, 1, -1, 0});
  const auto importance = ImportanceOfHeads(contributions.view<3>());
  const double norm = std::sqrt(10.0);  // (3, 1)
  REQUIRE(importance.size() == 3);
  CHECK(*importance[0].output_change == About(4 / norm));
  CHECK(*importance[1].output_change == About(1 / norm));
  CHECK(*importance[0].norm_share == About(4.0 / 6));
  CHECK(*importance[0].cosine == About(3 / norm));
  CHECK(*importance[2].cosine == About(-3 / norm));
  const auto curve = PruningCurve(contributions.view<3>());
  REQUIRE(curve.size() == 3);
  CHECK(curve[0].head == 1);
  CHECK(curve[0].change == About(1 / norm));
  CHECK(curve[1].head == 2);
  CHECK(curve[1].change == About(std::sqrt(2.0) / norm));
  CHECK(curve[2].change == About(1.0));
  // With a bias the output is given, and the heads have a smaller part of it.
  const Tensor output({1, 2}, std::vector<float>{30, 40});
  CHECK(*ImportanceOfHeads(contributions.view<3>(), output.view<2>())[0].output_change == About(4.0 / 50));

  const Tensor zeros({2, 3, 2}, std::vector<float>(12, 0.0f));
  for (const HeadImportance& head : ImportanceOfHeads(zeros.view<3>())) {
    CHECK(!head.output_change);
    CHECK(!head.norm_share);
    CHECK(!head.cosine);
  }
  CHECK(PruningCurve(zeros.view<3>()).empty());
  std::vector<double> values = {3, 4};
  NormalizeImportance(values);
  CHECK(values[1] == About(0.8));
  contributions.data()[0] = kNan;
  Refused(ErrorCode::kValue, "contribution", [&] { ImportanceOfHeads(contributions.view<3>()); });
  Refused(ErrorCode::kShape, "output", [&] { ImportanceOfHeads(zeros.view<3>(), output.view<2>()); });
}

TEST_CASE("importance from the heads' outputs is that from their contributions") {
  Random random(12);
  const Index heads = 3, length = 5, d = 4, width = 6;
  const Tensor z = random.NormalTensor({heads, length, d}), weight = random.NormalTensor({width, heads * d}),
               bias = random.NormalTensor({width});
  Tensor contributions({heads, length, width}), output({length, width});
  for (Index t = 0; t < length; ++t) {
    for (Index e = 0; e < width; ++e) {
      double sum = double{bias.data()[e]};
      for (Index h = 0; h < heads; ++h) {
        double part = 0.0;
        for (Index c = 0; c < d; ++c) part += double{z.view<3>()(h, t, c)} * double{weight.view<2>()(e, h * d + c)};
        contributions.view<3>()(h, t, e) = static_cast<float>(part);
        sum += part;
      }
      output.view<2>()(t, e) = static_cast<float>(sum);
    }
  }
  const auto expected = ImportanceOfHeads(contributions.view<3>(), output.view<2>()),
             got = ImportanceOfHeads(z.view<3>(), weight.view<2>(), bias.values());
  for (std::size_t h = 0; h < 3; ++h) {
    CHECK(*got[h].output_change == About(*expected[h].output_change));
    CHECK(*got[h].norm_share == About(*expected[h].norm_share));
    CHECK(*got[h].cosine == doctest::Approx(*expected[h].cosine).epsilon(1e-5));
  }
  Refused(ErrorCode::kShape, "out_weight",
          [&] { ImportanceOfHeads(z.view<3>(), View<const float, 2>(output.view<2>()), std::span<const float>{}); });
}

TEST_CASE("greedy pruning takes the best head in every step") {
  Random random(11);
  const Tensor contributions = random.NormalTensor({5, 3, 4});
  const auto change = [&](unsigned removed) {
    double out = 0.0, lost = 0.0;
    for (Index i = 0; i < 12; ++i) {
      double all = 0.0, part = 0.0;
      for (Index h = 0; h < 5; ++h) {
        all += double{contributions.data()[h * 12 + i]};
        if (removed >> h & 1u) part += double{contributions.data()[h * 12 + i]};
      }
      out += all * all;
      lost += part * part;
    }
    return std::sqrt(lost / out);
  };
  unsigned removed = 0;
  for (const PruningStep& step : PruningCurve(contributions.view<3>())) {
    for (unsigned h = 0; h < 5; ++h)
      if (!(removed >> h & 1u)) CHECK(change(removed | 1u << h) >= step.change - 1e-6);
    removed |= 1u << step.head;
    CHECK(step.change == About(change(removed)));
  }
  CHECK(removed == 31u);
}

}  // namespace
}  // namespace headlens::testing
