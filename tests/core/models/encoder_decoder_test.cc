// SPDX-License-Identifier: Apache-2.0
/// Encoder–decoders, compared with the numbers of the transformers library (tests/golden/make_encoder_decoders.py).
#include <algorithm>

#include "headlens/model.h"
#include "headlens/safetensors.h"
#include "models/golden_models.h"

namespace headlens::testing {
namespace {

/// Part `part` of a tensor that is cut along its first dimension.
std::span<const float> At(const Tensor& tensor, Index part) {
  const Index size = tensor.size() / tensor.shape()[0];
  return {tensor.data() + part * size, static_cast<std::size_t>(size)};
}

void CheckMap(const AttentionMaps& maps, Index head, std::span<const float> expected, double tolerance) {
  const Index rows = maps.queries(), columns = maps.keys();
  Tensor map({rows, columns});
  maps.Map(0, head, {}, map.view<2>());
  CheckClose("map", map.values(), expected, tolerance);
}

void CheckMaps(const std::function<const AttentionMaps&(Index layer)>& maps, const Tensor& weights, double tolerance) {
  const Index layers = weights.shape()[0], heads = weights.shape()[1];
  for (Index layer = 0; layer < layers; ++layer)
    for (Index head = 0; head < heads; ++head) {
      const Index size = weights.shape()[2] * weights.shape()[3];
      CheckMap(maps(layer), head, {weights.data() + (layer * heads + head) * size, static_cast<std::size_t>(size)},
               tolerance);
    }
}

void CheckStreams(const ModelAttention& run, const Tensor& hidden, double tolerance) {
  const Index layers = hidden.shape()[0] - 1;
  for (Index layer = 0; layer < layers; ++layer)
    CheckClose("hidden", run.Hidden(layer).values(), At(hidden, layer), tolerance);
  CheckClose("hidden", run.hidden().values(), At(hidden, layers), tolerance);
}

/// The runs in which the heads of one attention are scaled.
void CheckHeadMasks(const GoldenPair& golden, const Model& model, double tolerance) {
  const auto check = [&](const std::string& name, View<const float, 2> AttendOptions::* mask) {
    const Tensor factors = golden.Expected(name + ".head_mask"), expected = golden.Expected(name + ".ablated");
    AttendOptions options;
    options.*mask = factors.view<2>();
    CheckClose("ablated", model.Attend(golden.input, options).hidden().values(), expected.values(), tolerance);
    const ModelAttention plain = model.Attend(golden.input, {.keep_hidden = true});
    CheckClose("again", plain.Again(options).hidden().values(), expected.values(), tolerance);
  };
  check("encoder", &AttendOptions::encoder_head_mask);
  check("decoder", &AttendOptions::head_mask);
  check("cross", &AttendOptions::cross_head_mask);
}

void CheckDecoding(const GoldenPair& golden, const Model& model, double tolerance) {
  const Tensor self = golden.Expected("decoder.weights"), cross = golden.Expected("cross.weights"),
               logits = golden.Expected("logits");
  const double logit_tolerance = 64 * kEpsilon * MaxNorm(logits.values());
  Decoding decoding = model.StartDecoding(DType::kF32, golden.input);
  for (std::size_t begin = 0; begin < golden.target.size(); begin += 3) {
    const std::size_t count = std::min<std::size_t>(3, golden.target.size() - begin);
    decoding.Step(std::span(golden.target).subspan(begin, count));
    const auto rows = static_cast<Index>(count), first = static_cast<Index>(begin);
    Tensor map({rows, first + rows}), seen({rows, cross.shape()[3]});
    for (Index layer = 0; layer < cross.shape()[0]; ++layer)
      for (Index head = 0; head < cross.shape()[1]; ++head) {
        decoding.Map(layer, head, map.view<2>());
        decoding.CrossMap(layer, head, seen.view<2>());
        for (Index row = 0; row < rows; ++row)
          for (Index key = 0; key < first + rows; ++key)
            CHECK(std::abs(map.view<2>()(row, key) - self.view<4>()(layer, head, first + row, key)) <= tolerance);
        const float* expected = cross.view<4>().at(layer, head, first);
        CheckClose("cross", seen.values(), {expected, seen.values().size()}, tolerance);
      }
    const float* expected = logits.view<2>().at(first);
    const Tensor got = decoding.Logits(0, rows);
    CheckClose("logits", got.values(), {expected, got.values().size()}, logit_tolerance);
  }
}

void CheckAgainst(const GoldenPair& golden, const Model& model) {
  const ModelAttention run = model.Attend(golden.input, {.keep_hidden = true});
  const ModelAttention encoder = run.Encoder();
  const Tensor stream = golden.Expected("decoder.hidden"), logits = golden.Expected("logits");
  const double tolerance = 128 * kEpsilon * MaxNorm(stream.values());
  CHECK(model.info().encoder_layers == golden.Expected("encoder.weights").shape()[0]);
  CheckStreams(encoder, golden.Expected("encoder.hidden"), tolerance);
  CheckStreams(run, stream, tolerance);
  CheckMaps([&](Index layer) -> const AttentionMaps& { return encoder.Maps(layer); },
            golden.Expected("encoder.weights"), tolerance);
  CheckMaps([&](Index layer) -> const AttentionMaps& { return run.Maps(layer); }, golden.Expected("decoder.weights"),
            tolerance);
  CheckMaps([&](Index layer) -> const AttentionMaps& { return run.Maps(layer, AttentionPart::kCross); },
            golden.Expected("cross.weights"), tolerance);
  CheckClose("logits", run.Logits().values(), logits.values(), 128 * kEpsilon * MaxNorm(logits.values()));
  CheckHeadMasks(golden, model, tolerance);
  CheckDecoding(golden, model, tolerance);
}

TEST_CASE("encoder-decoders give the library's maps, streams and logits, in one pass and step by step") {
  for (const std::string& name : GoldenPairs()) {
    CAPTURE(name);
    const GoldenPair golden(name);
    for (const Backend* backend : TestBackends()) CheckAgainst(golden, LoadFolder(PairFolder(name), *backend));
    ForEachTarget([&] { CheckAgainst(golden, LoadFolder(PairFolder(name), SimdBackend())); });
  }
}

TEST_CASE("encoder-decoders in pieces, and as published") {
  for (const std::string& name : GoldenPairs()) {
    CAPTURE(name);
    const GoldenPair golden(name);
    const Model model = LoadFolder(PairFolder(name), SimdBackend());
    const ModelAttention whole = model.Attend(golden.input);
    AttendSteps steps = model.StartAttending(golden.input, {}, 1);
    double done = 0.0;
    while (done < 1.0) {
      const double before = std::exchange(done, steps.Next());
      CHECK(done > before);
    }
    CHECK(std::ranges::equal(std::move(steps).Finish().hidden().values(), whole.hidden().values()));
    const std::vector<std::byte> bytes = ReadFile(PairFolder(name) + "/model.safetensors");
    const Safetensors weights(bytes);
    const Model published(ReadText(PairFolder(name) + "/config.published.json"), weights, SimdBackend());
    CHECK(std::ranges::equal(published.Attend(golden.input).Logits().values(), whole.Logits().values()));
  }
}

TEST_CASE("encoder-decoders need a source, which other models refuse") {
  const GoldenPair golden("t5");
  const Model model = LoadFolder(PairFolder("t5"), SimdBackend()),
              gpt2 = LoadFolder(GoldenFolder("gpt2"), SimdBackend());
  const auto refused = [](ErrorCode code, const std::string& words, const auto& call) {
    const std::string message = Refusal(code, call);
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  ModelInput input;
  input.ids = golden.target;
  refused(ErrorCode::kValue, "the input has no source", [&] { model.Attend(input); });
  refused(ErrorCode::kValue, "the input has no source", [&] { model.StartDecoding(); });
  refused(ErrorCode::kValue, "the input has a source, expected none", [&] { gpt2.Attend(golden.input); });
  refused(ErrorCode::kUnsupported, "has no encoder",
          [&] { gpt2.Attend(golden.target).Maps(0, AttentionPart::kCross); });
  refused(ErrorCode::kUnsupported, "has no encoder", [&] { gpt2.Attend(golden.target).Encoder(); });
  CHECK(!gpt2.encoder());
  REQUIRE(model.encoder());
  CHECK(model.encoder()->info().layers == 3);
  AttendOptions options;
  options.cross_head_mask = golden.Expected("encoder.head_mask").view<2>();
  refused(ErrorCode::kShape, "cross_head_mask has shape (3, 4), expected (2, 4)",
          [&] { model.Attend(golden.input, options); });
}

}  // namespace
}  // namespace headlens::testing
