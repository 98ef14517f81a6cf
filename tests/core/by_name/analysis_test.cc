// SPDX-License-Identifier: Apache-2.0
/// Every analysis by name: its result on numbers that are computed by hand, and the inputs that it refuses.
#include "headlens/analysis.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "nlohmann/json.hpp"
#include "support.h"

namespace headlens::testing {
namespace {

using nlohmann::json;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
  DType dtype = DType::kF32;  // or kU8 or kI32, to which the values are converted
};

/// Integers wrap around, as in JavaScript's typed arrays.
template <class T>
void Fill(std::span<std::byte> to, const std::vector<float>& values) {
  using Between = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  REQUIRE(to.size() == values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(static_cast<Between>(values[i]));
    std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
  }
}

AnalysisResults Ask(const std::string& question, const std::vector<NamedTensor>& tensors, const std::string& options) {
  Analysis analysis(question);
  for (const NamedTensor& tensor : tensors) {
    const std::span<std::byte> bytes = analysis.Input(tensor.name, tensor.dtype, tensor.shape);
    if (tensor.dtype == DType::kF32) Fill<float>(bytes, tensor.values);
    if (tensor.dtype == DType::kU8) Fill<std::uint8_t>(bytes, tensor.values);
    if (tensor.dtype == DType::kI32) Fill<std::int32_t>(bytes, tensor.values);
  }
  return analysis.Run(options);
}

json Values(const std::string& question, const std::vector<NamedTensor>& tensors, const std::string& options = "{}") {
  const AnalysisResults results = Ask(question, tensors, options);
  CHECK(results.tensors.empty());
  return json::parse(results.values);
}

void CheckMap(const std::string& question, const std::vector<NamedTensor>& tensors, const std::string& options,
              const Shape& shape, const std::vector<float>& expected) {
  const AnalysisResults results = Ask(question, tensors, options);
  CHECK(results.values == "{}");
  REQUIRE(results.tensors.size() == 1);
  const Tensor& output = results.tensors.at("output");
  CHECK(output.shape() == shape);
  CheckClose(question, output.values(), expected, 1e-6);
}

/// Compares JSON numbers within 1e-6 and everything else exactly.
void CheckJson(const json& got, const json& expected) {
  if (expected.is_number_float() || expected.is_number_integer()) {
    REQUIRE_MESSAGE(got.is_number(), got.dump());
    CHECK_MESSAGE(std::abs(got.get<double>() - expected.get<double>()) < 1e-6, got.dump(), " is not ", expected.dump());
  } else if (expected.is_structured()) {
    REQUIRE_MESSAGE(got.size() == expected.size(), got.dump());
    for (const auto& [key, item] : expected.items())
      CheckJson(expected.is_array() ? got.at(std::stoul(key)) : got.at(key), item);
  } else {
    CHECK_MESSAGE(got == expected, got.dump(), " is not ", expected.dump());
  }
}

void Refused(ErrorCode code, const std::string& part, const std::string& question,
             const std::vector<NamedTensor>& tensors, const std::string& options = "{}") {
  try {
    Ask(question, tensors, options);
    FAIL_CHECK(question, " accepted, expected: ", part);
  } catch (const Error& error) {
    CHECK_MESSAGE(error.code() == code, question, ": ", error.what());
    CHECK_MESSAGE(std::string(error.what()).find(part) != std::string::npos, question, ": ", error.what(),
                  "; expected: ", part);
  }
}

// One head and two tokens. The second looks at both with weight one half.
const NamedTensor kWeights{"weights", {1, 2, 2}, {1, 0, 0.5f, 0.5f}};
const NamedTensor kValues{"values", {1, 2, 2}, {3, 4, 0, 1}};
const NamedTensor kOutWeight{"out_weight", {2, 2}, {2, 0, 0, 2}};
const NamedTensor kLayers{"weights", {2, 1, 2, 2}, {1, 0, 0.5f, 0.5f, 1, 0, 0.5f, 0.5f}};
// The same after a padded token whose numbers are all NaN.
const NamedTensor kPaddedWeights{"weights", {1, 3, 3}, {kNan, kNan, kNan, 0, 1, 0, 0, 0.5f, 0.5f}};
const NamedTensor kPaddedValues{"values", {1, 3, 2}, {kNan, kNan, 3, 4, 0, 1}};
const NamedTensor kPaddedQueries{"padded_queries", {3}, {1, 0, 0}, DType::kU8};
const NamedTensor kPaddedKeys{"padded_keys", {3}, {1, 0, 0}, DType::kU8};

TEST_CASE("metrics: every one of both tables, with its needs, formula and source") {
  const json metrics = Values("metrics", {}).at("metrics");
  const auto find = [&](const std::string& name) {
    for (const json& metric : metrics)
      if (metric.at("name") == name) return metric;
    FAIL("no ", name);
    return json();
  };
  CHECK(metrics.size() >= 50);
  for (const json& metric : metrics) {
    CHECK(!metric.at("formula").get<std::string>().empty());
    CHECK(!metric.at("source").get<std::string>().empty());
  }
  CHECK(find("self").at("needs").empty());
  CHECK(find("induction").at("needs") == json{"repeat"});
  CHECK(find("induction_text").at("needs") == json{"tokens"});
  CHECK(find("special").at("needs") == json{"special"});
  CHECK(find("patch_distance").at("needs") == json{"patches"});
  CHECK(find("copying").at("needs") == json{"model"});
}

TEST_CASE("head_metrics and head_metric_counts: values, of how many rows, and what is known of the map") {
  const std::string two = R"({"metrics": ["self", "previous"], "is_causal": true})";
  CheckJson(Values("head_metrics", {kWeights}, two), json::parse(R"({"heads": [{"self": 0.75, "previous": 0.5}]})"));
  CheckJson(Values("head_metric_counts", {kWeights}, two), json::parse(R"({"heads": [{"self": 2, "previous": 1}]})"));
  CHECK(Values("head_metrics", {kWeights}).at("heads")[0].size() >= 40);
  // [T, S] is one head.
  const NamedTensor square{"weights", {2, 2}, kWeights.values};
  CheckJson(Values("head_metrics", {square}, two), json::parse(R"({"heads": [{"self": 0.75, "previous": 0.5}]})"));
  const std::vector<NamedTensor> padded = {kPaddedWeights, kPaddedQueries, kPaddedKeys};
  CheckJson(Values("head_metrics", padded, two), json::parse(R"({"heads": [{"self": 0.75, "previous": 0.5}]})"));
  CheckJson(Values("head_metric_counts", padded, two), json::parse(R"({"heads": [{"self": 2, "previous": 1}]})"));
  // With a mask: token 1 may not look at itself.
  const NamedTensor visible{"visible", {2, 2}, {1, 0, 1, 0}, DType::kU8}, first{"weights", {2, 2}, {1, 0, 1, 0}};
  CheckJson(Values("head_metrics", {first, visible}, two), json::parse(R"({"heads": [{"self": 1, "previous": 1}]})"));
  // With repeated tokens, special tokens and patches.
  const NamedTensor four{"weights", {4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0.6f, 0.4f, 0, 0, 0, 0.7f, 0.3f}};
  const NamedTensor tokens{"tokens", {4}, {8, 9, 8, 9}, DType::kI32}, special{"special", {4}, {0, 1, 0, 0}, DType::kU8};
  const std::string more =
      R"({"metrics": ["induction", "duplicate_text", "special", "patch_distance"], "patch_columns": 2, "patch_size": 8})";
  // Induction: A[2,1] = 0.6 and A[3,2] = 0.7. No token looks at an earlier copy of itself. Special: 1 + 0.6 over 4
  // rows. Patches: patch 2 is √2 away from patch 1, and patch 3 is 1 away from patch 2.
  CheckJson(Values("head_metrics", {four, tokens, special}, more),
            {{"heads",
              {{{"induction", 0.65},
                {"duplicate_text", 0.0},
                {"special", 0.4},
                {"patch_distance", 8 * (0.6 * std::sqrt(2.0) + 0.7) / 4}}}}});
  CheckJson(Values("head_metrics", {four}, R"({"metrics": ["duplicate"], "repeat_begin": 1, "repeat_length": 1})"),
            json::parse(R"({"heads": [{"duplicate": 0.6}]})"));
  // With a window, and queries before and after the first key.
  const std::string window = R"({"metrics": ["sink", "entropy_uniform"], "is_causal": true, "window": 2})";
  const NamedTensor near{"weights", {3, 3}, {1, 0, 0, 0.5f, 0.5f, 0, 0, 0.5f, 0.5f}};
  CheckJson(Values("head_metrics", {near}, window),
            {{"heads", {{{"sink", 0.75}, {"entropy_uniform", 2 * std::log(2.0) / 3}}}}});
  const NamedTensor strip{"weights", {2, 3}, {0.25f, 0.25f, 0.5f, 0, 0, 1}};
  CheckJson(Values("head_metrics", {strip}, R"({"metrics": ["offset"], "query_offset": 1})"),
            {{"heads", {{{"offset", (-0.25 + 0.5) / 2}}}}});
  CheckJson(Values("head_metrics", {strip}, R"({"metrics": ["offset"], "query_offset": -2})"),
            {{"heads", {{{"offset", (2 * 0.25 + 3 * 0.25 + 4 * 0.5 + 3) / 2}}}}});
}

TEST_CASE("head_similarity: ln 2 a row between heads that share nothing") {
  const NamedTensor apart{"weights", {2, 2, 2}, {1, 0, 0, 1, 0, 1, 1, 0}};
  const float far = 2 * std::log(2.0f);
  CheckMap("head_similarity", {apart}, R"({"smoothing": 0})", {2, 2}, {0, far, far, 0});
  const NamedTensor padded{"padded_queries", {2}, {0, 1}, DType::kU8};
  CheckMap("head_similarity", {apart, padded}, R"({"smoothing": 0})", {2, 2}, {0, far / 2, far / 2, 0});
  Refused(ErrorCode::kValue, "smoothing", "head_similarity", {apart}, R"({"smoothing": 2})");
}

TEST_CASE("head_importance and pruning_curve") {
  const NamedTensor contributions{"contributions", {2, 1, 2}, {3, 0, 0, 4}};
  CheckJson(Values("head_importance", {contributions}),
            json::parse(R"({"heads": [{"output_change": 0.6, "norm_share": 0.42857142857, "cosine": 0.6},
                                      {"output_change": 0.8, "norm_share": 0.57142857143, "cosine": 0.8}]})"));
  CheckJson(Values("pruning_curve", {contributions}),
            json::parse(R"({"steps": [{"head": 0, "change": 0.6}, {"head": 1, "change": 1}]})"));
  // With a bias, out is (6, 8).
  const NamedTensor output{"output", {1, 2}, {6, 8}};
  CheckJson(Values("head_importance", {contributions, output}).at("heads")[0],
            json::parse(R"({"output_change": 0.3, "norm_share": 0.42857142857, "cosine": 0.6})"));
  CheckJson(Values("pruning_curve", {contributions, output}).at("steps")[0],
            json::parse(R"({"head": 0, "change": 0.3})"));
  const NamedTensor nothing{"contributions", {1, 1, 2}, {0, 0}};
  CheckJson(Values("head_importance", {nothing}),
            json::parse(R"({"heads": [{"output_change": null, "norm_share": null, "cosine": null}]})"));
}

TEST_CASE("weighted_map and layer_norms") {
  CheckMap("weighted_map", {kWeights, kValues}, "{}", {1, 2, 2}, {1, 0, 0.5f, 0.1f});
  CheckMap("weighted_map", {kWeights, kValues}, R"({"normalize": false})", {1, 2, 2}, {5, 0, 2.5f, 0.5f});
  CheckMap("weighted_map", {kWeights, kValues, kOutWeight}, R"({"normalize": false})", {1, 2, 2}, {10, 0, 5, 1});
  CheckMap("weighted_map", {kPaddedWeights, kPaddedValues, kPaddedQueries, kPaddedKeys}, "{}", {1, 3, 3},
           {0, 0, 0, 0, 1, 0, 0, 0.5f, 0.1f});
  CheckMap("layer_norms", {kWeights, kValues, kOutWeight}, "{}", {2, 2}, {10, 0, 5, 1});
  CheckMap("layer_norms", {kPaddedWeights, kPaddedValues, kOutWeight, kPaddedQueries, kPaddedKeys}, "{}", {3, 3},
           {0, 0, 0, 0, 10, 0, 0, 5, 1});
  // Two heads of one group. They share the same values, of which the second writes the opposite.
  const NamedTensor two{"weights", {2, 2, 2}, {1, 0, 0.5f, 0.5f, 1, 0, 0, 1}};
  const NamedTensor opposite{"out_weight", {2, 4}, {1, 0, -1, 0, 0, 1, 0, -1}};
  CheckMap("layer_norms", {two, kValues, opposite}, "{}", {2, 2}, {0, 0, 2.5f, 0.5f});
  const NamedTensor three{"values", {3, 2, 2}, std::vector<float>(12, 1.0f)};
  Refused(ErrorCode::kShape, "divides the 1 heads", "weighted_map", {kWeights, three});
  Refused(ErrorCode::kValue, "a key's vector", "weighted_map", {kWeights, {"values", {1, 2, 2}, {3, 4, kNan, 1}}});
}

TEST_CASE("mixing_ratio: of itself and of others, with residual and layer norm") {
  const NamedTensor values{"values", {1, 2, 1}, {1, 1}}, one{"out_weight", {1, 1}, {1}};
  CheckJson(Values("mixing_ratio", {kWeights, values, one}), json::parse(R"({"tokens": [0, 0.5]})"));
  // 0.5 comes from the other token, and 0.5 + 2 is its own.
  const NamedTensor residual{"residual", {2, 1}, {0, 2}};
  CheckJson(Values("mixing_ratio", {kWeights, values, one, residual}), {{"tokens", {0.0, 0.5 / 3}}});
  // In two dimensions, centred: the other token's (1.5, 2) and its own (0, 0.5) become ±0.25 each.
  const NamedTensor identity{"out_weight", {2, 2}, {1, 0, 0, 1}}, gamma{"layer_norm", {2}, {1, 1}};
  CheckJson(Values("mixing_ratio", {kWeights, kValues, identity, gamma}, R"({"layer_norm_eps": 0.1})"),
            {{"tokens", {0.0, 0.5}}});
  const NamedTensor three{"values", {1, 3, 1}, {kNan, 1, 1}}, stream{"residual", {3, 1}, {kNan, 0, 2}};
  CheckJson(Values("mixing_ratio", {kPaddedWeights, three, one, stream, kPaddedQueries, kPaddedKeys}),
            {{"tokens", {nullptr, 0.0, 0.5 / 3}}});
  Refused(ErrorCode::kValue, "layer_norm_eps", "mixing_ratio", {kWeights, values, one}, R"({"layer_norm_eps": -1})");
  Refused(ErrorCode::kValue, "residual", "mixing_ratio", {kWeights, values, one, {"residual", {2, 1}, {0, kNan}}});
}

TEST_CASE("value_zeroing: how far each output turns") {
  const NamedTensor values{"values", {1, 2, 2}, {1, 0, 0, 1}}, identity{"out_weight", {2, 2}, {1, 0, 0, 1}};
  CheckMap("value_zeroing", {kWeights, values, identity}, "{}", {2, 2}, {1, 0, 0.5f, 0.5f});
  // With a bias of (0.5, 0) the second output is (1, 0.5). It is (0.5, 0.5) without the first value, and (1, 0) without
  // the second.
  const NamedTensor bias{"bias", {2}, {0.5f, 0}};
  const double first = 1 - 0.75 / std::sqrt(1.25 * 0.5), second = 1 - 1 / std::sqrt(1.25);
  CheckMap("value_zeroing", {kWeights, values, identity, bias}, "{}", {2, 2},
           {0, 0, static_cast<float>(first / (first + second)), static_cast<float>(second / (first + second))});
  const NamedTensor residual{"residual", {2, 2}, {0.5f, 0, 0.5f, 0}};
  CheckMap("value_zeroing", {kWeights, values, identity, residual}, "{}", {2, 2},
           {0, 0, static_cast<float>(first / (first + second)), static_cast<float>(second / (first + second))});
  const NamedTensor three{"values", {1, 3, 2}, {kNan, 0, 1, 0, 0, 1}};
  CheckMap("value_zeroing", {kPaddedWeights, three, identity, kPaddedQueries, kPaddedKeys}, "{}", {3, 3},
           {0, 0, 0, 0, 1, 0, 0, 0.5f, 0.5f});
}

TEST_CASE("rollout and flow: two layers of one head") {
  CheckMap("rollout", {kLayers}, "{}", {2, 2}, {1, 0, 0.4375f, 0.5625f});
  CheckMap("rollout", {kLayers}, R"({"start_layer": 1})", {2, 2}, {1, 0, 0.25f, 0.75f});
  // To token 0, 0.25 flows through token 0 and 0.25 through token 1. To token 1, 0.75 flows through token 1.
  CheckMap("flow", {kLayers}, "{}", {2, 2}, {1, 0, 0.4f, 0.6f});
  const NamedTensor heads{"weights", {1, 2, 2, 2}, {1, 0, 1, 0, 1, 0, 0, 1}};
  CheckMap("rollout", {heads}, R"({"fusion": "max"})", {2, 2}, {1, 0, 1.0f / 3, 2.0f / 3});
  CheckMap("flow", {heads}, R"({"fusion": "min"})", {2, 2}, {1, 0, 0, 1});
  CheckMap("rollout", {heads}, R"({"discard_ratio": 0.5})", {2, 2}, {1, 0, 0, 1});
  const NamedTensor padded{"weights", {1, 1, 3, 3}, kPaddedWeights.values};
  CheckMap("rollout", {padded, kPaddedQueries, kPaddedKeys}, "{}", {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0.25f, 0.75f});
  CheckMap("flow", {padded, kPaddedQueries, kPaddedKeys}, "{}", {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0.25f, 0.75f});
  Refused(ErrorCode::kValue, "weights[0, 0] is NaN", "rollout", {padded});
  Refused(ErrorCode::kValue, "start_layer is 2", "rollout", {kLayers}, R"({"start_layer": 2})");
  Refused(ErrorCode::kOption, "fusion", "rollout", {kLayers}, R"({"fusion": "sum"})");
  Refused(ErrorCode::kValue, "discard_ratio", "flow", {kLayers}, R"({"discard_ratio": 1})");
  Refused(ErrorCode::kUnsupported, "takes 2 x 2 maximal flows, expected at most 1 x 1: max_tokens is 1", "flow",
          {kLayers}, R"({"max_tokens": 1})");
}

/// W_Q = diag(2, 1), W_K = diag(3, 1), W_V = diag(4, 1), W_O = diag(1, −1): one head.
std::vector<NamedTensor> Projections(const std::string& prefix = "") {
  return {{prefix + "q_proj_weight", {2, 2}, {2, 0, 0, 1}},
          {prefix + "k_proj_weight", {2, 2}, {3, 0, 0, 1}},
          {prefix + "v_proj_weight", {2, 2}, {4, 0, 0, 1}},
          {prefix + "out_proj.weight", {2, 2}, {1, 0, 0, -1}}};
}

TEST_CASE("circuits: singular values, eigenvalues and copying scores; over the vocabulary; packed or not") {
  const std::string options = R"({"num_heads": 1})";
  const json expected = json::parse(R"({"heads": [{
      "qk": {"singular_values": [6, 1], "eigenvalues": [[6, 0], [1, 0]], "copying_score": 1},
      "ov": {"singular_values": [4, 1], "eigenvalues": [[4, 0], [-1, 0]], "copying_score": 0.6}}]})");
  CheckJson(Values("circuits", Projections(), options), expected);
  CheckJson(
      Values("circuits", {{"in_proj_weight", {6, 2}, {2, 0, 0, 1, 3, 0, 0, 1, 4, 0, 0, 1}}, Projections()[3]}, options),
      expected);
  // With γ = (1, 2), W_QK is multiplied by 1 and 4, and W_OV by 1 and 2. Eᵀ E = diag(1, 2) and Eᵀ U = diag(1, 4).
  std::vector<NamedTensor> full = Projections();
  full.push_back({"norm", {2}, {1, 2}});
  full.push_back({"embedding", {3, 2}, {1, 0, 0, 1, 0, 1}});
  const json tied = Values("circuits", full, options).at("heads")[0];
  CheckJson(tied.at("qk").at("singular_values"), {6, 4});
  CheckJson(tied.at("full_qk"), json::parse(R"({"eigenvalues": [[8, 0], [6, 0]], "copying_score": 1})"));
  CheckJson(tied.at("full_ov"), json::parse(R"({"eigenvalues": [[4, 0], [-4, 0]], "copying_score": 0})"));
  full.push_back({"unembedding", {3, 2}, {1, 0, 0, 2, 0, 2}});
  const json untied = Values("circuits", full, options).at("heads")[0];
  CheckJson(untied.at("full_ov").at("eigenvalues"), json::parse("[[-8, 0], [4, 0]]"));
  // Two heads of one dimension each that share keys and values.
  std::vector<NamedTensor> grouped = Projections();
  grouped[1] = {"k_proj_weight", {1, 2}, {1, 0}};
  grouped[2] = {"v_proj_weight", {1, 2}, {0, 1}};
  const json heads = Values("circuits", grouped, R"({"num_heads": 2, "num_kv_heads": 1})").at("heads");
  REQUIRE(heads.size() == 2);
  CheckJson(heads[0].at("qk").at("eigenvalues"), json::parse("[[2, 0]]"));  // (2, 0)ᵀ (1, 0)
  CheckJson(heads[1].at("qk").at("eigenvalues"), json::parse("[[0, 0]]"));  // (0, 1)ᵀ (1, 0)
  CheckJson(heads[1].at("ov").at("eigenvalues"), json::parse("[[-1, 0]]"));
  Refused(ErrorCode::kOption, "num_heads is missing", "circuits", Projections());
  Refused(ErrorCode::kShape, "unembedding needs embedding", "circuits",
          {Projections()[0], Projections()[1], Projections()[2], Projections()[3], {"unembedding", {1, 2}, {1, 1}}},
          options);
  Refused(ErrorCode::kShape, "in_proj_weight has shape (2, 2), expected the rows of q, k and v: (6, 2)", "circuits",
          {{"in_proj_weight", {2, 2}, {1, 0, 0, 1}}, Projections()[3]}, options);
  Refused(ErrorCode::kShape, "q_proj", "circuits", Projections(), R"({"num_heads": 3})");
}

TEST_CASE("composition_scores: what the later head reads of what the earlier wrote") {
  std::vector<NamedTensor> layers = Projections("earlier.");
  for (const NamedTensor& tensor : Projections("later.")) layers.push_back(tensor);
  // W_OV = diag(4, −1), W_QK = diag(6, 1), both symmetric; ‖W_OV‖² = 17, ‖W_QK‖² = 37.
  const double qk = std::sqrt(24.0 * 24 + 1) / std::sqrt(37.0 * 17), ov = std::sqrt(16.0 * 16 + 1) / 17;
  CheckJson(Values("composition_scores", layers, R"({"num_heads": 1})"), {{"query", json::array({json::array({qk})})},
                                                                          {"key", json::array({json::array({qk})})},
                                                                          {"value", json::array({json::array({ov})})}});
  layers[3].values = {0, 0, 0, 0};
  CheckJson(Values("composition_scores", layers, R"({"num_heads": 1})").at("value"), json::parse("[[null]]"));
}

TEST_CASE("the tables behind positions") {
  CheckMap("sinusoidal_positions", {}, R"({"length": 2, "width": 3, "offset": 1})", {2, 3},
           {std::sin(1.0f), std::cos(1.0f), std::sin(std::pow(10000.0f, -2.0f / 3)), std::sin(2.0f), std::cos(2.0f),
            std::sin(2 * std::pow(10000.0f, -2.0f / 3))});
  CheckMap("alibi_slopes", {}, R"({"heads": 2})", {2}, {1.0f / 16, 1.0f / 256});
  CHECK(Values("t5_bucket", {}, R"({"distance": 3})") == json{{"bucket", 19}});
  CHECK(Values("t5_bucket", {}, R"({"distance": -3})") == json{{"bucket", 3}});
  CHECK(Values("t5_bucket", {}, R"({"distance": 3, "bidirectional": false})") == json{{"bucket", 0}});
  CHECK(Values("t5_bucket", {}, R"({"distance": -200, "buckets": 16, "max_distance": 64})") == json{{"bucket", 7}});
  Refused(ErrorCode::kOption, "width is missing", "sinusoidal_positions", {}, R"({"length": 2})");
  Refused(ErrorCode::kOption, "length", "sinusoidal_positions", {}, R"({"length": -1, "width": 2})");
  Refused(ErrorCode::kOption, "heads is missing", "alibi_slopes", {});
  Refused(ErrorCode::kValue, "heads is 100000", "alibi_slopes", {}, R"({"heads": 100000})");
  Refused(ErrorCode::kOption, "distance is missing", "t5_bucket", {});
  Refused(ErrorCode::kValue, "buckets is 1", "t5_bucket", {}, R"({"distance": 1, "buckets": 1})");
  Refused(ErrorCode::kValue, "max_distance 8", "t5_bucket", {}, R"({"distance": 1, "max_distance": 8})");
}

/// Every analysis that takes tensors, with the ones that it needs.
struct Complete {
  std::string question;
  std::vector<NamedTensor> tensors;
  std::string options = "{}";
};

std::vector<Complete> CompleteQuestions() {
  const NamedTensor contributions{"contributions", {2, 1, 2}, {3, 0, 0, 4}};
  std::vector<NamedTensor> layers = Projections("earlier.");
  for (const NamedTensor& tensor : Projections("later.")) layers.push_back(tensor);
  return {{"head_metrics", {kWeights}},
          {"head_metric_counts", {kWeights}},
          {"head_similarity", {kWeights}},
          {"head_importance", {contributions}},
          {"pruning_curve", {contributions}},
          {"weighted_map", {kWeights, kValues}},
          {"layer_norms", {kWeights, kValues, kOutWeight}},
          {"mixing_ratio", {kWeights, kValues, kOutWeight}},
          {"value_zeroing", {kWeights, kValues, kOutWeight}},
          {"rollout", {kLayers}},
          {"flow", {kLayers}},
          {"circuits", Projections(), R"({"num_heads": 1})"},
          {"composition_scores", layers, R"({"num_heads": 1})"}};
}

TEST_CASE("what every question refuses: unknown names, missing tensors, wrong types, ranks and numbers") {
  Refused(ErrorCode::kOption, "analysis is \"atention\", expected one of: ", "atention", {});
  Refused(ErrorCode::kOption, "analysis is \"xxx", std::string(1000, 'x'), {});
  for (const Complete& complete : CompleteQuestions()) {
    const auto &question = complete.question, &options = complete.options;
    const auto& tensors = complete.tensors;
    CAPTURE(question);
    Ask(question, tensors, options);
    std::vector<NamedTensor> more = tensors;
    more.push_back({"wieghts", {1}, {1}});
    Refused(ErrorCode::kOption, "unknown tensor \"wieghts\"", question, more, options);
    Refused(ErrorCode::kOption, "fusoin", question, tensors,
            R"({"fusoin": 1)" + (options == "{}" ? "}" : ", " + options.substr(1)));
    Refused(ErrorCode::kFormat, "options is \"[]\", expected a JSON object", question, tensors, "[]");
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string& name = tensors[i].name;
      std::vector<NamedTensor> wrong = tensors;
      wrong.erase(wrong.begin() + static_cast<std::ptrdiff_t>(i));
      Refused(ErrorCode::kShape, name + " is missing", question, wrong, options);
      wrong = tensors;
      wrong[i].dtype = DType::kU8;
      Refused(ErrorCode::kDtype, name + " has the type U8, expected floats", question, wrong, options);
      wrong = tensors;
      wrong[i].shape.insert(wrong[i].shape.begin(), {2, 1, 1});
      wrong[i].values.insert(wrong[i].values.end(), wrong[i].values.begin(), wrong[i].values.end());
      Refused(ErrorCode::kShape, name + " has shape", question, wrong, options);
      wrong = tensors;
      wrong[i].values[1] = kNan;
      Refused(ErrorCode::kValue, "NaN", question, wrong, options);
    }
  }
}

TEST_CASE("what questions about maps refuse of the map's masks") {
  for (const Complete& complete : CompleteQuestions()) {
    const auto& question = complete.question;
    const auto& tensors = complete.tensors;
    if (tensors[0].name != "weights") continue;
    CAPTURE(question);
    const auto with = [&](const NamedTensor& tensor) {
      std::vector<NamedTensor> more = tensors;
      more.push_back(tensor);
      return more;
    };
    for (const std::string name : {"padded_queries", "padded_keys"}) {
      Refused(ErrorCode::kShape, name, question, with({name, {3}, {0, 0, 0}, DType::kU8}));
      Refused(ErrorCode::kShape, name, question, with({name, {1, 2}, {0, 0}, DType::kU8}));
      Refused(ErrorCode::kDtype, name, question, with({name, {2}, {0, 0}}));
    }
    Refused(ErrorCode::kShape, "visible", question, with({"visible", {4}, {1, 1, 1, 1}, DType::kU8}));
    Refused(ErrorCode::kShape, "visible", question, with({"visible", {2, 3}, {1, 1, 1, 1, 1, 1}, DType::kU8}));
    Refused(ErrorCode::kValue, "that cell is masked", question, with({"visible", {2, 2}, {1, 1, 0, 1}, DType::kU8}));
    Refused(ErrorCode::kValue, "that cell is masked", question, tensors, R"({"is_causal": true, "window": 1})");
    Refused(ErrorCode::kOption, "window is 0, expected a whole number, at least 1", question, tensors,
            R"({"window": 0})");
    Refused(ErrorCode::kOption, "query_offset is 0.5", question, tensors, R"({"query_offset": 0.5})");
    Refused(ErrorCode::kValue, "query_offset", question, tensors, R"({"query_offset": 9007199254740992})");
    Refused(ErrorCode::kOption, "is_causal is 1", question, tensors, R"({"is_causal": 1})");
  }
  const NamedTensor tokens{"tokens", {2}, {1, 2}, DType::kI32};
  Refused(ErrorCode::kOption, "metrics is []", "head_metrics", {kWeights}, R"({"metrics": []})");
  Refused(ErrorCode::kOption, "no metric is called \"indukction\"", "head_metrics", {kWeights},
          R"({"metrics": ["indukction"]})");
  Refused(ErrorCode::kOption, "no metric is called \"ablation_loss\"", "head_metrics", {kWeights},
          R"({"metrics": ["ablation_loss"]})");
  Refused(ErrorCode::kShape, "tokens", "head_metrics", {kWeights, {"tokens", {1, 2}, {1, 2}, DType::kI32}});
  Refused(ErrorCode::kDtype, "tokens", "head_metrics", {kWeights, {"tokens", {2}, {1, 2}}});
  Refused(ErrorCode::kValue, "repeat", "head_metrics", {kWeights, tokens}, R"({"repeat_length": 2})");
  Refused(ErrorCode::kValue, "grid", "head_metrics", {kWeights}, R"({"patch_columns": 3})");
  Refused(ErrorCode::kOption, "patch_size", "head_metrics", {kWeights}, R"({"patch_size": "big"})");
}

}  // namespace
}  // namespace headlens::testing
