// SPDX-License-Identifier: Apache-2.0
/// The rows of the tutorials that are lessons: each claim is measured on both backends.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <map>
#include <numeric>
#include <utility>

#include "headlens/attribution.h"
#include "headlens/multihead.h"
#include "headlens/problem.h"
#include "headlens/safetensors.h"
#include "support.h"

namespace headlens::testing {
namespace {

constexpr const char* kSdpa = "scaled_dot_product_attention";
constexpr const char* kLayer = "multihead_attention";

/// Tensors of a call by name. The pointers are borrowed.
using Given = std::map<std::string_view, const Tensor*>;

void Give(Problem& problem, std::string_view name, const Tensor& tensor) {
  const std::span<std::byte> bytes = problem.Input(name, DType::kF32, tensor.shape());
  std::memcpy(bytes.data(), tensor.data(), bytes.size());
}

void GiveBooleans(Problem& problem, std::string_view name, const Shape& shape,
                  const std::vector<std::uint8_t>& values) {
  std::memcpy(problem.Input(name, DType::kBool, shape).data(), values.data(), values.size());
}

Results Run(std::string_view op, std::string_view options, const Given& tensors, const std::string& backend) {
  Problem problem(op, options);
  for (const auto& [name, tensor] : tensors) Give(problem, name, *tensor);
  return problem.Run(R"({"backend": ")" + backend + "\"}");
}

void ForEachBackend(const std::function<void(const std::string& backend)>& test) {
  for (const char* backend : {"reference", "simd"}) {
    CAPTURE(backend);
    test(backend);
  }
}

// Small matrices in double precision, to compare results with.

using Rows = std::vector<std::vector<double>>;

Rows RowsOf(const float* data, Index rows, Index cols, Index stride = 0) {
  Rows out(static_cast<std::size_t>(rows));
  for (std::size_t r = 0; r < out.size(); ++r) {
    const float* row = data + static_cast<Index>(r) * (stride ? stride : cols);
    out[r].assign(row, row + cols);
  }
  return out;
}

Rows RowsOf(const Tensor& tensor) {
  const Index cols = tensor.shape().back();
  return RowsOf(tensor.data(), tensor.size() / cols, cols);
}

Rows Turned(const Rows& a) {
  Rows out(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t r = 0; r < a.size(); ++r)
    for (std::size_t c = 0; c < a[r].size(); ++c) out[c][r] = a[r][c];
  return out;
}

Rows Times(const Rows& a, const Rows& b) {
  Rows out(a.size(), std::vector<double>(b[0].size()));
  for (std::size_t r = 0; r < a.size(); ++r)
    for (std::size_t c = 0; c < out[r].size(); ++c)
      for (std::size_t i = 0; i < b.size(); ++i) out[r][c] += a[r][i] * b[i][c];
  return out;
}

Rows Scaled(Rows a, double factor) {
  for (std::vector<double>& row : a)
    for (double& x : row) x *= factor;
  return a;
}

Rows Softmax(Rows scores) {
  for (std::vector<double>& row : scores) {
    const double max = *std::max_element(row.begin(), row.end());
    double sum = 0.0;
    for (double& x : row) sum += x = std::exp(x - max);
    for (double& x : row) x /= sum;
  }
  return scores;
}

Tensor AsTensor(const Rows& rows) {
  Tensor out({static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size())});
  float* to = out.data();
  for (const std::vector<double>& row : rows)
    to = std::transform(row.begin(), row.end(), to, [](double x) { return static_cast<float>(x); });
  return out;
}

void CheckRows(const std::string& what, std::span<const float> got, const Rows& expected, double factor = 64.0) {
  const Tensor tensor = AsTensor(expected);
  CheckClose(what, got, tensor.values(), factor * kEpsilon * std::max(1e-3, MaxNorm(tensor.values())));
}

double Difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  return most;
}

double Entropy(std::span<const float> row) {
  double sum = 0.0;
  for (const float p : row) sum -= p > 0.0f ? double{p} * std::log(double{p}) : 0.0;
  return sum;
}

std::span<float> Row(const Tensor& tensor, Index row) {
  const auto width = static_cast<std::size_t>(tensor.shape().back());
  return tensor.values().subspan(static_cast<std::size_t>(row) * width, width);
}

Tensor Identity(Index n) {
  Tensor out({n, n});
  std::fill(out.values().begin(), out.values().end(), 0.0f);
  for (Index i = 0; i < n; ++i) out.view<2>()(i, i) = 1.0f;
  return out;
}

/// The rows of `x` in another order.
Tensor Permuted(const Tensor& x, std::span<const Index> order) {
  Tensor out(x.shape());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::span<const float> from = Row(x, order[i]);
    std::copy(from.begin(), from.end(), Row(out, static_cast<Index>(i)).begin());
  }
  return out;
}

// T0.5

/// The Frobenius norm of diag(p) − p pᵀ, which is the Jacobian of the softmax.
double JacobianNorm(std::span<const float> p) {
  double sum = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = 0; j < p.size(); ++j) {
      const double entry = i == j ? double{p[i]} * (1.0 - double{p[i]}) : double{p[i]} * double{p[j]};
      sum += entry * entry;
    }
  return std::sqrt(sum);
}

TEST_CASE("T0.5: without the division by √d entropy falls and the gradient vanishes as d grows; with it both stay") {
  ForEachBackend([](const std::string& backend) {
    Random random(5);
    double previous = 2.0 * std::log(16.0), first_scaled = 0.0;
    for (const Index width : {4, 16, 64, 256, 1024}) {
      const Tensor q = random.NormalTensor({32, width}), k = random.NormalTensor({16, width});
      double entropy[2] = {}, gradient[2] = {};
      for (const int scaled : {0, 1}) {
        const Results results =
            Run(kSdpa, scaled ? R"({"need_weights": true})" : R"({"need_weights": true, "scale": 1})",
                {{"query", &q}, {"key", &k}, {"value", &k}}, backend);
        for (Index t = 0; t < 32; ++t) {
          entropy[scaled] += Entropy(Row(results.at("weights"), t)) / 32;
          gradient[scaled] += JacobianNorm(Row(results.at("weights"), t)) / 32;
        }
      }
      CHECK(entropy[0] < previous);
      previous = entropy[0];
      if (width == 4) first_scaled = entropy[1];
      CHECK(entropy[1] == doctest::Approx(first_scaled).epsilon(0.1));
      if (width == 1024) CHECK(gradient[0] < gradient[1] / 2);
    }
  });
}

// T2.1

TEST_CASE("T2.1: six steps line by line, and what they cost") {
  const std::vector<std::byte> file = ReadFile(HEADLENS_GOLDEN_DIR "/cases/t0_1_cat_sat_on_mat_two_heads.safetensors");
  const Tensor x = ToFloat(Safetensors(file).Find("query").value()),
               in = ToFloat(Safetensors(file).Find("in_proj_weight").value()),
               out = ToFloat(Safetensors(file).Find("out_proj.weight").value());
  constexpr Index kHeads = 2, kWidth = 4, kHeadWidth = kWidth / kHeads;
  ForEachBackend([&](const std::string& backend) {
    const Results results = ReadCase(file).Run(R"({"backend": ")" + backend + "\"}");
    Rows joined(4);
    for (Index h = 0; h < kHeads; ++h) {
      const auto stage = [&](const char* name, Index width) {
        return results.at(name).values().subspan(static_cast<std::size_t>(h * 4 * width),
                                                 static_cast<std::size_t>(4 * width));
      };
      const auto project = [&](Index part) {
        return Times(RowsOf(x), Turned(RowsOf(in.view<2>().at(part * kWidth + h * kHeadWidth), kHeadWidth, kWidth)));
      };
      const Rows q = project(0), k = project(1), v = project(2), scores = Times(q, Turned(k)),
                 weights = Softmax(Scaled(scores, 1.0 / std::sqrt(2.0))), head = Times(weights, v);
      CheckRows("q", stage("q", kHeadWidth), q);
      CheckRows("k", stage("k", kHeadWidth), k);
      CheckRows("v", stage("v", kHeadWidth), v);
      CheckRows("scores", stage("scores", 4), scores);
      CheckRows("weights", stage("weights", 4), weights);
      CheckRows("head output", stage("head_outputs", kHeadWidth), head);
      for (std::size_t t = 0; t < 4; ++t) joined[t].insert(joined[t].end(), head[t].begin(), head[t].end());
    }
    CheckRows("output", results.at("output").values(), Times(joined, Turned(RowsOf(out))));
  });
}

TEST_CASE("T2.1: eight heads at D = 512 multiply and hold as much as one full-width head") {
  Random random(21);
  const Tensor x = random.NormalTensor({3, 512}, 0.1f), in = random.NormalTensor({1536, 512}, 0.05f),
               out = random.NormalTensor({512, 512}, 0.05f);
  const auto cost = [&](int heads) {
    const std::string options =
        R"({"embed_dim": 512, "bias": false, "num_heads": )" + std::to_string(heads) +
        R"(, "average_attn_weights": false, "stages": ["q", "k", "v", "scores", "head_outputs"]})";
    const Results r = Run(kLayer, options, {{"query", &x}, {"in_proj_weight", &in}, {"out_proj.weight", &out}}, "simd");
    CHECK(r.at("q").shape() == Shape{heads, 3, 512 / heads});
    // Each number of a result is a dot product, so the count is the numbers of results times the length of the
    // products.
    const Index projections = 512 * (r.at("q").size() + r.at("k").size() + r.at("v").size()),
                scores = 512 / heads * r.at("scores").size(), values = 3 * r.at("head_outputs").size(),
                output = 512 * r.at("output").size();
    return projections + scores + values + output;
  };
  CHECK(cost(8) == 4 * 3 * 512 * 512 + 2 * 3 * 3 * 512);
  CHECK(cost(8) == cost(1));
  const auto parameters = [](const char* options) { return Problem(kLayer, options).ParameterCount(); };
  CHECK(parameters(R"({"embed_dim": 512, "num_heads": 8})") == parameters(R"({"embed_dim": 512, "num_heads": 1})"));
}

// T3.5

TEST_CASE("T3.5: tokens as columns, the textbook's notation: the same numbers, transposed") {
  Random random(35);
  const Tensor x = random.NormalTensor({4, 3}), omega = random.NormalTensor({9, 3}), beta = random.NormalTensor({9}),
               identity = Identity(3);
  Tensor zeros({3});
  std::fill(zeros.values().begin(), zeros.values().end(), 0.0f);
  ForEachBackend([&](const std::string& backend) {
    const Results rows = Run(kLayer, R"({"embed_dim": 3, "num_heads": 1, "average_attn_weights": false})",
                             {{"query", &x},
                              {"in_proj_weight", &omega},
                              {"in_proj_bias", &beta},
                              {"out_proj.weight", &identity},
                              {"out_proj.bias", &zeros}},
                             backend);
    // Sa[X] = V[X] · Softmax(K[X]ᵀ Q[X] / √d) with V[X] = β_v 1ᵀ + Ω_v X and so on, with the softmax over columns.
    const auto project = [&](Index part) {
      Rows out = Times(RowsOf(omega.data() + part * 9, 3, 3), Turned(RowsOf(x)));
      for (std::size_t i = 0; i < 3; ++i)
        for (double& value : out[i]) value += double{beta.data()[part * 3 + static_cast<Index>(i)]};
      return out;
    };
    const Rows q = project(0), k = project(1), v = project(2),
               columns = Turned(Softmax(Turned(Scaled(Times(Turned(k), q), 1.0 / std::sqrt(3.0)))));
    CheckRows("weights", rows.at("weights").values(), Turned(columns));
    CheckRows("output", rows.at("output").values(), Turned(Times(v, columns)));
  });
}

// T3.6

TEST_CASE("T3.6: permuted tokens give permuted outputs, until positions are told") {
  Random random(36);
  const std::vector<std::int32_t> words = {0, 1, 2, 0, 3};  // the woman ate the raccoon
  const std::vector<Index> order = {0, 4, 2, 3, 1};         // the raccoon ate the woman
  const Tensor table = random.NormalTensor({4, 8}), learned = random.NormalTensor({5, 8}, 0.3f),
               relative = random.NormalTensor({2, 9}), in = random.NormalTensor({24, 8}, 0.35f),
               out = random.NormalTensor({8, 8}, 0.35f);
  const auto embed = [&](const char* positions, bool swapped, const std::string& backend) {
    Problem problem("embedding", std::string(R"({"positions": ")") + positions + "\"}");
    Give(problem, "weight", table);
    if (positions == std::string_view("learned")) Give(problem, "position_embeddings", learned);
    const auto ids = reinterpret_cast<std::int32_t*>(problem.Input("ids", DType::kI32, {5}).data());
    for (std::size_t i = 0; i < 5; ++i) ids[i] = words[static_cast<std::size_t>(swapped ? order[i] : Index(i))];
    return problem.Run(R"({"backend": ")" + backend + "\"}").at("output").Clone();
  };
  struct Scheme {
    const char* positions;
    const char* options;
    bool sees_order;
  };
  const Scheme schemes[] = {{"none", "", false},
                            {"sinusoidal", "", true},
                            {"learned", "", true},
                            {"none", "relative", true},
                            {"none", R"("alibi": true,)", true},
                            {"none", R"("rotary": "half",)", true}};
  ForEachBackend([&](const std::string& backend) {
    for (const Scheme& scheme : schemes) {
      CAPTURE(scheme.positions);
      CAPTURE(scheme.options);
      const bool biased = scheme.options == std::string_view("relative");
      const auto run = [&](bool swapped) {
        const Tensor x = embed(scheme.positions, swapped, backend);
        Given given = {{"query", &x}, {"in_proj_weight", &in}, {"out_proj.weight", &out}};
        if (biased) given["relative_bias"] = &relative;
        const std::string options =
            std::string("{") + (biased ? "" : scheme.options) + R"("embed_dim": 8, "num_heads": 2, "bias": false})";
        return Run(kLayer, options, given, backend).at("output").Clone();
      };
      const Tensor first = run(false), second = run(true);
      const double moved = Difference(Permuted(first, order).values(), second.values());
      if (scheme.sees_order) {
        CHECK(moved > 0.01 * MaxNorm(first.values()));
      } else {
        CHECK(moved <= 64 * kEpsilon * MaxNorm(first.values()));
      }
    }
  });
}

// T3.7: the eleven checkpoints

/// One query with these scores: each key is its score as a single number, and the query is 1.
Results WithScores(const Rows& scores, const Rows& values, const std::string& backend,
                   const std::vector<std::uint8_t>& keep = {}) {
  const Tensor q({1, 1}, std::vector<float>{1.0f}), k = AsTensor(Turned(scores)), v = AsTensor(values);
  Problem problem(kSdpa, R"({"scale": 1, "need_weights": true})");
  Give(problem, "query", q);
  Give(problem, "key", k);
  Give(problem, "value", v);
  if (!keep.empty()) GiveBooleans(problem, "attn_mask", {1, static_cast<Index>(keep.size())}, keep);
  return problem.Run(R"({"backend": ")" + backend + "\"}");
}

TEST_CASE("T3.7: 1, near-equal keys are weighed alike") {
  ForEachBackend([](const std::string& backend) {
    Random random(371);
    const Tensor q = random.NormalTensor({6, 8});
    Tensor k = random.NormalTensor({4, 8});
    for (Index i = 0; i < 8; ++i) k.view<2>()(1, i) = k.view<2>()(0, i) + 0.01f;
    const Results r = Run(kSdpa, R"({"need_weights": true})", {{"query", &q}, {"key", &k}, {"value", &k}}, backend);
    for (Index t = 0; t < 6; ++t) {
      const std::span<const float> w = Row(r.at("weights"), t), query = Row(q, t);
      // ln w0/w1 = q · (k0 − k1) / √d
      const double sum = std::accumulate(query.begin(), query.end(), 0.0);
      CHECK(std::log(double{w[0]} / double{w[1]}) == doctest::Approx(-0.01 * sum / std::sqrt(8.0)).epsilon(0.01));
    }
  });
}

TEST_CASE("T3.7: 2, one huge score takes all; 5, equal scores give 1/n") {
  ForEachBackend([](const std::string& backend) {
    const Rows values = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    const Results huge = WithScores({{30, 0, 0, 0}}, values, backend);
    CHECK(huge.at("weights").data()[0] == doctest::Approx(1.0 / (1.0 + 3.0 * std::exp(-30.0))));
    CheckRows("its value", huge.at("output").values(), {{1, 0}});
    for (const std::size_t n : {1u, 3u, 5u, 64u}) {
      Rows many(n, {1.0});
      for (std::size_t i = 0; i < n; ++i) many[i][0] = static_cast<double>(i);
      const Results equal = WithScores({std::vector<double>(n, 0.7)}, many, backend);
      CheckRows("1/n", equal.at("weights").values(), {std::vector<double>(n, 1.0 / static_cast<double>(n))});
      CheckRows("mean", equal.at("output").values(), {{(static_cast<double>(n) - 1.0) / 2.0}});
    }
  });
}

TEST_CASE("T3.7: 3, keys give back what was asked with, values the content") {
  Tensor queries = Identity(4);
  const Tensor keys = Identity(4), values = AsTensor({{0.3, -0.9}, {-0.7, 0.2}, {0.5, 0.6}, {-0.1, -0.4}});
  for (float& x : queries.values()) x *= 60.0f;
  ForEachBackend([&](const std::string& backend) {
    const Results content = Run(kSdpa, "{}", {{"query", &queries}, {"key", &keys}, {"value", &values}}, backend),
                  echo = Run(kSdpa, "{}", {{"query", &queries}, {"key", &keys}, {"value", &keys}}, backend);
    CheckRows("content", content.at("output").values(), RowsOf(values));
    CheckRows("the query's direction", echo.at("output").values(), RowsOf(keys));
  });
}

TEST_CASE("T3.7: 4, self-attention asks its own sequence; across two, other queries leave the keys alone") {
  Random random(374);
  const Tensor x = random.NormalTensor({3, 8}), other = random.NormalTensor({3, 8}),
               memory = random.NormalTensor({5, 8}), in = random.NormalTensor({24, 8}),
               out = random.NormalTensor({8, 8});
  const char* options = R"({"embed_dim": 8, "num_heads": 1, "bias": false, "stages": ["k"]})";
  ForEachBackend([&](const std::string& backend) {
    const auto keys = [&](const Tensor& query, const Tensor& key) {
      Results r = Run(kLayer, options,
                      {{"query", &query}, {"key", &key}, {"in_proj_weight", &in}, {"out_proj.weight", &out}}, backend);
      CHECK(r.at("weights").shape() == Shape{3, key.shape()[0]});
      return r.at("k").Clone();
    };
    CHECK(Difference(keys(x, memory).values(), keys(other, memory).values()) == 0.0);
    CHECK(Difference(keys(x, x).values(), keys(other, other).values()) > 0.1);
  });
}

TEST_CASE("T3.7: 6, other values under the same weights: the same places, other contents") {
  Random random(376);
  const Tensor q = random.NormalTensor({4, 4}), k = random.NormalTensor({4, 4}), v = random.NormalTensor({4, 2}),
               other = random.NormalTensor({4, 2});
  ForEachBackend([&](const std::string& backend) {
    const auto run = [&](const Tensor& value) {
      return Run(kSdpa, R"({"need_weights": true})", {{"query", &q}, {"key", &k}, {"value", &value}}, backend);
    };
    const Results first = run(v), second = run(other);
    CHECK(Difference(first.at("weights").values(), second.at("weights").values()) == 0.0);
    CheckRows("first", first.at("output").values(), Times(RowsOf(first.at("weights")), RowsOf(v)));
    CheckRows("second", second.at("output").values(), Times(RowsOf(first.at("weights")), RowsOf(other)));
  });
}

TEST_CASE("T3.7: 7, a masked token is gone: weight exactly 0, the others share, its value does not matter") {
  ForEachBackend([](const std::string& backend) {
    const std::vector<std::uint8_t> keep = {1, 0, 1, 1};
    const Rows scores = {{1, 2, 0.5, 0}};
    const Results masked = WithScores(scores, {{1, 0}, {5, 5}, {0, 1}, {-1, 0}}, backend, keep),
                  other = WithScores(scores, {{1, 0}, {-1e30, 1e30}, {0, 1}, {-1, 0}}, backend, keep);
    CHECK(masked.at("weights").data()[1] == 0.0f);
    const Rows left = Softmax({{1, 0.5, 0}});
    CheckRows("weights", masked.at("weights").values(), {{left[0][0], 0.0, left[0][1], left[0][2]}});
    CHECK(Difference(masked.at("output").values(), other.at("output").values()) == 0.0);
  });
}

TEST_CASE("T3.7: 8, two heads look at the same token and bring back different things") {
  Random random(378);
  const Tensor x = AsTensor({{1, 0.2, -0.5, 0.1}, {3, -0.4, 0.3, 0.6}, {0.5, 0.8, 0.1, -0.7}}), identity = Identity(4);
  Tensor in = random.NormalTensor({12, 4});
  for (Index row = 0; row < 8; ++row)  // q and k of both heads: four times the first feature
    for (Index i = 0; i < 4; ++i) in.view<2>()(row, i) = row % 2 == 0 && i == 0 ? 4.0f : 0.0f;
  ForEachBackend([&](const std::string& backend) {
    const Results r = Run(
        kLayer,
        R"({"embed_dim": 4, "num_heads": 2, "bias": false, "average_attn_weights": false, "stages": ["head_outputs"]})",
        {{"query", &x}, {"in_proj_weight", &in}, {"out_proj.weight", &identity}}, backend);
    for (Index row = 0; row < 6; ++row) CHECK(Row(r.at("weights"), row)[1] > 0.9f);
    const std::span<const float> heads = r.at("head_outputs").values();
    CHECK(Difference(heads.first(6), heads.last(6)) > 0.1);
  });
}

TEST_CASE("T3.7: 9, the same word twice is one to attention, until positions are added") {
  Random random(379);
  Tensor x = random.NormalTensor({5, 8});
  std::copy_n(x.data(), 8, x.data() + 24);  // tokens 0 and 3
  const Tensor in = random.NormalTensor({24, 8}, 0.35f), out = random.NormalTensor({8, 8}, 0.35f),
               positions = SinusoidalPositions(5, 8);
  Tensor placed = x.Clone();
  for (Index i = 0; i < placed.size(); ++i) placed.data()[i] += positions.data()[i];
  ForEachBackend([&](const std::string& backend) {
    const auto apart = [&](const Tensor& query) {
      const Results r = Run(kLayer, R"({"embed_dim": 8, "num_heads": 1, "bias": false})",
                            {{"query", &query}, {"in_proj_weight", &in}, {"out_proj.weight", &out}}, backend);
      return Difference(Row(r.at("output"), 0), Row(r.at("output"), 3));
    };
    CHECK(apart(x) == 0.0);
    CHECK(apart(placed) > 0.01);
  });
}

TEST_CASE("T3.7: 10, a width that the heads do not divide is refused, naming both") {
  for (int heads = 1; heads <= 16; ++heads) {
    const std::string options = R"({"embed_dim": 16, "num_heads": )" + std::to_string(heads) + "}";
    if (16 % heads == 0) {
      CHECK(Problem(kLayer, options).ParameterCount() == 4 * 16 * 16 + 4 * 16);
      continue;
    }
    std::string message;
    try {
      Problem(kLayer, options).ParameterCount();
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kShape);
      message = error.what();
    }
    CHECK(message.find("embed_dim") != std::string::npos);
    CHECK(message.find("16") != std::string::npos);
    CHECK(message.find(std::to_string(heads)) != std::string::npos);
  }
}

TEST_CASE("T3.7: 11, a query near zero looks everywhere alike") {
  Random random(3711);
  const Tensor k = random.NormalTensor({6, 8}), v = random.NormalTensor({6, 2}),
               direction = random.NormalTensor({1, 8});
  ForEachBackend([&](const std::string& backend) {
    double previous = 1.0 + 1e-6;
    for (const float length : {0.0f, 0.01f, 1.0f, 8.0f}) {
      Tensor q = direction.Clone();
      for (float& x : q.values()) x *= length;
      const Results r = Run(kSdpa, R"({"need_weights": true})", {{"query", &q}, {"key", &k}, {"value", &v}}, backend);
      const double breadth = Entropy(r.at("weights").values()) / std::log(6.0);
      if (length <= 0.01f) {
        CHECK(breadth > 0.999);
        Rows mean = {{0, 0}};
        for (const std::vector<double>& row : RowsOf(v))
          for (std::size_t i = 0; i < 2; ++i) mean[0][i] += row[i] / 6;
        CHECK(Difference(r.at("output").values(), AsTensor(mean).values()) < 0.05);
      } else {
        CHECK(breadth < previous);
      }
      previous = breadth;
    }
  });
}

// T3.8: variants

TEST_CASE("T3.8: softmax, sparsemax and sigmoid of the same scores") {
  const Rows scores = {{1.2, 1.0, 0.1, -2.0}};
  ForEachBackend([&](const std::string& backend) {
    const Tensor q({1, 1}, std::vector<float>{1.0f}), k = AsTensor(Turned(scores));
    const auto weights = [&](const std::string& normalizer) {
      return Run(kSdpa, R"({"scale": 1, "need_weights": true, "normalizer": ")" + normalizer + "\"}",
                 {{"query", &q}, {"key", &k}, {"value", &k}}, backend)
          .at("weights")
          .Clone();
    };
    CheckRows("softmax", weights("softmax").values(), Softmax(scores));
    // The nearest point of the simplex: two scores stay, and τ = (1.2 + 1.0 − 1) / 2.
    CheckRows("sparsemax", weights("sparsemax").values(), {{0.6, 0.4, 0.0, 0.0}});
    CHECK(weights("sparsemax").data()[2] == 0.0f);
    Rows gates = scores;
    for (double& x : gates[0]) x = 1.0 / (1.0 + std::exp(-x));
    CheckRows("sigmoid", weights("sigmoid").values(), gates);
    const Tensor entmax = weights("entmax15");
    CHECK(std::accumulate(entmax.values().begin(), entmax.values().end(), 0.0) == doctest::Approx(1.0).epsilon(1e-6));
    CHECK(entmax.data()[3] == 0.0f);
    CHECK(entmax.data()[2] > 0.0f);
  });
}

TEST_CASE("T3.8: padding changes nothing: a padded sentence is the sentence alone") {
  Random random(382);
  const Tensor in = random.NormalTensor({24, 8}, 0.35f), out = random.NormalTensor({8, 8}, 0.35f),
               batch = random.NormalTensor({2, 5, 8});
  const Tensor alone({3, 8}, batch.values().subspan(40, 24));
  const char* options =
      R"({"embed_dim": 8, "num_heads": 2, "bias": false, "batch_first": true, "average_attn_weights": false})";
  ForEachBackend([&](const std::string& backend) {
    Problem problem(kLayer, options);
    Give(problem, "query", batch);
    Give(problem, "in_proj_weight", in);
    Give(problem, "out_proj.weight", out);
    GiveBooleans(problem, "key_padding_mask", {2, 5}, {0, 0, 0, 0, 0, 0, 0, 0, 1, 1});
    const Results padded = problem.Run(R"({"backend": ")" + backend + "\"}"),
                  short_one = Run(kLayer, options,
                                  {{"query", &alone}, {"in_proj_weight", &in}, {"out_proj.weight", &out}}, backend);
    CheckRows("output", padded.at("output").values().subspan(40, 24), RowsOf(short_one.at("output")), 16.0);
    for (Index row = 0; row < 10; ++row)
      for (const Index s : {3, 4}) CHECK(Row(padded.at("weights"), 10 + row)[static_cast<std::size_t>(s)] == 0.0f);
  });
}

TEST_CASE("T3.8: grouped and multi-query attention: token by token from a cache is one causal pass, in less memory") {
  constexpr Index kTokens = 6, kWidth = 16, kHeads = 8, kHeadWidth = kWidth / kHeads;
  Random random(383);
  const Tensor x = random.NormalTensor({kTokens, kWidth}), q = random.NormalTensor({kWidth, kWidth}, 0.3f),
               out = random.NormalTensor({kWidth, kWidth}, 0.3f);
  ForEachBackend([&](const std::string& backend) {
    for (const Index groups : {8, 2, 1}) {
      CAPTURE(groups);
      const Tensor k = random.NormalTensor({groups * kHeadWidth, kWidth}, 0.3f),
                   v = random.NormalTensor({groups * kHeadWidth, kWidth}, 0.3f);
      Tensor packed({3 * kWidth, kWidth});
      const std::string options =
          R"({"embed_dim": 16, "num_heads": 8, "bias": false, "is_causal": true, "num_kv_heads": )" +
          std::to_string(groups) + R"(, "average_attn_weights": false, "backend": ")" + backend + "\"}";
      Problem layer(kLayer, options);
      if (groups == kHeads) {
        for (const auto& [part, from] : {std::pair(0, &q), std::pair(1, &k), std::pair(2, &v)})
          std::copy(from->values().begin(), from->values().end(), packed.data() + part * kWidth * kWidth);
        Give(layer, "in_proj_weight", packed);
      } else {
        Give(layer, "q_proj_weight", q);
        Give(layer, "k_proj_weight", k);
        Give(layer, "v_proj_weight", v);
      }
      Give(layer, "out_proj.weight", out);
      Give(layer, "query", x);
      const Results whole = layer.Run();
      KvCache cache;
      for (Index t = 0; t < kTokens; ++t) {
        Give(layer, "query", Tensor({1, kWidth}, Row(x, t)));
        const Results step = layer.Run("{}", &cache);
        CheckRows("output", step.at("output").values(), {RowsOf(whole.at("output"))[static_cast<std::size_t>(t)]});
        CHECK(step.at("weights").shape() == Shape{kHeads, 1, t + 1});
        for (Index h = 0; h < kHeads; ++h)
          CheckClose("weights", Row(step.at("weights"), h),
                     Row(whole.at("weights"), h * kTokens + t).first(static_cast<std::size_t>(t + 1)), 64 * kEpsilon);
        CHECK(cache.k().shape == std::array<Index, 4>{1, groups, t + 1, kHeadWidth});
      }
      // A token takes 2 · G · d numbers.
      CHECK(ElementCount({1, groups, cache.length(), kHeadWidth}) * 2 == 2 * kTokens * groups * kHeadWidth);
    }
  });
}

/// A black image [side, side, 3] with a square of one colour. Pixel (y, x) is row y · side + x.
Tensor Picture(Index side, Index top, Index left, Index size, Index channel) {
  Tensor image({side * side, 3});
  for (Index i = 0; i < side * side; ++i) {
    const Index y = i / side, x = i % side;
    const bool inside = y >= top && y < top + size && x >= left && x < left + size;
    for (Index c = 0; c < 3; ++c) image.view<2>()(i, c) = inside && c == channel ? 1.0f : 0.0f;
  }
  return image;
}

/// The patches row by row, [patches, patch² · 3]. Each has its pixels row by row.
Tensor Patches(const Tensor& image, Index side, Index patch) {
  const Index across = side / patch;
  Tensor out({across * across, patch * patch * 3});
  for (Index p = 0; p < across * across; ++p)
    for (Index y = 0; y < patch; ++y) {
      const Index row = p / across * patch + y, col = p % across * patch;
      std::copy_n(image.view<2>().at(row * side + col), patch * 3, out.view<2>().at(p) + y * patch * 3);
    }
  return out;
}

TEST_CASE("T3.8: patches of an image attend to patches like themselves") {
  const Tensor patches = Patches(Picture(16, 4, 8, 8, 0), 16, 4);
  CHECK(patches.shape() == Shape{16, 48});
  // The square covers patches 6, 7, 10 and 11 of 4 × 4.
  const auto inside = [](Index p) { return p == 6 || p == 7 || p == 10 || p == 11; };
  ForEachBackend([&](const std::string& backend) {
    const Results r =
        Run(kSdpa, R"({"need_weights": true})", {{"query", &patches}, {"key", &patches}, {"value", &patches}}, backend);
    // Scores are 16 / √48 within the square and 0 elsewhere.
    const double e = std::exp(16.0 / std::sqrt(48.0));
    for (Index t = 0; t < 16; ++t)
      for (Index s = 0; s < 16; ++s) {
        const double expected = !inside(t) ? 1.0 / 16 : (inside(s) ? e : 1.0) / (4 * e + 12);
        CHECK(Row(r.at("weights"), t)[static_cast<std::size_t>(s)] == doctest::Approx(expected).epsilon(1e-5));
      }
  });
}

TEST_CASE("T3.8: text looks at an image: each colour's word at the patches of that colour") {
  // Words are colours, and patches are 48 numbers wide. Keys are mean colours.
  const Tensor red = Patches(Picture(16, 0, 0, 8, 0), 16, 4), blue = Patches(Picture(16, 8, 8, 8, 2), 16, 4);
  Tensor memory = red.Clone(), words = AsTensor({{12, 0, 0}, {0, 0, 12}});
  for (Index i = 0; i < memory.size(); ++i) memory.data()[i] += blue.data()[i];
  Tensor average({3, 48});
  for (Index c = 0; c < 3; ++c)
    for (Index i = 0; i < 48; ++i) average.view<2>()(c, i) = i % 3 == c ? 1.0f / 16 : 0.0f;
  const Tensor identity = Identity(3);
  ForEachBackend([&](const std::string& backend) {
    const Results r = Run(kLayer, R"({"embed_dim": 3, "num_heads": 1, "kdim": 48, "vdim": 48, "bias": false})",
                          {{"query", &words},
                           {"key", &memory},
                           {"q_proj_weight", &identity},
                           {"k_proj_weight", &average},
                           {"v_proj_weight", &average},
                           {"out_proj.weight", &identity}},
                          backend);
    CHECK(r.at("weights").shape() == Shape{2, 16});
    const double e = std::exp(12.0 / std::sqrt(3.0)), share = 4 * e / (4 * e + 12), other = 4 / (4 * e + 12);
    double found[2] = {};
    for (const Index p : {0, 1, 4, 5}) found[0] += double{Row(r.at("weights"), 0)[static_cast<std::size_t>(p)]};
    for (const Index p : {10, 11, 14, 15}) found[1] += double{Row(r.at("weights"), 1)[static_cast<std::size_t>(p)]};
    CHECK(found[0] == doctest::Approx(share).epsilon(1e-5));
    CHECK(found[1] == doctest::Approx(share).epsilon(1e-5));
    CheckRows("what the words bring back", r.at("output").values(), {{share, 0, other}, {other, 0, share}});
  });
}

TEST_CASE("T3.8: pruning: a head that is masked out takes exactly its own part away") {
  Random random(386);
  const Tensor x = random.NormalTensor({5, 16}), in = random.NormalTensor({48, 16}, 0.3f);
  Tensor out = random.NormalTensor({16, 16}, 0.3f);
  for (Index row = 0; row < 16; ++row)  // later heads matter less
    for (Index col = 0; col < 16; ++col) out.view<2>()(row, col) /= static_cast<float>(1 << (2 * (col / 4)));
  const char* options = R"({"embed_dim": 16, "num_heads": 4, "bias": false, "stages": ["head_contributions"]})";
  ForEachBackend([&](const std::string& backend) {
    const auto run = [&](const std::vector<float>& mask) {
      const Tensor head_mask({4}, mask);
      return Run(kLayer, options,
                 {{"query", &x}, {"in_proj_weight", &in}, {"out_proj.weight", &out}, {"head_mask", &head_mask}},
                 backend);
    };
    const Results full = run({1, 1, 1, 1});
    const Tensor& parts = full.at("head_contributions");
    const auto norm = [](std::span<const float> values) {
      return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
    };
    const double whole = norm(full.at("output").values());
    for (std::size_t h = 0; h < 4; ++h) {
      std::vector<float> mask(4, 1.0f);
      mask[h] = 0.0f;
      const Tensor without = run(mask).at("output").Clone();
      for (Index i = 0; i < 80; ++i)
        CHECK(std::abs(full.at("output").data()[i] - without.data()[i] -
                       parts.data()[static_cast<Index>(h) * 80 + i]) <= 64 * kEpsilon * MaxNorm(parts.values()));
    }
    // The curve removes heads one by one, the least important first. Masks must measure the same.
    std::vector<float> mask(4, 1.0f);
    double last = 0.0;
    for (const PruningStep& step : PruningCurve(parts.view<3>(), full.at("output").view<2>())) {
      mask[static_cast<std::size_t>(step.head)] = 0.0f;
      Tensor lost = full.at("output").Clone();
      const Tensor left = run(mask).at("output").Clone();
      for (Index i = 0; i < 80; ++i) lost.data()[i] -= left.data()[i];
      CHECK(step.change == doctest::Approx(norm(lost.values()) / whole).epsilon(1e-4));
      last = step.change;
    }
    CHECK(last == doctest::Approx(1.0).epsilon(1e-5));
  });
}

}  // namespace
}  // namespace headlens::testing
