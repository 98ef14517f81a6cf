// SPDX-License-Identifier: Apache-2.0
/// Models of every family, compared with PyTorch's numbers (tests/golden/make_models.py) on both backends and every
/// SIMD target; results that are computed later; and all errors in their files.
#include "headlens/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "headlens/checkpoint.h"
#include "headlens/preprocess.h"
#include "headlens/safetensors.h"
#include "models/golden_models.h"

namespace headlens::testing {
namespace {

constexpr std::int32_t kBadId = -1;

std::span<const float> Part(const Tensor& tensor, Index part, Index parts) {
  const Index size = tensor.size() / parts;
  return {tensor.data() + part * size, static_cast<std::size_t>(size)};
}

/// Compares every map, the residual stream of every layer, and the logits. Each layer rounds the stream again, so
/// errors are in proportion to its size.
void CheckAgainst(const Golden& golden, const ModelAttention& attention) {
  const ModelInfo info = attention.model().info();
  const Tensor weights = golden.Expected("weights"), hidden = golden.Expected("hidden");
  REQUIRE(weights.shape() == Shape{info.layers, info.heads, attention.length(), attention.length()});
  const double tolerance = 64 * kEpsilon * MaxNorm(hidden.values());
  for (Index layer = 0; layer < info.layers; ++layer) {
    CheckClose("hidden", attention.Hidden(layer).values(), Part(hidden, layer, info.layers + 1), tolerance);
    for (Index head = 0; head < info.heads; ++head) {
      CheckClose("map", MapOf(attention, layer, head).values(),
                 Part(weights, layer * info.heads + head, info.layers * info.heads), tolerance);
    }
  }
  CheckClose("hidden", attention.hidden().values(), Part(hidden, info.layers, info.layers + 1), tolerance);
  if (!golden.file.Find("logits")) {
    CHECK(info.logits == 0);
    CHECK_THROWS_AS(attention.Logits(), Error);
    return;
  }
  const Tensor logits = golden.Expected("logits"), got = attention.Logits();
  CHECK(got.shape() == logits.shape());
  CHECK(info.logits == logits.shape()[1]);
  CheckClose("logits", got.values(), logits.values(), 64 * kEpsilon * MaxNorm(logits.values()));
}

void CheckWhole(const Golden& golden, const Model& model) {
  AttendOptions options;
  options.keep_hidden = true;
  CheckAgainst(golden, model.Attend(golden.input, options));
}

TEST_CASE("every family gives PyTorch's maps, streams and logits") {
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    for (const Backend* backend : TestBackends()) CheckWhole(golden, LoadFolder(GoldenFolder(name), *backend));
    ForEachTarget([&] { CheckWhole(golden, LoadFolder(GoldenFolder(name), SimdBackend())); });
  }
}

void CheckSame(const ModelAttention& got, const ModelAttention& expected, const ModelInfo& info) {
  const auto same = [](const Tensor& a, const Tensor& b) {
    REQUIRE(a.shape() == b.shape());
    return std::memcmp(a.data(), b.data(), a.values().size_bytes()) == 0;
  };
  CHECK(same(got.hidden(), expected.hidden()));
  for (Index layer = 0; layer < info.layers; ++layer) {
    CAPTURE(layer);
    CHECK(same(got.Hidden(layer), expected.Hidden(layer)));
    CHECK(same(got.Queries(layer), expected.Queries(layer)));
    CHECK(same(got.Keys(layer), expected.Keys(layer)));
    CHECK(same(got.Values(layer), expected.Values(layer)));
    CHECK(same(MapOf(got, layer, info.heads - 1), MapOf(expected, layer, info.heads - 1)));
  }
}

/// Runs a pass in pieces of any size, and holds it against the pass in one go.
void CheckPieces(const Model& model, const ModelInput& input, AttendOptions options, const Tensor& head_mask = {}) {
  options.keep_hidden = options.keep_values = true;
  Tensor mask = head_mask.size() > 0 ? head_mask.Clone() : Tensor();
  if (mask.size() > 0) options.head_mask = mask.view<2>();
  const ModelAttention expected = model.Attend(input, options);
  for (const Index piece : {Index{1}, Index{1} << 16, Index{1} << 28}) {
    CAPTURE(piece);
    AttendSteps steps = model.StartAttending(input, options, piece);
    std::ranges::fill(mask.values(), 7.0f);  // it was copied
    double done = 0.0;
    for (int count = 0; done < 1.0; ++count) {
      const double before = std::exchange(done, steps.Next());
      CHECK(done > before);
      REQUIRE(count < 10000);
    }
    CHECK(done == 1.0);
    CHECK(steps.Next() == 1.0);
    CheckSame(std::move(steps).Finish(), expected, model.info());
    std::ranges::copy(head_mask.values(), mask.values().begin());
  }
}

TEST_CASE("a pass in pieces gives, bit for bit, what a pass in one go gives") {
  const auto check = [](const std::string& name, const Backend& backend) {
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    const Model model = LoadFolder(GoldenFolder(name), backend);
    AttendOptions options;
    CheckPieces(model, golden.input, options);
    const std::vector<std::int32_t> replaced = {1};
    options.replaced_tokens = replaced;
    CheckPieces(model, golden.input, options, golden.Expected("head_mask"));
  };
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    check(name, ReferenceBackend());
    ForEachTarget([&] { check(name, SimdBackend()); });
  }
}

TEST_CASE("a long pass in pieces of rows and heads is the same, also on several threads") {
  std::vector<std::int32_t> ids(250);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 37 % 2048);
  ModelInput input;
  input.ids = ids;
  ForEachTarget([&] { CheckPieces(BuiltInModel(), input, {}); });
  const std::unique_ptr<const Backend> threads = MakeSimdBackend(3);
  CheckPieces(BuiltInModel(*threads), input, {});
}

AttendOptions Keeping() {
  AttendOptions options;
  options.keep_hidden = options.keep_values = true;
  return options;
}

Index PiecesOf(AttendSteps steps) {
  Index count = 1;
  while (steps.Next() < 1.0) ++count;
  return count;
}

TEST_CASE("a run that begins as an earlier one did gives PyTorch's numbers, on every backend") {
  for (const std::string& name : GoldenModels()) {
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    if (golden.ids.size() < 4) continue;  // an image
    for (const Backend* backend : TestBackends()) {
      CAPTURE(name);
      CAPTURE(backend->name());
      const Model model = LoadFolder(GoldenFolder(name), *backend);
      std::vector<std::int32_t> other = golden.ids;
      other[other.size() - 3] = other.front();
      ModelInput input = golden.input;
      input.ids = other;
      const ModelAttention before = model.Attend(input, Keeping());
      const ModelAttention whole = model.Attend(golden.input, Keeping()),
                           after = before.Attend(golden.input, Keeping());
      CheckAgainst(golden, after);
      for (Index layer = 0; layer < model.info().layers; ++layer) {
        const auto check = [&](const char* what, const Tensor& got, const Tensor& expected) {
          CHECK(got.shape() == expected.shape());
          CheckClose(what, got.values(), expected.values(), 64 * kEpsilon * MaxNorm(expected.values()));
        };
        check("queries", after.Queries(layer), whole.Queries(layer));
        check("values", after.Values(layer), whole.Values(layer));
      }
    }
  }
}

TEST_CASE("tokens that an earlier run had are not computed again, if that is all that differs") {
  std::vector<std::int32_t> ids(250), other;
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 37 % 2048);
  other = ids;
  other.back() = 5;
  other.push_back(6);
  ModelInput input, next;
  input.ids = ids;
  next.ids = other;
  const Model model = BuiltInModel();
  const ModelAttention before = model.Attend(input, Keeping());
  const Index all = PiecesOf(model.StartAttending(next, {}, 1));
  CHECK(PiecesOf(before.StartAttending(next, {}, 1)) < all / 2);
  CHECK(PiecesOf(before.StartAttending(next, Keeping(), 1)) < all / 2);
  CHECK(PiecesOf(before.StartAttending(input, {}, 1)) < all / 2);           // the same text: its last token is computed
  CHECK(PiecesOf(model.Attend(input).StartAttending(next, {}, 1)) == all);  // values were not kept
  AttendOptions changed;
  changed.keep_parts = true;
  CHECK(PiecesOf(before.StartAttending(next, changed, 1)) == all);
  changed.keep_parts = false;
  changed.normalizer.temperature = 2.0f;
  CHECK(PiecesOf(before.StartAttending(next, changed, 1)) == all);
  const std::vector<std::uint8_t> padding(ids.size(), 0);
  input.padding = padding;
  CHECK(PiecesOf(before.StartAttending(input, {}, 1)) > all / 2);
  next.ids = std::span(other).subspan(1);
  CHECK(PiecesOf(before.StartAttending(next, {}, 1)) > all / 2);
  next.ids = {};
  CHECK_THROWS_AS(before.StartAttending(next), Error);
}

TEST_CASE("a pass that is left midway leaves the model as it was") {
  const Model model = BuiltInModel();
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5};
  ModelInput input;
  input.ids = ids;
  const ModelAttention before = model.Attend(ids);
  for (int count = 0; count < 12; ++count) {
    AttendSteps steps = model.StartAttending(input);
    for (int i = 0; i < count; ++i) steps.Next();
    if (count == 5) CHECK(MapOf(std::move(steps).Finish(), 3, 2).values()[0] == MapOf(before, 3, 2).values()[0]);
  }
  const ModelAttention after = model.Attend(ids);
  CHECK(std::memcmp(after.hidden().data(), before.hidden().data(), before.hidden().values().size_bytes()) == 0);
  Refused(ErrorCode::kValue, "piece is 0", [&] { model.StartAttending(input, {}, 0); });
  Refused(ErrorCode::kValue, "token 0", [&] { model.StartAttending({std::span<const std::int32_t>(&kBadId, 1)}); });
}

TEST_CASE("heads are scaled and ablated as PyTorch does it; a zeroed value reaches nobody") {
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    for (const Backend* backend : TestBackends()) {
      const Model model = LoadFolder(GoldenFolder(name), *backend);
      const Tensor mask = golden.Expected("head_mask"), ablated = golden.Expected("ablated");
      AttendOptions options;
      options.head_mask = mask.view<2>();
      CheckClose("ablated", model.Attend(golden.input, options).hidden().values(), ablated.values(),
                 64 * kEpsilon * MaxNorm(ablated.values()));
      AttendOptions zeroed;
      std::int32_t token = 2;
      zeroed.replaced_tokens = {&token, 1};
      zeroed.replaced_layer = 0;
      zeroed.keep_values = true;
      const ModelAttention attention = model.Attend(golden.input, zeroed);
      const Tensor& values = attention.Values(0);
      for (Index i = 0; i < values.shape()[1]; ++i) CHECK(values.view<2>()(2, i) == 0.0f);
      CHECK(MaxNorm({values.view<2>().at(1), static_cast<std::size_t>(values.shape()[1])}) > 0.0);
      token = static_cast<std::int32_t>(attention.length());
      CHECK_THROWS_AS(model.Attend(golden.input, zeroed), Error);
      options.head_mask.shape[0] += 1;
      CHECK_THROWS_AS(model.Attend(golden.input, options), Error);
    }
  }
}

TEST_CASE("strips and pooled maps come from the whole map") {
  for (const std::string name : {"llama", "gpt2", "bert", "mistral"}) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    for (const Backend* backend : TestBackends()) {
      const Model model = LoadFolder(GoldenFolder(name), *backend);
      const ModelAttention attention = model.Attend(golden.input);
      const Index length = attention.length();
      const Tensor map = MapOf(attention, 1, 2);
      Tensor strip({3, length}), pooled({4, 3});
      attention.Map(1, 2, {5, 8}, strip.view<2>());
      CheckClose("strip", strip.values(),
                 map.values().subspan(static_cast<std::size_t>(5 * length), static_cast<std::size_t>(3 * length)),
                 8 * kEpsilon);
      attention.PooledMap(1, 2, {1, length}, PoolKind::kMean, pooled.view<2>());
      for (Index i = 0; i < 4; ++i)
        for (Index j = 0; j < 3; ++j) {
          double sum = 0.0;
          Index cells = 0;
          for (Index t = 1 + i * (length - 1) / 4; t < 1 + (i + 1) * (length - 1) / 4; ++t)
            for (Index s = j * length / 3; s < (j + 1) * length / 3; ++s, ++cells) sum += double{map.view<2>()(t, s)};
          CHECK(std::abs(pooled.view<2>()(i, j) - sum / static_cast<double>(cells)) <= 8 * kEpsilon);
        }
      const Tensor logits = attention.Logits(), rows = attention.Logits(2, 4);
      const auto width = static_cast<std::size_t>(logits.shape()[1]);
      CheckClose("logits", rows.values(), logits.values().subspan(2 * width, 2 * width),
                 8 * kEpsilon * MaxNorm(logits.values()));
      CHECK_THROWS_AS(MapOf(attention, model.info().layers, 0), Error);
      CHECK_THROWS_AS(MapOf(attention, 0, model.info().heads), Error);
      CHECK_THROWS_AS(attention.Map(0, 0, {length - 2, length + 1}, strip.view<2>()), Error);
      CHECK_THROWS_AS(attention.PooledMap(0, 0, {3, 5}, PoolKind::kMean, pooled.view<2>()), Error);
      CHECK_THROWS_AS(attention.Hidden(0), Error);
      CHECK_THROWS_AS(attention.Values(0), Error);
      CHECK_THROWS_AS(attention.Logits(1, length + 1), Error);
    }
  }
}

/// A model of one layer and one head with random parameters.
Model LongModel(Index positions, const Backend& backend) {
  const std::string sizes =
      R"({"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
      "intermediate_size": 4, "type_vocab_size": 1, "vocab_size": 16, "max_position_embeddings": )";
  const auto kept = std::make_shared<std::vector<std::unique_ptr<Tensor>>>();
  const auto random = std::make_shared<Random>(53);
  const StateDict state = [=](std::string_view name) -> std::optional<RawTensor> {
    const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
    if (has("pooler") || has("cls.")) return std::nullopt;
    Shape shape = {8};
    if (has("word_")) shape = {16, 8};
    if (has("position_")) shape = {positions, 8};
    if (has("token_type_")) shape = {1, 8};
    if (has("dense.weight") || (has("self") && has("weight"))) shape = {8, 8};
    if (has("intermediate.dense")) shape = has("weight") ? Shape{4, 8} : Shape{4};
    if (has("output.dense.weight") && !has("attention")) shape = {8, 4};
    const Tensor& tensor = *kept->emplace_back(std::make_unique<Tensor>(random->NormalTensor(shape)));
    return RawTensor{DType::kF32, shape, reinterpret_cast<const std::byte*>(tensor.data())};
  };
  return Model(sizes + std::to_string(positions) + "}", state, backend);
}

TEST_CASE("blocks that are taller than a strip are pooled like all others") {
  constexpr Index kLength = 2100;  // a strip has 499 rows
  const std::vector<std::int32_t> ids(kLength, 3);
  for (const Backend* backend : TestBackends()) {
    CAPTURE(backend->name());
    const ModelAttention attention = LongModel(kLength, *backend).Attend(ids);
    const Tensor map = MapOf(attention, 0, 0);
    for (const Index blocks : {1, 3, 5}) {
      const Tensor pooled({blocks, 2});
      attention.PooledMap(0, 0, {}, PoolKind::kMean, pooled.view<2>());
      for (Index i = 0; i < blocks; ++i)
        for (Index j = 0; j < 2; ++j) {
          double sum = 0.0;
          const Index top = i * kLength / blocks, bottom = (i + 1) * kLength / blocks;
          for (Index t = top; t < bottom; ++t)
            for (Index s = j * kLength / 2; s < (j + 1) * kLength / 2; ++s) sum += double{map.view<2>()(t, s)};
          const double mean = sum / static_cast<double>((bottom - top) * (kLength / 2));
          CHECK(std::abs(pooled.view<2>()(i, j) - mean) <= 64 * kEpsilon * mean);
        }
    }
  }
}

/// Runs the golden's tokens in steps of these sizes, the last of which repeats.
void CheckDecoding(const Golden& golden, const Model& model, const std::vector<std::size_t>& steps) {
  const Tensor weights = golden.Expected("weights");
  const Tensor logits = golden.file.Find("logits") ? golden.Expected("logits") : Tensor();
  const double tolerance = 64 * kEpsilon * MaxNorm(golden.Expected("hidden").values());
  const auto length = static_cast<Index>(golden.ids.size());
  Decoding decoding = model.StartDecoding();
  for (std::size_t at = 0, step = 0; at < golden.ids.size(); ++step) {
    const std::size_t count = std::min(steps[std::min(step, steps.size() - 1)], golden.ids.size() - at);
    decoding.Step(std::span(golden.ids).subspan(at, count));
    at += count;
    const auto first_row = static_cast<Index>(at - count), rows = static_cast<Index>(count);
    REQUIRE(decoding.length() == static_cast<Index>(at));
    REQUIRE(decoding.rows() == rows);
    const Index first_key = decoding.first_key(), columns = decoding.length() - first_key;
    CHECK((!model.info().windows.empty() || first_key == 0));
    for (Index layer = 0; layer < model.info().layers; ++layer)
      for (Index head = 0; head < model.info().heads; ++head) {
        Tensor map({rows, columns});
        decoding.Map(layer, head, map.view<2>());
        const View<float, 4> whole = weights.view<4>();
        for (Index t = 0; t < rows; ++t) {
          CheckClose("map of a step", {map.view<2>().at(t), static_cast<std::size_t>(columns)},
                     {whole.at(layer, head, first_row + t, first_key), static_cast<std::size_t>(columns)}, tolerance);
          for (Index s = 0; s < first_key; ++s) CHECK(whole(layer, head, first_row + t, s) == 0.0f);
        }
      }
    if (logits.size() == 0) continue;
    const auto width = static_cast<std::size_t>(logits.shape()[1]);
    CheckClose("logits of a step", decoding.Logits(0, rows).values(),
               logits.values().subspan(static_cast<std::size_t>(first_row) * width, count * width),
               64 * kEpsilon * MaxNorm(logits.values()));
  }
  CHECK(decoding.length() == length);
}

TEST_CASE("step by step gives the numbers of one pass, however the text is cut") {
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    const Model model = LoadFolder(GoldenFolder(name), SimdBackend());
    if (!model.info().causal || name == "llama_dynamic") continue;  // llama_dynamic is refused, see below
    for (const std::vector<std::size_t>& steps : {std::vector<std::size_t>{1}, {7, 1}, {3}, {100}})
      CheckDecoding(golden, model, steps);
    for (const Backend* backend : TestBackends())
      CheckDecoding(golden, LoadFolder(GoldenFolder(name), *backend), {4, 1});
  }
}

TEST_CASE("step by step with keys and values in BF16: nearly the numbers, on every backend") {
  for (const std::string name : {"gpt2", "llama", "mistral"}) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    const Tensor expected = golden.Expected("logits"), weights = golden.Expected("weights");
    const auto length = golden.ids.size(), width = static_cast<std::size_t>(expected.shape()[1]);
    const auto last = expected.values().last(width);
    for (const Backend* backend : TestBackends()) {
      CAPTURE(backend->name());
      Decoding decoding = LoadFolder(GoldenFolder(name), *backend).StartDecoding(DType::kBF16);
      decoding.Step(std::span(golden.ids).first(4));
      for (std::size_t i = 4; i < length; ++i) decoding.Step(std::span(golden.ids).subspan(i, 1));
      const Tensor logits = decoding.Logits(0, 1);
      // Each element is rounded by a factor of at most 2⁻⁹, which the few layers increase a little.
      CheckClose("logits", logits.values(), last, 0x1p-6 * MaxNorm(last));
      double off = 0.0;
      for (std::size_t i = 0; i < width; ++i)
        off = std::max(off, std::abs(double{logits.values()[i]} - double{last[i]}));
      CHECK(off > 0x1p-18 * MaxNorm(last));
      Tensor map({1, decoding.length() - decoding.first_key()});
      decoding.Map(0, 1, map.view<2>());
      const float* row = weights.view<4>().at(0, 1, static_cast<Index>(length) - 1, decoding.first_key());
      CheckClose("map", map.values(), {row, map.values().size()}, 0x1p-6);
    }
  }
}

TEST_CASE("decoding starts anew, outlives its model's variable, and refuses what it cannot do") {
  const Golden golden(GoldenFolder("llama_dynamic") + "/expected.safetensors");
  Decoding decoding = LoadFolder(GoldenFolder("llama_dynamic"), SimdBackend()).StartDecoding();
  Tensor map({1, 1});
  CHECK_THROWS_AS(decoding.Map(0, 0, map.view<2>()), Error);
  CHECK_THROWS_AS(decoding.Step({}), Error);
  decoding.Step(std::span(golden.ids).first(8));
  CHECK_THROWS_WITH_AS(decoding.Step(std::span(golden.ids).first(1)),
                       doctest::Contains("dynamic rope_scaling runs on at most 8 tokens"), Error);
  const Tensor before = decoding.Logits(0, 1);
  CHECK_THROWS_AS(decoding.Logits(0, 9), Error);
  decoding.Reset();
  CHECK(decoding.length() == 0);
  decoding.Step(std::span(golden.ids).first(1));
  CheckClose("after reset", decoding.Logits(0, 1).values(), before.values(), 64 * kEpsilon * MaxNorm(before.values()));
  for (const char* name : {"bert", "vit"})
    CHECK_THROWS_AS(LoadFolder(GoldenFolder(name), SimdBackend()).StartDecoding(), Error);
}

TEST_CASE("what comes later changes nothing earlier; input that does not fit") {
  const Golden golden(GoldenFolder("llama") + "/expected.safetensors");
  const Model model = LoadFolder(GoldenFolder("llama"), SimdBackend());
  const ModelAttention whole = model.Attend(golden.ids), prefix = model.Attend(std::span(golden.ids).first(6));
  const Tensor map = MapOf(whole, 1, 3), first = MapOf(prefix, 1, 3);
  for (Index t = 0; t < 6; ++t)
    CheckClose("prefix", {first.view<2>().at(t), 6}, {map.view<2>().at(t), 6}, 64 * kEpsilon);
  const auto refuses = [&](const Model& from, const ModelInput& input, ErrorCode code, const char* words) {
    const std::string message = Refusal(code, [&] { from.Attend(input); });
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  const std::vector<std::int32_t> many(65), beyond = {263}, negative = {1, -1}, two = {1, 1};
  refuses(model, {.ids = {}}, ErrorCode::kValue, "the input has 0 tokens, expected 1 to 64");
  refuses(model, {.ids = many}, ErrorCode::kValue, "the input has 65 tokens, expected 1 to 64");
  refuses(model, {.ids = beyond}, ErrorCode::kValue, "token 0 is 263, expected 0 to 262");
  refuses(model, {.ids = negative}, ErrorCode::kValue, "token 1 is -1");
  refuses(model, {.ids = two, .segments = two}, ErrorCode::kValue, "the input has segments, expected none");
  const Tensor image({3, 12, 12});
  refuses(model, {.image = image.view<3>()}, ErrorCode::kValue, "the input has an image, expected tokens");
  const Model bert = LoadFolder(GoldenFolder("bert"), SimdBackend());
  const std::vector<std::int32_t> kinds = {0, 2};
  const std::vector<std::uint8_t> padding(3);
  refuses(bert, {.ids = two, .segments = kinds}, ErrorCode::kValue, "segment 1 is 2, expected 0 to 1");
  refuses(bert, {.ids = two, .padding = padding}, ErrorCode::kShape, "padding has 3 values, expected 2");
  const Model vit = LoadFolder(GoldenFolder("vit"), SimdBackend());
  refuses(vit, {.ids = two}, ErrorCode::kValue, "the input has tokens, expected an image");
  const Tensor small({3, 12, 11});
  refuses(vit, {.image = small.view<3>()}, ErrorCode::kShape, "image has shape (3, 12, 11), expected (3, 12, 12)");
}

TEST_CASE("models tell the scale of their scores and the names of their labels") {
  const auto info = [](const char* name) { return LoadFolder(GoldenFolder(name)).info(); };
  const auto root = [](Index width) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(width))); };
  const ModelInfo gpt2 = info("gpt2"), neo = info("gpt_neo"), vit = info("vit");
  CHECK(gpt2.scales == std::vector<float>(static_cast<std::size_t>(gpt2.layers), root(gpt2.head_dim)));
  CHECK(neo.scales == std::vector<float>(static_cast<std::size_t>(neo.layers), 1.0f));
  CHECK(vit.scales == std::vector<float>(2, root(5)));
  std::string text = ReadText(GoldenFolder("gpt2") + "/config.json");
  text.insert(1, R"("scale_attn_by_inverse_layer_idx": true,)");
  const std::vector<std::byte> bytes = ReadFile(GoldenFolder("gpt2") + "/model.safetensors");
  const Safetensors weights(bytes);
  const ModelInfo inverse = Model(text, weights, SimdBackend()).info();
  for (Index layer = 0; layer < inverse.layers; ++layer)
    CHECK(inverse.scales[static_cast<std::size_t>(layer)] == root(inverse.head_dim) / static_cast<float>(layer + 1));
  CHECK(vit.labels == std::vector<std::string>{"cat", "dog", "house"});
  CHECK(info("vit_f16_bare").labels.empty());  // its weights end before the classifier
  CHECK(gpt2.labels.empty());
}

TEST_CASE("names of labels that are hostile are refused") {
  const auto refuses = [](const std::string& to, ErrorCode code, const char* words) {
    const std::string from = R"("2": "house")";
    std::string text = ReadText(GoldenFolder("vit") + "/config.json");
    const std::string message =
        Refusal(code, [&] { ReadModelInfo(text.replace(text.find(from), from.size(), to).c_str()); });
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
    CHECK(message.size() < 400);
  };
  refuses(R"("2": 7)", ErrorCode::kValue, R"(config.json: id2label["2"] is 7, expected a string)");
  refuses(R"("2": ["<b>"])", ErrorCode::kValue, R"(id2label["2"] is ["<b>"], expected a string)");
  refuses(R"("3": "house")", ErrorCode::kFormat, R"(id2label["2"] is missing)");
  refuses(R"("02": "house")", ErrorCode::kFormat, R"(id2label["2"] is missing)");
  refuses(R"("2": ")" + std::string(1001, 'x') + '"', ErrorCode::kValue, "expected a text of at most 1000 bytes");
}

TEST_CASE("configurations that are wrong, or of what is not offered") {
  const auto refuses = [](const char* text, ErrorCode code, const char* words) {
    const std::string message = Refusal(code, [&] { ReadModelInfo(text); });
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
    CHECK(message.size() < 400);
  };
  const auto altered = [](const char* folder, const std::string& extra) {
    std::string text = ReadText(GoldenFolder(folder) + "/config.json");
    return text.insert(1, extra + ",");
  };
  refuses("{", ErrorCode::kFormat, "expected a JSON object");
  refuses("[]", ErrorCode::kFormat, "expected a JSON object");
  refuses((R"({"model_type": )" + std::string(400'000, '[')).c_str(), ErrorCode::kFormat,
          "config.json is nested deeper, expected at most 64 levels");
  refuses(R"({"model_type": "bert", "model_type": "bert"})", ErrorCode::kFormat,
          "config.json names \"model_type\" twice");
  refuses("{}", ErrorCode::kFormat, R"(config.json: model_type is missing, expected "bert", "deit", )");
  refuses(R"({"model_type": 7})", ErrorCode::kValue, "model_type is 7, expected a string");
  refuses(R"({"model_type": "mamba"})", ErrorCode::kUnsupported,
          R"(model_type is "mamba", supported is "bert", "deit", "dinov2", "dinov2_with_registers", )");
  refuses(R"({"model_type": "falcon"})", ErrorCode::kUnsupported,
          R"(", "vit"; look for this line in the config.json of a folder)");
  refuses(R"({"model_type": "llama"})", ErrorCode::kFormat,
          "config.json: vocab_size is missing, expected a whole number");
  refuses(R"({"model_type": "llama", "vocab_size": -5})", ErrorCode::kValue, "vocab_size is -5, expected a whole");
  refuses(R"({"model_type": "llama", "vocab_size": 1e30})", ErrorCode::kValue, "vocab_size is 1e+30");
  refuses(R"({"model_type": "llama", "hidden_act": "gelu"})", ErrorCode::kUnsupported,
          R"(hidden_act is "gelu", supported is "silu")");
  refuses(R"({"model_type": "gpt2", "add_cross_attention": true})", ErrorCode::kUnsupported, "add_cross_attention");
  refuses(R"({"model_type": "bert", "position_embedding_type": "relative_key"})", ErrorCode::kUnsupported,
          R"(position_embedding_type is "relative_key", supported is "absolute")");
  refuses(R"({"model_type": "gpt2", "vocab_size": 9, "n_embd": 10, "n_head": 3, "n_layer": 1})", ErrorCode::kValue,
          "n_embd is 10, expected a multiple of n_head, 3");
  const auto neox = [](const std::string& from, const std::string& to) {
    std::string text = ReadText(GoldenFolder("gpt_neox") + "/config.json");
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string part = R"("rotary_pct": 0.5)", act = R"("hidden_act": "gelu")";
  refuses(neox(part, R"("rotary_pct": 1.5)").c_str(), ErrorCode::kValue, "rotary_pct is 1.5, expected at most 1");
  refuses(neox(part, R"("rotary_pct": 0.4)").c_str(), ErrorCode::kValue, "expected an even number for rotary");
  refuses(neox(act, R"("hidden_act": "mish")").c_str(), ErrorCode::kUnsupported, R"(hidden_act is "mish", supported)");
  const struct {
    const char* scaling;
    ErrorCode code;
    const char* words;
  } scalings[] = {
      {R"({"rope_type": "longrope"})", ErrorCode::kUnsupported, R"(rope_type is "longrope", supported is "default", )"},
      {R"({"type": "linear"})", ErrorCode::kFormat,
       "config.json: rope_scaling.factor is missing, expected a positive number"},
      {R"({"type": "linear", "factor": -1})", ErrorCode::kValue, "rope_scaling.factor is -1, expected a positive"},
      {R"({"rope_type": "llama3", "factor": 2})", ErrorCode::kFormat, "rope_scaling.low_freq_factor is missing"},
      {"7", ErrorCode::kValue, "rope_scaling is 7, expected an object"},
  };
  for (const auto& [scaling, code, words] : scalings)
    refuses(altered("llama", R"("rope_scaling": )" + std::string(scaling)).c_str(), code, words);
}

TEST_CASE("configurations of other kinds of models say what they are of") {
  const auto refuses = [](const std::string& text, const std::string& words) {
    const std::string message = Refusal(ErrorCode::kUnsupported, [&] { ReadModelInfo(text); });
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
    CHECK(message.size() < 400);
  };
  const struct {
    const char *more, *words;
  } kinds[] = {
      {R"("is_encoder_decoder": true)", ", and not for an encoder with a decoder"},
      {R"("is_encoder_decoder": false, "num_experts": 0)", R"(model_type is "x", supported is "bert", )"},
      {R"("num_local_experts": 8)", ", and not for a mixture of experts"},
      {R"("num_experts": 64)", ", and not for a mixture of experts"},
      {R"("n_routed_experts": 256, "state_size": null)", ", and not for a mixture of experts"},
      {R"("state_size": 16)", ", and not for a model without attention"},
      {R"("text_config": {"model_type": "gemma3_text"})",
       R"(config.json: model_type is "x", supported is the "gemma3_text" in its text_config, as a folder of its own)"},
      {R"("text_config": {"model_type": "clip_text_model"})", R"(model_type is "x", supported is "bert", )"},
      {R"("text_config": 7)", R"(model_type is "x", supported is "bert", )"},
  };
  for (const auto& [more, words] : kinds) refuses(R"({"model_type": "x", )" + std::string(more) + "}", words);
}

TEST_CASE("one config is for several models") {
  const std::string folder = GoldenFolder("gpt2");
  const ModelConfig config(ReadText(folder + "/config.json"));
  const std::vector<std::byte> bytes = ReadFile(folder + "/model.safetensors");
  const Safetensors file(bytes);
  const std::vector<std::int32_t> ids = {1, 2, 3};
  std::vector<ModelAttention> passes;
  for (const Backend* backend : {&ReferenceBackend(), &SimdBackend()}) {
    const Model model(config, file, *backend);
    CHECK(model.info().layers == config.info().layers);
    passes.push_back(model.Attend(ids));
  }
  CHECK(config.info().logits == 0);  // only weights can say
  const Tensor &expected = passes[0].hidden(), &got = passes[1].hidden();
  CheckClose("hidden", got.values(), expected.values(), 256 * kEpsilon * MaxNorm(expected.values()));
}

TEST_CASE("parameters that are missing or of another shape are named in full") {
  const std::string folder = GoldenFolder("gpt2"), config = ReadText(folder + "/config.json");
  const std::vector<std::byte> bytes = ReadFile(folder + "/model.safetensors");
  const Safetensors file(bytes);
  const std::string missing = "transformer.h.1.mlp.c_proj.bias";
  const auto load = [&](bool drop) {
    const StateDict state = [&](std::string_view name) {
      std::optional<RawTensor> raw = file.Find(name);
      if (drop && name == missing) return std::optional<RawTensor>();
      if (raw && name == missing) raw->shape = {3, 8};
      return raw;
    };
    return Refusal(ErrorCode::kShape, [&] { Model(config, state, ReferenceBackend()); });
  };
  CHECK(load(true) == "parameter " + missing + " is missing, expected shape (24,)");
  CHECK(load(false) == "parameter " + missing + " has shape (3, 8), expected (24,)");
}

/// A picture [height, width, 4] in bytes.
struct Picture {
  explicit Picture(const RawTensor& raw)
      : width(raw.shape[1]),
        height(raw.shape[0]),
        rgba(reinterpret_cast<const std::uint8_t*>(raw.data), static_cast<std::size_t>(width * height * 4)) {}
  Index width, height;
  std::span<const std::uint8_t> rgba;
};

TEST_CASE("the tokens before an image's patches have names") {
  const auto names = [](const std::string& name) {
    const ModelInfo info = ReadModelInfo(ReadText(GoldenFolder(name) + "/config.json"));
    const Index side = info.image_size > 0 ? info.image_size / info.patch_size : 0;
    CHECK((info.image_size == 0 || info.max_positions == side * side + std::ssize(info.prefix)));
    return info.prefix;
  };
  using Names = std::vector<std::string>;
  CHECK(names("gpt2") == Names{});
  CHECK(names("vit") == Names{"CLS"});
  CHECK(names("deit") == Names{"CLS", "DIST"});
  CHECK(names("dinov2") == Names{"CLS"});
  CHECK(names("dinov2_registers") == Names{"CLS", "REG0", "REG1"});
}

TEST_CASE("pictures become what the library makes of them") {
  int folders = 0;
  for (const std::string& name : GoldenModels()) {
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    if (!golden.file.Find("picture")) continue;
    CAPTURE(name);
    ++folders;
    const ImageProcessor processor = ReadImageProcessor(ReadText(GoldenFolder(name) + "/preprocessor_config.json"));
    const Picture picture(golden.file.Find("picture").value());
    const Tensor expected = golden.Expected("pixels");
    const Tensor got = Preprocess(picture.rgba, picture.width, picture.height, 12, processor);
    REQUIRE(got.shape() == expected.shape());
    CheckClose("pixels", got.values(), expected.values(), 8 * kEpsilon * MaxNorm(expected.values()));
  }
  CHECK(folders >= 4);
}

TEST_CASE("a picture that has the right size stays as it is; what processors may not say") {
  const Golden golden(GoldenFolder("vit") + "/expected.safetensors");
  const std::span rgba = Picture(golden.file.Find("picture").value()).rgba;
  const ImageProcessor plain =
      ReadImageProcessor(R"({"do_resize": false, "do_rescale": false, "do_normalize": false})");
  const Tensor same = Preprocess(rgba.first(400), 10, 10, 10, plain);
  for (Index c = 0; c < 3; ++c)
    for (Index i = 0; i < 100; ++i)
      CHECK(same.data()[c * 100 + i] == static_cast<float>(rgba[static_cast<std::size_t>(i * 4 + c)]));
  CHECK_THROWS_AS(Preprocess(rgba.first(400), 10, 10, 12, plain), Error);
  CHECK_THROWS_AS(Preprocess(rgba.first(399), 10, 10, 10, plain), Error);
  CHECK_THROWS_AS(Preprocess(rgba, 0, 0, 10, plain), Error);
  const auto refuses = [](const char* text, ErrorCode code, const char* words) {
    const std::string message = Refusal(code, [&] { ReadImageProcessor(text); });
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  CHECK(ReadImageProcessor("{}").mean == std::array{0.5f, 0.5f, 0.5f});
  CHECK(ReadImageProcessor(R"({"size": 224, "do_rescale": false, "do_normalize": false})").rescale == 1.0f);
  refuses("[1]", ErrorCode::kFormat, "preprocessor_config.json is \"[1]\", expected a JSON object");
  refuses(R"({"resample": 1})", ErrorCode::kUnsupported, "resample is 1, supported is 2 (bilinear) and 3 (bicubic)");
  refuses(R"({"do_center_crop": true})", ErrorCode::kFormat, "crop_size is missing");
  refuses(R"({"do_center_crop": true, "crop_size": 9, "size": 8})", ErrorCode::kValue,
          "crop_size is 9, expected at most the size, 8");
  refuses(R"({"size": {"height": 8, "width": 9}})", ErrorCode::kUnsupported, "supported is equal height and width");
  refuses(R"({"size": {"shortest_edge": 224}})", ErrorCode::kUnsupported,
          "do_center_crop is missing, supported is true beside shortest_edge");
  refuses(R"({"image_mean": [0.5, 0.5]})", ErrorCode::kValue, "image_mean is [0.5,0.5], expected 3 numbers");
  refuses(R"({"image_std": [1, 0, 1]})", ErrorCode::kValue, "image_std is [1,0,1], expected positive numbers");
}

TEST_CASE("weights can be read back") {
  const std::string folder = GoldenFolder("llama_bf16_biases");
  const std::vector<std::byte> bytes = ReadFile(folder + "/model.safetensors");
  const Safetensors file(bytes);
  const Model model = LoadFolder(folder, SimdBackend());
  CheckClose("o_proj", model.Weights(1, Projection::kOutput).values(),
             ToFloat(*file.Find("model.layers.1.self_attn.o_proj.weight")).values(), 0.0);
  CheckClose("k_proj", model.Weights(0, Projection::kKey).values(),
             ToFloat(*file.Find("model.layers.0.self_attn.k_proj.weight")).values(), 0.0);
  CHECK(model.unembedding() == model.embedding());
  CHECK(LoadFolder(GoldenFolder("bert"), SimdBackend()).unembedding() == nullptr);
  CHECK(LoadFolder(GoldenFolder("vit"), SimdBackend()).embedding() == nullptr);
}

TEST_CASE("the built-in model gives PyTorch's numbers") {
  // web/models/train/tiny/golden.py computed these numbers from the same weights in fp64.
  const Golden golden(HEADLENS_GOLDEN_DIR "/built_in/tiny.safetensors");
  CheckWhole(golden, LoadFolder(HEADLENS_GOLDEN_DIR "/../../web/models/tiny", SimdBackend()));
}

}  // namespace
}  // namespace headlens::testing
