// SPDX-License-Identifier: Apache-2.0
/// Problems by name: each wrong option and tensor gets its own message, and layers are reused when they should be.
#include "headlens/problem.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "support.h"

namespace headlens::testing {
namespace {

void Give(Problem& problem, std::string_view name, const Shape& shape, float value = 0.5f) {
  const std::span<std::byte> bytes = problem.Input(name, DType::kF32, shape);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof value) std::memcpy(bytes.data() + i, &value, sizeof value);
}

void GiveTensor(Problem& problem, std::string_view name, const Tensor& tensor) {
  const std::span<std::byte> bytes = problem.Input(name, DType::kF32, tensor.shape());
  std::memcpy(bytes.data(), tensor.data(), bytes.size());
}

TEST_CASE("options that are wrong") {
  const struct {
    const char* options;
    ErrorCode code;
    const char* says;
  } cases[] = {
      {"", ErrorCode::kFormat, "options is \"\", expected a JSON object"},
      {"[]", ErrorCode::kFormat, "options is \"[]\", expected a JSON object"},
      {"{\"is_causal\":", ErrorCode::kFormat, "options is \"{\"is_causal\":\", expected a JSON object"},
      {R"({"is_causl": true})", ErrorCode::kOption,
       "unknown option \"is_causl\"; did you mean is_causal? Known here: "},
      {R"({"is_causal": 1})", ErrorCode::kOption, "is_causal is 1, expected true or false"},
      {R"({"scale": "big"})", ErrorCode::kOption, "scale is \"big\", expected a finite number"},
      {R"({"scale": 1e999})", ErrorCode::kFormat, "options is \"{\"scale\": 1e999}\", expected"},
      {R"({"dropout_p": 2})", ErrorCode::kValue, "dropout_p is 2, expected 0 to 1"},
      {R"({"seed": -1})", ErrorCode::kOption, "seed is -1, expected a whole number, at least 0"},
      {R"({"seed": 0.5})", ErrorCode::kOption, "seed is 0.5, expected a whole number"},
      {R"({"softcap": -3})", ErrorCode::kValue, "softcap is -3, expected a positive number, or 0 for none"},
      {R"({"conventions": "numpy"})", ErrorCode::kOption, "conventions is \"numpy\", expected one of \"torch-mha\""},
      {R"({"mask_true": "maybe"})", ErrorCode::kOption, "mask_true is \"maybe\", expected one of \"keep\", \"ignore\""},
      {R"({"fully_masked": true})", ErrorCode::kOption,
       "fully_masked is true, expected one of \"zero\", \"nan\", \"uniform\""},
      {R"({"causal_alignment": ""})", ErrorCode::kOption, "causal_alignment is \"\", expected one of \"top_left\""},
      {R"({"gqa_order": 3})", ErrorCode::kOption, "gqa_order is 3"},
      {R"({"softcap_order": 3})", ErrorCode::kOption, "softcap_order is 3"},
      {R"({"stages": "scores"})", ErrorCode::kOption, "stages is \"scores\", expected a list of names"},
      {R"({"stages": ["score"]})", ErrorCode::kOption, "stages names \"score\", expected some of: q, k, v"},
      {R"({"backend": "cuda"})", ErrorCode::kOption, "backend is \"cuda\", expected one of: simd, reference"},
      {R"({"embed_dim": 4})", ErrorCode::kOption, "unknown option \"embed_dim\""},
  };
  for (const auto& wrong : cases) {
    const auto& options = wrong.options;
    const auto& code = wrong.code;
    const auto& says = wrong.says;
    CAPTURE(options);
    const std::string message = Refusal(code, [&] {
      Problem problem("scaled_dot_product_attention", "{}");
      Give(problem, "query", {3, 4});
      problem.Run(options);
    });
    CHECK_MESSAGE(message.find(says) == 0, message);
  }
  CHECK(Refusal(ErrorCode::kOption, [] {
          Problem("attention", "{}");
        }).find("op is \"attention\", expected one of: ") == 0);
}

TEST_CASE("tensors that are wrong") {
  using Named = std::pair<const char*, Shape>;
  const struct {
    std::initializer_list<Named> tensors;
    const char* options;
    ErrorCode code;
    const char* says;
  } cases[] = {
      {{}, "{}", ErrorCode::kShape, "query is missing"},
      {{{"query", {4}}}, "{}", ErrorCode::kShape, "query has shape (4,), expected 2 to 4 dimensions"},
      {{{"query", {1, 1, 1, 2, 3}}}, "{}", ErrorCode::kShape, "query has shape (1, 1, 1, 2, 3)"},
      {{{"query", {2, 3, 4}}, {"key", {3, 4}}}, "{}", ErrorCode::kShape, "key has shape (3, 4), expected 3 dimensions"},
      {{{"query", {3, 4}}, {"key", {3, 5}}},
       "{}",
       ErrorCode::kShape,
       "key has shape (3, 5), expected (3, 4), as query has but for the length"},
      {{{"query", {1, 4, 3, 4}}, {"key", {1, 2, 3, 4}}},
       "{}",
       ErrorCode::kShape,
       "key has shape (1, 2, 3, 4), expected (1, 4, 3, 4), as query has but for the length; enable_gqa allows"},
      {{{"query", {1, 4, 3, 4}}, {"key", {1, 3, 3, 4}}},
       R"({"enable_gqa": true})",
       ErrorCode::kShape,
       "key has shape (1, 3, 3, 4), expected a number of heads that divides the 4 of query"},
      {{{"query", {3, 4}}, {"value", {2, 4}}},
       "{}",
       ErrorCode::kShape,
       "value has shape (2, 4), expected (3, 4), as query has but for the width"},
      {{{"query", {3, 0}}}, "{}", ErrorCode::kShape, "query has shape (3, 0), expected a head width of at least 1"},
      {{{"query", {3, 4}}, {"attn_mask", {2, 3}}},
       "{}",
       ErrorCode::kShape,
       "attn_mask has shape (2, 3), expected (3, 3), "},
      {{{"query", {2, 3, 4}}, {"attn_mask", {5, 3, 3}}}, "{}", ErrorCode::kShape, "attn_mask has shape (5, 3, 3)"},
      {{{"query", {3, 4}}, {"key_padding_mask", {1, 3}}},
       "{}",
       ErrorCode::kDtype,
       "key_padding_mask has the type F32, expected BOOL or U8"},
      {{{"query", {3, 4}}, {"valid_lens", {1}}},
       "{}",
       ErrorCode::kDtype,
       "valid_lens has the type F32, expected I32 or I64"},
  };
  for (const auto& wrong : cases) {
    const auto& tensors = wrong.tensors;
    const auto& options = wrong.options;
    const auto& code = wrong.code;
    const auto& says = wrong.says;
    CAPTURE(says);
    const std::string message = Refusal(code, [&] {
      Problem problem("scaled_dot_product_attention", options);
      for (const auto& [name, shape] : tensors) Give(problem, name, shape);
      problem.Run();
    });
    CHECK_MESSAGE(message.find(says) == 0, message);
  }
  Problem problem("scaled_dot_product_attention", "{}");
  CHECK(Refusal(ErrorCode::kOption, [&] {
          problem.Input("quary", DType::kF32, {1});
        }).find("unknown tensor \"quary\"; did you mean query? Known here: query") == 0);
  CHECK(Refusal(ErrorCode::kShape, [&] {
          problem.Input("query", DType::kF32, {-1});
        }).find("expected sizes from 0 up") != std::string::npos);
  CHECK(Refusal(ErrorCode::kMemory, [&] {
          problem.Input("query", DType::kF32, {Index{1} << 40, Index{1} << 40});
        }).find("expected a size that can be addressed") != std::string::npos);

  Give(problem, "query", {3, 4});
  const std::int32_t too_long = 4;
  std::memcpy(problem.Input("valid_lens", DType::kI32, {1}).data(), &too_long, sizeof too_long);
  CHECK(Refusal(ErrorCode::kValue, [&] { problem.Run(); }) == "valid_lens holds 4 at (0,), expected 0 to 3");
  // The inputs of a failed run are dropped.
  CHECK(Refusal(ErrorCode::kShape, [&] { problem.Run(); }) == "query is missing");
}

TEST_CASE("layers: sizes, missing parameters, and a width that the heads do not divide") {
  const auto layer = [](const char* options) {
    return [=] {
      Problem problem("multihead_attention", options);
      Give(problem, "query", {1, 1, 4});
      problem.Run();
    };
  };
  CHECK(Refusal(ErrorCode::kOption, layer("{}")) == "embed_dim is missing, expected a whole number, at least 1");
  CHECK(Refusal(ErrorCode::kOption, layer(R"({"embed_dim": 0, "num_heads": 1})")).find("embed_dim is 0") == 0);
  // T1.4
  CHECK(Refusal(ErrorCode::kShape, layer(R"({"embed_dim": 10, "num_heads": 3})")) ==
        "embed_dim is 10, expected a multiple of num_heads, 3");
  CHECK(Refusal(ErrorCode::kShape, layer(R"({"embed_dim": 4, "num_heads": 2})")) ==
        "nothing was loaded yet: the parameters are missing");
  Problem problem("multihead_attention", R"({"embed_dim": 4, "num_heads": 2, "bias": false})");
  Give(problem, "in_proj_weight", {12, 5});
  Give(problem, "query", {1, 1, 4});
  CHECK(Refusal(ErrorCode::kShape, [&] { problem.Run(); }) ==
        "parameter in_proj_weight has shape (12, 5), expected (12, 4)");
  Give(problem, "in_proj_weight", {12, 4});
  Give(problem, "out_proj.weight", {4, 4});
  const auto run_with = [&](const Shape& query) {
    return Refusal(ErrorCode::kShape, [&] {
      Give(problem, "query", query);
      problem.Run();
    });
  };
  CHECK(run_with({2, 5, 6}).find("query has shape (2, 5, 6), expected (2, 5, 4)") == 0);
  CHECK(run_with({4}).find("query has shape (4,), expected 2 or 3 dimensions") == 0);
  CHECK(run_with({2, 5, 4}) == "accepted");
}

TEST_CASE("T1.6: parameters are counted as PyTorch counts them") {
  const auto count = [](const char* options) { return Problem("multihead_attention", options).ParameterCount(); };
  CHECK(count(R"({"embed_dim": 768, "num_heads": 12, "bias": false})") == 2'359'296);
  CHECK(count(R"({"embed_dim": 768, "num_heads": 12})") == 2'359'296 + 4 * 768);
  CHECK(count(R"({"embed_dim": 8, "num_heads": 2, "kdim": 5, "vdim": 6, "add_bias_kv": true})") ==
        8 * 8 * 2 + 8 * 5 + 8 * 6 + 32 + 16);
  CHECK(Problem("transformer_encoder_layer", R"({"embed_dim": 512, "num_heads": 8})").ParameterCount() == 3'152'384);
  CHECK(Problem("transformer_decoder_layer", R"({"embed_dim": 512, "num_heads": 8})").ParameterCount() == 4'204'032);
}

TEST_CASE("a layer keeps its parameters between runs, and follows changed ones") {
  Random random(4);
  Problem problem("multihead_attention", R"({"embed_dim": 6, "num_heads": 3, "bias": false, "batch_first": true})");
  const Tensor in = random.NormalTensor({18, 6}), out = random.NormalTensor({6, 6}),
               query = random.NormalTensor({2, 4, 6});
  const auto run = [&](const char* options) {
    GiveTensor(problem, "query", query);
    return problem.Run(options);
  };
  GiveTensor(problem, "in_proj_weight", in);
  GiveTensor(problem, "out_proj.weight", out);
  const Results first = run("{}"), second = run("{}"),
                reference = run(R"({"backend": "reference", "average_attn_weights": false})");
  CheckClose("again", second.at("output").values(), first.at("output").values(), 0.0);
  CheckClose("reference", reference.at("output").values(), first.at("output").values(),
             64 * kEpsilon * MaxNorm(first.at("output").values()));
  CHECK(first.at("weights").shape() == Shape{2, 4, 4});
  CHECK(reference.at("weights").shape() == Shape{2, 3, 4, 4});
  CHECK_FALSE(run(R"({"need_weights": false})").contains("weights"));
  Give(problem, "out_proj.weight", {6, 6}, 0.0f);
  const Results silent = run("{}");
  for (const float value : silent.at("output").values()) CHECK(value == 0.0f);
}

void GiveBytes(Problem& problem, std::string_view name, DType dtype, const Shape& shape, const auto& values) {
  const std::span<std::byte> bytes = problem.Input(name, dtype, shape);
  REQUIRE(bytes.size() == sizeof(values[0]) * std::size(values));
  std::memcpy(bytes.data(), std::data(values), bytes.size());
}

TEST_CASE("a layer is built anew for each option that describes it") {
  const auto give = [](Problem& problem) {
    Random random(7);
    GiveTensor(problem, "self_attn.in_proj_weight", random.NormalTensor({24, 8}));
    GiveTensor(problem, "self_attn.in_proj_bias", random.NormalTensor({24}));
    GiveTensor(problem, "self_attn.out_proj.weight", random.NormalTensor({8, 8}));
    GiveTensor(problem, "self_attn.out_proj.bias", random.NormalTensor({8}));
    GiveTensor(problem, "linear1.weight", random.NormalTensor({5, 8}));
    GiveTensor(problem, "linear1.bias", random.NormalTensor({5}));
    GiveTensor(problem, "linear2.weight", random.NormalTensor({8, 5}));
    GiveTensor(problem, "linear2.bias", random.NormalTensor({8}));
    for (const char* norm : {"norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"})
      GiveTensor(problem, norm, random.NormalTensor({8}));
  };
  const auto run = [](Problem& problem, const char* options) {
    Random random(8);
    GiveTensor(problem, "src", random.NormalTensor({3, 8}));
    return std::move(problem.Run(options).at("output"));
  };
  constexpr const char *kOp = "transformer_encoder_layer",
                       *kOptions = R"({"embed_dim": 8, "num_heads": 2, "dim_feedforward": 5})";
  Problem kept(kOp, kOptions);
  give(kept);
  const Tensor plain = run(kept, "{}");
  for (const char* options :
       {R"({"num_heads": 4})", R"({"bias": false})", R"({"activation": "gelu"})", R"({"norm": "rms_norm"})",
        R"({"layer_norm_eps": 0.5})", R"({"norm_first": true})", R"({"backend": "reference"})"}) {
    CAPTURE(options);
    Problem fresh(kOp, kOptions);
    give(fresh);
    const Tensor expected = run(fresh, options), got = run(kept, options);
    CheckClose("as a fresh layer", got.values(), expected.values(), 0.0);
    CHECK_FALSE(std::equal(got.values().begin(), got.values().end(), plain.values().begin()));
    CheckClose("and back", run(kept, "{}").values(), plain.values(), 0.0);
  }
}

TEST_CASE("parameters can be checked before a run") {
  Problem layer("multihead_attention", R"({"embed_dim": 4, "num_heads": 2, "bias": false})");
  const auto build = [](Problem& problem) { return [&] { problem.Build(); }; };
  CHECK(Refusal(ErrorCode::kShape, build(layer)) == "nothing was loaded yet: the parameters are missing");
  Give(layer, "in_proj_weight", {12, 4});
  Give(layer, "out_proj.weight", {4, 5});
  CHECK(Refusal(ErrorCode::kShape, build(layer)) == "parameter out_proj.weight has shape (4, 5), expected (4, 4)");
  Give(layer, "out_proj.weight", {4, 4});
  CHECK(Refusal(ErrorCode::kShape, build(layer)) == "accepted");

  Problem embedding("embedding", R"({"positions": "learned"})");
  CHECK(Refusal(ErrorCode::kShape, build(embedding)) == "nothing was loaded yet: the parameters are missing");
  embedding.Input("weight", DType::kU8, {2, 4});
  CHECK(Refusal(ErrorCode::kDtype, build(embedding)) == "weight has the type U8, expected floats");
  Give(embedding, "weight", {2, 4});
  Give(embedding, "position_embeddings", {3, 5});
  CHECK(Refusal(ErrorCode::kShape, build(embedding)).starts_with("position_embeddings has shape (3, 5)"));
  Give(embedding, "position_embeddings", {3, 4});
  CHECK(Refusal(ErrorCode::kShape, build(embedding)) == "accepted");
}

TEST_CASE("inputs can be dropped; parameters stay") {
  Problem problem("embedding", "{}");
  Give(problem, "weight", {2, 4});
  GiveBytes(problem, "ids", DType::kI32, {1}, std::array<std::int32_t, 1>{1});
  problem.DropInputs();
  CHECK(Refusal(ErrorCode::kShape, [&] { problem.Run(); }) == "ids is missing");
}

TEST_CASE("an embedding of any type of floats") {
  const std::array<float, 6> floats = {0.5f, -2.0f, 3.0f, -0.25f, 1.0f, 96.0f};
  const std::array<double, 6> doubles = {0.5, -2.0, 3.0, -0.25, 1.0, 96.0};
  const std::array<std::uint16_t, 6> halves = {0x3800, 0xc000, 0x4200, 0xb400, 0x3c00, 0x5600},
                                     brains = {0x3f00, 0xc000, 0x4040, 0xbe80, 0x3f80, 0x42c0};
  const auto check = [](DType dtype, const auto& table) {
    CAPTURE(ToString(dtype));
    Problem problem("embedding", R"({"positions": "learned", "position_offset": 1})");
    GiveBytes(problem, "weight", dtype, {3, 2}, table);
    GiveBytes(problem, "position_embeddings", dtype, {3, 2}, table);
    GiveBytes(problem, "ids", DType::kI32, {2}, std::array<std::int32_t, 2>{2, 0});
    const Results results = problem.Run();
    CheckClose("rows", results.at("output").values(), std::array<float, 4>{4.0f, 95.75f, 1.5f, 94.0f}, 0.0);
  };
  check(DType::kF32, floats);
  check(DType::kF64, doubles);
  check(DType::kF16, halves);
  check(DType::kBF16, brains);
}

TEST_CASE("a lookup reads its own rows, not the whole vocabulary") {
  using Clock = std::chrono::steady_clock;
  constexpr Index kWords = Index{1} << 18, kWidth = 64;
  Problem problem("embedding", R"({"positions": "learned"})");
  Give(problem, "position_embeddings", {kWords, kWidth});
  const std::span<std::byte> table = problem.Input("weight", DType::kF32, {kWords, kWidth});
  std::fill(table.begin(), table.end(), std::byte{0});
  std::vector<std::byte> copy(table.size());
  const Clock::time_point start = Clock::now();
  std::memcpy(copy.data(), table.data(), table.size());
  const Clock::duration of_copy = Clock::now() - start;
  CHECK(copy.back() == std::byte{0});
  Clock::duration of_lookup = Clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    GiveBytes(problem, "ids", DType::kI32, {1}, std::array<std::int32_t, 1>{kWords - 1});
    const Clock::time_point before = Clock::now();
    CHECK(problem.Run().at("output").values()[0] == 0.5f);
    of_lookup = std::min(of_lookup, Clock::now() - before);
  }
  CHECK(of_lookup < of_copy / 4);
}

TEST_CASE("T1.2: averaged weights are the mean of the heads', whatever else is asked for") {
  const std::vector<std::byte> file = ReadFile(HEADLENS_GOLDEN_DIR "/cases/t1_2_sequence_first.safetensors");
  const Results averaged = ReadCase(file).Run(), heads = ReadCase(file).Run(R"({"average_attn_weights": false})");
  CHECK(averaged.at("weights").shape() == Shape{4, 16, 16});
  CHECK(heads.at("weights").shape() == Shape{4, 8, 16, 16});
  const View<float, 4> each = heads.at("weights").view<4>();
  const View<float, 3> mean = averaged.at("weights").view<3>();
  for (Index b = 0; b < 4; ++b)
    for (Index t = 0; t < 16; ++t)
      for (Index s = 0; s < 16; ++s) {
        double sum = 0.0;
        for (Index h = 0; h < 8; ++h) sum += double{each(b, h, t, s)};
        CHECK(std::abs(mean(b, t, s) - sum / 8) <= 8 * kEpsilon);
      }
}

/// Parameters of a grouped layer: 4 heads of width 4, and 2 key/value heads.
void GiveGroupedLayer(Problem& problem, const std::string& prefix, Random& random) {
  GiveTensor(problem, prefix + "q_proj_weight", random.NormalTensor({16, 16}, 0.3f));
  GiveTensor(problem, prefix + "k_proj_weight", random.NormalTensor({8, 16}, 0.3f));
  GiveTensor(problem, prefix + "v_proj_weight", random.NormalTensor({8, 16}, 0.3f));
  GiveTensor(problem, prefix + "in_proj_bias", random.NormalTensor({32}));
  GiveTensor(problem, prefix + "out_proj.weight", random.NormalTensor({16, 16}, 0.3f));
  GiveTensor(problem, prefix + "out_proj.bias", random.NormalTensor({16}));
}

/// Tokens [first, first + count) of x, whose last two dimensions are tokens and width.
Tensor Tokens(const Tensor& x, Index first, Index count) {
  Shape shape = x.shape();
  const Index length = shape[shape.size() - 2], width = shape.back();
  shape[shape.size() - 2] = count;
  Tensor part(shape);
  for (Index lead = 0; lead < part.size() / (count * width); ++lead)
    std::copy_n(x.data() + (lead * length + first) * width, count * width, part.data() + lead * count * width);
  return part;
}

TEST_CASE("token by token with a cache, or with the past handed back: as in one causal pass") {
  const struct {
    const char *op, *options, *input;
    Shape shape;
  } cases[] = {
      {"scaled_dot_product_attention",
       R"({"is_causal": true, "rotary": "half", "alibi": true, "sink": 0.5})",
       "query",
       {2, 4, 9, 4}},
      {"scaled_dot_product_attention",
       R"({"is_causal": true, "rotary": "interleaved", "rotary_dim": 2})",
       "query",
       {9, 4}},
      {"multihead_attention",
       R"({"embed_dim": 16, "num_heads": 4, "num_kv_heads": 2, "is_causal": true, "batch_first": true,
           "rotary": "half", "window_left": 3, "softcap": 5})",
       "query",
       {2, 9, 16}},
      {"transformer_encoder_layer",
       R"({"embed_dim": 16, "num_heads": 4, "num_kv_heads": 2, "is_causal": true, "dim_feedforward": 5,
           "activation": "swiglu", "norm": "rms_norm", "norm_first": true, "normalizer": "entmax15"})",
       "src",
       {9, 16}},
  };
  for (const char* backend : {R"({"backend": "reference"})", R"({"backend": "simd"})"})
    for (const auto& one : cases) {
      const auto& op = one.op;
      const auto& options = one.options;
      const auto& input = one.input;
      const auto& shape = one.shape;
      CAPTURE(op);
      CAPTURE(backend);
      Random random(21);
      Problem problem(op, options);
      if (std::string_view(op) == "multihead_attention") GiveGroupedLayer(problem, "", random);
      if (std::string_view(op) == "transformer_encoder_layer") {
        GiveGroupedLayer(problem, "self_attn.", random);
        GiveTensor(problem, "linear1.weight", random.NormalTensor({10, 16}, 0.3f));
        GiveTensor(problem, "linear1.bias", random.NormalTensor({10}));
        GiveTensor(problem, "linear2.weight", random.NormalTensor({16, 5}, 0.3f));
        GiveTensor(problem, "linear2.bias", random.NormalTensor({16}));
        GiveTensor(problem, "norm1.weight", random.NormalTensor({16}));
        GiveTensor(problem, "norm2.weight", random.NormalTensor({16}));
      }
      const Tensor x = random.NormalTensor(shape);
      const auto run = [&](Index first, Index count, const std::string& run_options, KvCache* cache) {
        GiveTensor(problem, input, Tokens(x, first, count));
        return problem.Run(run_options, cache);
      };
      const Results whole = run(0, 9, backend, nullptr);
      const auto check = [&](const Results& got, Index first, Index count) {
        CheckClose("output", got.at("output").values(), Tokens(whole.at("output"), first, count).values(),
                   256 * kEpsilon * (1 + MaxNorm(whole.at("output").values())));
      };
      KvCache cache;
      std::string with_present = backend;
      with_present.insert(with_present.size() - 1, R"(, "stages": ["present_key", "present_value"])");
      std::optional<Results> past;
      for (const auto& [first, count] : {std::pair<Index, Index>{0, 4}, {4, 1}, {5, 3}, {8, 1}}) {
        check(run(first, count, backend, &cache), first, count);
        CHECK(cache.length() == first + count);
        if (past) {
          GiveTensor(problem, "past_key", past->at("present_key"));
          GiveTensor(problem, "past_value", past->at("present_value"));
        }
        past = run(first, count, with_present, nullptr);
        check(*past, first, count);
      }
    }
}

TEST_CASE("a grouped layer is the layer whose keys' and values' weights are repeated") {
  Random random(25);
  Problem grouped("multihead_attention",
                  R"({"embed_dim": 16, "num_heads": 4, "num_kv_heads": 2, "bias": false, "batch_first": true})"),
      full("multihead_attention", R"({"embed_dim": 16, "num_heads": 4, "bias": false, "batch_first": true})"),
      same("multihead_attention",
           R"({"embed_dim": 16, "num_heads": 4, "num_kv_heads": 4, "bias": false, "batch_first": true})");
  const Tensor q = random.NormalTensor({16, 16}), k = random.NormalTensor({8, 16}), v = random.NormalTensor({8, 16}),
               out = random.NormalTensor({16, 16}), x = random.NormalTensor({2, 5, 16});
  Tensor packed({48, 16});
  std::copy_n(q.data(), q.size(), packed.data());
  for (Index h = 0; h < 4; ++h) {  // head h reads group h / 2; 4 rows of 16 for each
    std::copy_n(k.data() + h / 2 * 64, 64, packed.data() + 256 + h * 64);
    std::copy_n(v.data() + h / 2 * 64, 64, packed.data() + 512 + h * 64);
  }
  GiveTensor(grouped, "q_proj_weight", q);
  GiveTensor(grouped, "k_proj_weight", k);
  GiveTensor(grouped, "v_proj_weight", v);
  GiveTensor(full, "in_proj_weight", packed);
  GiveTensor(same, "in_proj_weight", packed);
  std::vector<Results> all;
  for (Problem* problem : {&grouped, &full, &same}) {
    GiveTensor(*problem, "out_proj.weight", out);
    GiveTensor(*problem, "query", x);
    all.push_back(problem->Run(R"({"average_attn_weights": false, "stages": ["k"]})"));
  }
  CHECK(all[0].at("k").shape() == Shape{2, 2, 5, 4});
  CHECK(all[1].at("k").shape() == Shape{2, 4, 5, 4});
  for (const char* name : {"output", "weights"}) {
    const double allowed = 64 * kEpsilon * (1 + MaxNorm(all[1].at(name).values()));
    CheckClose(name, all[0].at(name).values(), all[1].at(name).values(), allowed);
    CheckClose(name, all[2].at(name).values(), all[1].at(name).values(), 0.0);
  }
}

TEST_CASE("a NaN has its place in the caller's own mask, also in a call that is repeated") {
  const std::pair<Shape, const char*> cases[] = {
      {{3, 3}, "NaN at (1, 2)"}, {{2, 3, 3}, "NaN at (0, 1, 2)"}, {{4, 3, 3}, "NaN at (0, 1, 2)"}};
  for (const auto& [shape, place] : cases) {
    Problem problem("scaled_dot_product_attention", "{}");
    for (const char* tensor : {"query", "key", "value"}) Give(problem, tensor, {2, 2, 3, 4});
    Give(problem, "attn_mask", shape);
    Problem::Call call = problem.Prepare();
    call.Run();
    REQUIRE(call.repeatable());
    float* numbers = nullptr;
    for (const auto& input : call.Inputs())
      if (input.name == "attn_mask") numbers = reinterpret_cast<float*>(input.bytes.data());
    REQUIRE(numbers);
    numbers[5] = std::numeric_limits<float>::quiet_NaN();
    try {
      call.Run();
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kValue);
      CHECK(error.argument().plain() == "attn_mask");
      CHECK(error.got().plain() == place);
    }
    numbers[5] = 0.0f;
    call.Run();
  }
}

/// A tensor of a call that is filled with zeros.
struct Zeros {
  const char* name;
  DType dtype;
  Shape shape;
};

void RunZeros(const char* op, const char* options, const std::vector<Zeros>& tensors) {
  for (const char* backend : {"simd", "reference"}) {
    Problem problem(op, options);
    for (const auto& [name, dtype, shape] : tensors) {
      const std::span<std::byte> bytes = problem.Input(name, dtype, shape);
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
    }
    problem.Run(std::string(R"({"backend": ")") + backend + "\"}");
  }
}

TEST_CASE("tensors without elements, however large their other sizes: at once, or refused") {
  constexpr Index kMost = kMostEmpty;
  const auto same = [](const Shape& shape) {
    return std::vector<Zeros>{
        {"query", DType::kF32, shape}, {"key", DType::kF32, shape}, {"value", DType::kF32, shape}};
  };
  const char* attention = "scaled_dot_product_attention";
  for (const Shape& shape : {Shape{Index{1} << 31, 0, 4}, Shape{1, Index{1} << 30, 0, 4}, Shape{1, 0, Index{1} << 40},
                             Shape{0, Index{1} << 40}, Shape{2 * kMost, 0, 1}}) {
    CAPTURE(ToString(shape));
    Refused(ErrorCode::kShape,
            "a tensor has shape " + ToString(shape) + ", expected sizes beside 0 that multiply to at most ",
            [&] { RunZeros(attention, R"({"rotary": "half"})", same(shape)); });
  }
  // With loops over all sizes, each of these would take minutes or gigabytes.
  for (const Shape& shape : {Shape{kMost, 0, 1}, Shape{1, kMost, 0, 1}, Shape{kMost, 1, 0, 1}, Shape{1, 0, kMost},
                             Shape{0, 1 << 12, 1 << 12}})
    for (const char* options : {"{}", R"({"need_weights": true, "average_attn_weights": true})",
                                R"({"stages": ["scores", "lse", "q", "k", "present_key"]})"})
      RunZeros(attention, options, same(shape));
  RunZeros(attention, R"({"rotary": "half"})", same({1, 0, kMost}));
  RunZeros(attention, "{}", same({0, kMost / 2, 2}));
  RunZeros(attention, "{}",
           {{"query", DType::kF32, {1, 1 << 10, 1}},
            {"key", DType::kF32, {1, 0, 1}},
            {"value", DType::kF32, {1, 0, 1 << 10}}});
}

TEST_CASE("layers and embeddings of nothing") {
  const std::vector<Zeros> weights = {{"in_proj_weight", DType::kF32, {12, 4}},
                                      {"in_proj_bias", DType::kF32, {12}},
                                      {"out_proj.weight", DType::kF32, {4, 4}},
                                      {"out_proj.bias", DType::kF32, {4}}};
  const auto layer = [&](const Shape& query) {
    std::vector<Zeros> tensors = weights;
    tensors.push_back({"query", DType::kF32, query});
    RunZeros("multihead_attention", R"({"embed_dim": 4, "num_heads": 2, "need_weights": false})", tensors);
  };
  layer({0, kMostEmpty / 4, 4});
  layer({kMostEmpty / 4, 0, 4});
  Refused(ErrorCode::kShape, "sizes beside 0", [&] { layer({0, Index{1} << 31, 4}); });

  const auto embedding = [](const Shape& weight, const Shape& ids, const char* options) {
    RunZeros("embedding", options, {{"weight", DType::kF32, weight}, {"ids", DType::kI32, ids}});
  };
  for (const char* options : {"{}", R"({"positions": "sinusoidal"})"}) {
    embedding({0, kMostEmpty}, {0}, options);
    embedding({1, 4}, {0, kMostEmpty / 4}, options);
    embedding({1, 4}, {kMostEmpty / 4, 0}, options);
    for (const Index width : {Index{500'000'000}, Index{1} << 34})
      Refused(ErrorCode::kShape, "sizes beside 0", [&] { embedding({0, width}, {0}, options); });
  }
}

}  // namespace
}  // namespace headlens::testing
