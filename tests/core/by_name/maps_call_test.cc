// SPDX-License-Identifier: Apache-2.0
/// Maps of given queries and keys by name, held against the weights that scaled_dot_product_attention gives.
#include "headlens/maps_call.h"

#include <cstring>

#include "headlens/problem.h"
#include "support.h"

namespace headlens::testing {
namespace {

struct NamedFloats {
  NamedFloats(std::string called, const Tensor& tensor)
      : name(std::move(called)), shape(tensor.shape()), values(tensor.values().begin(), tensor.values().end()) {}

  std::string name;
  Shape shape;
  std::vector<float> values;
};

template <class Call>
void Give(Call& call, const std::vector<NamedFloats>& tensors) {
  for (const auto& [name, shape, values] : tensors) {
    const std::span<std::byte> bytes = call.Input(name, DType::kF32, shape);
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  }
}

MapsCall MapsOf(const std::vector<NamedFloats>& tensors, const std::string& options) {
  MapsCall call(TestBackends());
  Give(call, tensors);
  call.Read(options);
  return call;
}

/// The weights [B, H, T, S] of the same call. The tensors have four dimensions.
Results Expected(const std::vector<NamedFloats>& tensors, std::string options) {
  options.back() = ',';
  Problem problem("scaled_dot_product_attention", options + R"("need_weights": true, "stages": ["lse"]})",
                  TestBackends());
  Give(problem, tensors);
  return problem.Run();
}

TEST_CASE("maps of given queries and keys are the weights of the same call of attention") {
  Random random(81);
  const std::vector<NamedFloats> qk = {{"query", random.NormalTensor({2, 4, 9, 6})},
                                       {"key", random.NormalTensor({2, 2, 11, 6})}};
  const std::pair<std::string, std::vector<NamedFloats>> cases[] = {
      {R"({"enable_gqa": true})", {}},
      {R"({"enable_gqa": true, "is_causal": true, "gqa_order": "interleaved", "scale": 0.7})", {}},
      {R"({"enable_gqa": true, "window_left": 2, "softcap": 1.5, "backend": "reference"})", {}},
      {R"({"enable_gqa": true, "normalizer": "entmax15", "alibi": true, "is_causal": true})", {}},
      {R"({"enable_gqa": true, "rotary": "half", "rotary_base": 100, "is_causal": true})", {}},
      {R"({"enable_gqa": true, "conventions": "onnx", "is_causal": true})",
       {{"attn_mask", random.NormalTensor({2, 4, 9, 11})}, {"sinks", random.NormalTensor({4})}}},
  };
  for (const auto& [options, more] : cases) {
    CAPTURE(options);
    std::vector<NamedFloats> tensors = qk;
    tensors.insert(tensors.end(), more.begin(), more.end());
    const Results expected = Expected(tensors, options);
    const MapsCall call = MapsOf(tensors, options);
    const AttentionMaps& maps = call.maps();
    REQUIRE(Shape{maps.batches(), maps.heads(), maps.queries(), maps.keys()} == expected.at("weights").shape());
    for (Index b = 0; b < 2; ++b)
      for (Index h = 0; h < 4; ++h) {
        const Tensor map({9, 11});
        maps.Map(b, h, {}, map.view<2>());
        CheckClose("map", map.values(), {expected.at("weights").view<4>().at(b, h), 99}, 16 * kEpsilon);
        const std::vector<RowSummary> rows = maps.Summaries(b, h, 0, 9);
        for (Index t = 0; t < 9; ++t) {
          const float lse = rows[static_cast<std::size_t>(t)].lse;
          CheckClose("lse", {&lse, 1}, {expected.at("lse").view<3>().at(b, h, t), 1}, 64 * kEpsilon);
        }
      }
  }
}

TEST_CASE("three dimensions are those of heads, and sizes may be 0") {
  Random random(83);
  const MapsCall heads =
      MapsOf({{"query", random.NormalTensor({3, 5, 4})}, {"key", random.NormalTensor({3, 7, 4})}}, "{}");
  CHECK(Shape{heads.maps().batches(), heads.maps().heads(), heads.maps().queries(), heads.maps().keys()} ==
        Shape{1, 3, 5, 7});
  const MapsCall one = MapsOf({{"query", random.NormalTensor({5, 4})}, {"key", random.NormalTensor({7, 4})}}, "{}");
  CHECK(one.maps().heads() == 1);

  const MapsCall no_keys = MapsOf({{"query", Tensor({1, 2, 3, 4})}, {"key", Tensor({1, 2, 0, 4})}}, "{}");
  no_keys.maps().Map(0, 1, {}, Tensor({3, 0}).view<2>());
  for (const RowSummary& row : no_keys.maps().Summaries(0, 1, 0, 3)) {
    CHECK(row.lse == -std::numeric_limits<float>::infinity());
    CHECK(row.largest == 0.0f);
    CHECK(row.keys == 0);
  }
  const MapsCall no_rows = MapsOf({{"query", Tensor({2, 2, 0, 4})}, {"key", Tensor({2, 2, 3, 4})}}, "{}");
  CHECK(no_rows.maps().Summaries(1, 1, 0, 0).empty());
  const MapsCall no_heads = MapsOf({{"query", Tensor({2, 0, 3, 4})}, {"key", Tensor({2, 0, 3, 4})}}, "{}");
  testing::Refused(ErrorCode::kValue, "head 0 is not there", [&] { no_heads.maps().Summaries(0, 0, 0, 3); });
}

TEST_CASE("what concerns no weights is unknown to maps, and what does not fit is refused") {
  Random random(85);
  const std::vector<NamedFloats> qk = {{"query", random.NormalTensor({2, 3, 4})}};
  for (const char* option : {R"("need_weights": true)", R"("average_attn_weights": false)", R"("stages": [])",
                             R"("dropout_p": 0.5)", R"("seed": 1)"}) {
    CAPTURE(option);
    testing::Refused(ErrorCode::kOption, "unknown option", [&] { MapsOf(qk, "{" + std::string(option) + "}"); });
  }
  for (const char* name : {"value", "past_key", "past_value", "head_mask", "src"}) {
    CAPTURE(name);
    testing::Refused(ErrorCode::kOption, "unknown tensor", [&] { MapsCall().Input(name, DType::kF32, {2, 3, 4}); });
  }
  testing::Refused(ErrorCode::kShape, "query", [] { MapsCall().Read(); });
  testing::Refused(ErrorCode::kShape, "width of at least 1", [] { MapsOf({{"query", Tensor({2, 3, 0})}}, "{}"); });
  testing::Refused(ErrorCode::kOption, "not read yet", [] { MapsCall().maps(); });
  MapsCall call = MapsOf(qk, "{}");
  testing::Refused(ErrorCode::kOption, "window_left", [&] { call.Read(R"({"window_left": -2})"); });
  testing::Refused(ErrorCode::kOption, "not read yet", [&] { call.maps(); });
  call.Read(R"({"rotary": "half"})");
  call.Read(R"({"rotary": "interleaved"})");
  CHECK(call.maps().queries() == 3);
}

}  // namespace
}  // namespace headlens::testing
