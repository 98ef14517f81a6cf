// SPDX-License-Identifier: Apache-2.0
#include "headlens/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "headlens/safetensors.h"
#include "support.h"

namespace headlens::testing {
namespace {

/// A small random model, its parameters by name.
struct RandomModel {
  std::map<std::string, Tensor, std::less<>> parameters;
  DecoderConfig config;

  explicit RandomModel(std::uint64_t seed) {
    config = ParseDecoderConfig(
        R"({"model_type": "llama", "vocab_size": 37, "hidden_size": 20, "intermediate_size": 33, "num_hidden_layers": 2,
      "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 10, "max_position_embeddings": 64, "rms_norm_eps": 1e-5})");
    Random random(seed);
    const auto add = [&](const std::string& name, Shape shape) {
      parameters.emplace(name, random.NormalTensor(std::move(shape), 0.3f));
    };
    add("model.embed_tokens.weight", {37, 20});
    add("model.norm.weight", {20});
    add("lm_head.weight", {37, 20});
    for (int i = 0; i < 2; ++i) {
      const std::string layer = "model.layers." + std::to_string(i) + ".";
      add(layer + "input_layernorm.weight", {20});
      add(layer + "post_attention_layernorm.weight", {20});
      add(layer + "self_attn.q_proj.weight", {60, 20});
      add(layer + "self_attn.k_proj.weight", {30, 20});
      add(layer + "self_attn.v_proj.weight", {30, 20});
      add(layer + "self_attn.o_proj.weight", {20, 60});
      add(layer + "mlp.gate_proj.weight", {33, 20});
      add(layer + "mlp.up_proj.weight", {33, 20});
      add(layer + "mlp.down_proj.weight", {20, 33});
    }
  }

  Decoder Build(const Backend& backend) const {
    return Decoder(
        config,
        [this](std::string_view name) -> std::optional<RawTensor> {
          const auto it = parameters.find(name);
          if (it == parameters.end()) return std::nullopt;
          return RawTensor{DType::kF32, it->second.shape(), reinterpret_cast<const std::byte*>(it->second.data())};
        },
        backend);
  }
};

const std::vector<std::int32_t> kIds = {5, 1, 36, 0, 5, 1, 22, 7, 19, 30, 5};

Tensor MapOf(const DecoderAttention& attention, Index layer, Index head) {
  Tensor map({attention.length(), attention.length()});
  attention.Map(layer, head, 0, attention.length(), map.view<2>());
  return map;
}

TEST_CASE("a decoder agrees between backends, its maps are causal and sum to 1") {
  const RandomModel model(3);
  const Decoder reference = model.Build(ReferenceBackend());
  const DecoderAttention expected = reference.Attend(kIds);
  ForEachTarget([&] {
    const Decoder simd = model.Build(SimdBackend());
    const DecoderAttention got = simd.Attend(kIds);
    CheckClose("logits", got.Logits().values(), expected.Logits().values(),
               256 * kEpsilon * MaxNorm(expected.Logits().values()));
    for (Index layer = 0; layer < 2; ++layer)
      for (Index head = 0; head < 6; ++head) {
        const Tensor map = MapOf(got, layer, head);
        CheckClose("map", map.values(), MapOf(expected, layer, head).values(), 256 * kEpsilon);
        for (Index t = 0; t < got.length(); ++t) {
          double sum = 0.0;
          for (Index s = 0; s < got.length(); ++s) {
            sum += double{map.view<2>()(t, s)};
            CHECK((s <= t || map.view<2>()(t, s) == 0.0f));
          }
          CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
        }
      }
  });
}

TEST_CASE("what comes later changes nothing earlier; strips and pooled maps come from the whole one") {
  const RandomModel model(4);
  const Decoder decoder = model.Build(SimdBackend());
  const DecoderAttention whole = decoder.Attend(kIds);
  const DecoderAttention prefix = decoder.Attend(std::span(kIds).first(6));
  const Tensor map = MapOf(whole, 1, 4), first = MapOf(prefix, 1, 4);
  for (Index t = 0; t < 6; ++t)
    CheckClose("prefix", {first.view<2>().at(t), 6}, {map.view<2>().at(t), 6}, 64 * kEpsilon);
  Tensor strip({3, 11}), pooled({4, 3});
  whole.Map(1, 4, 5, 8, strip.view<2>());
  CheckClose("strip", strip.values(), map.values().subspan(55, 33), 8 * kEpsilon);
  whole.PooledMap(1, 4, 0, 11, pooled.view<2>());
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 3; ++j) {
      double sum = 0.0;
      Index cells = 0;
      for (Index t = i * 11 / 4; t < (i + 1) * 11 / 4; ++t)
        for (Index s = j * 11 / 3; s < (j + 1) * 11 / 3; ++s, ++cells) sum += double{map.view<2>()(t, s)};
      CHECK(pooled.view<2>()(i, j) == doctest::Approx(sum / static_cast<double>(cells)).epsilon(1e-5));
    }
  CHECK_THROWS_AS(MapOf(whole, 2, 0), Error);
  CHECK_THROWS_AS(MapOf(whole, 0, 6), Error);
  CHECK_THROWS_AS(whole.Map(0, 0, 9, 12, strip.view<2>()), Error);
  CHECK_THROWS_AS(decoder.Attend({}), Error);
  CHECK_THROWS_AS(decoder.Attend(std::vector<std::int32_t>(65)), Error);
  CHECK_THROWS_AS(decoder.Attend(std::vector<std::int32_t>{37}), Error);
  CHECK_THROWS_AS(decoder.Attend(std::vector<std::int32_t>{-1}), Error);
}

TEST_CASE("configurations that are wrong or of another model") {
  const auto refusal = [](const char* text, ErrorCode code) -> std::string {
    try {
      ParseDecoderConfig(text);
    } catch (const Error& error) {
      CHECK_MESSAGE(error.code() == code, error.what());
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal("{", ErrorCode::kFormat) == "config.json is not a JSON object");
  CHECK(refusal("{}", ErrorCode::kFormat) == "config.json has no model_type");
  CHECK(refusal(R"({"model_type": "bert"})", ErrorCode::kUnsupported) ==
        "config.json: model_type is \"bert\", supported is \"llama\"");
  CHECK(refusal(R"({"model_type": "llama"})", ErrorCode::kFormat) == "config.json has no vocab_size");
  CHECK(refusal(R"({"model_type": "llama", "vocab_size": -5})", ErrorCode::kValue).find("vocab_size is -5") !=
        std::string::npos);
  CHECK(refusal(R"({"model_type": "llama", "vocab_size": 1e30})", ErrorCode::kValue).find("vocab_size is 1e+30") !=
        std::string::npos);
  CHECK(refusal(R"({"model_type": "llama", "rope_scaling": {"factor": 2}})", ErrorCode::kUnsupported)
            .find("rope_scaling") != std::string::npos);
}

TEST_CASE("the built-in model gives PyTorch's numbers") {
  // Made from the same weights in fp64 by web/models/train/golden.py.
  const std::string folder = HEADLENS_GOLDEN_DIR "/../../web/models/tiny/";
  const std::vector<std::byte> golden_file = ReadFile(HEADLENS_GOLDEN_DIR "/model/tiny.safetensors");
  const std::vector<std::byte> config = ReadFile(folder + "config.json"),
                               weights = ReadFile(folder + "model.safetensors");
  const Safetensors golden(golden_file), tensors(weights);
  const DecoderConfig shape = ParseDecoderConfig({reinterpret_cast<const char*>(config.data()), config.size()});
  const Decoder decoder(shape, [&](std::string_view name) { return tensors.Find(name); }, SimdBackend());

  std::vector<std::int32_t> ids;
  const RawTensor raw_ids = golden.Find("ids").value();
  for (Index i = 0; i < ElementCount(raw_ids.shape); ++i) {
    std::int64_t id = 0;
    std::memcpy(&id, raw_ids.data + static_cast<std::size_t>(i) * ByteSize(raw_ids.dtype), ByteSize(raw_ids.dtype));
    ids.push_back(static_cast<std::int32_t>(id));
  }
  const DecoderAttention attention = decoder.Attend(ids);
  const Tensor expected = ToFloat(golden.Find("weights").value());
  const auto length = static_cast<Index>(ids.size());
  REQUIRE(expected.shape() == Shape{shape.layers, shape.heads, length, length});
  for (Index layer = 0; layer < shape.layers; ++layer)
    for (Index head = 0; head < shape.heads; ++head) {
      const Tensor map = MapOf(attention, layer, head);
      const auto cells = static_cast<std::size_t>(length * length);
      CheckClose("map", map.values(),
                 expected.values().subspan(static_cast<std::size_t>(layer * shape.heads + head) * cells, cells), 2e-5);
    }
  // The golden holds the stream after the embedding and after each layer; the last is ours to compare.
  const Tensor hidden = ToFloat(golden.Find("hidden").value()), logits = ToFloat(golden.Find("logits").value());
  const Index states = length * shape.hidden_size;
  REQUIRE(hidden.size() == (shape.layers + 1) * states);
  const std::span<const float> last = hidden.values().last(static_cast<std::size_t>(states));
  CheckClose("hidden", attention.hidden().values(), last, 64 * kEpsilon * MaxNorm(last));
  REQUIRE(logits.shape() == Shape{length, shape.vocab_size});
  CheckClose("logits", attention.Logits().values(), logits.values(), 64 * kEpsilon * MaxNorm(logits.values()));
}

}  // namespace
}  // namespace headlens::testing
