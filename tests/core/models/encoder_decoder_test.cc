// SPDX-License-Identifier: Apache-2.0
/// Encoder–decoders, compared with the numbers of the transformers library (tests/golden/make_encoder_decoders.py).
#include <algorithm>

#include "headlens/comparison.h"
#include "headlens/explanation.h"
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

/// One of the attentions of an encoder–decoder: its heads, and the tokens of its rows and columns.
struct Part {
  AttentionPart part;
  ModelInfo info;  // whose layers, heads and head_dim are those of this attention
  Index queries, keys;
  float scale;
};

std::vector<Part> PartsOf(const GoldenPair& golden, const Model& model) {
  const Index targets = std::ssize(golden.target), sources = std::ssize(golden.source);
  const ModelInfo &decoder = model.info(), encoder = model.encoder()->info();
  CHECK(decoder.encoder_head_dim == encoder.head_dim);
  return {{AttentionPart::kDecoder, decoder, targets, targets, decoder.scales[0]},
          {AttentionPart::kEncoder, encoder, sources, sources, decoder.encoder_scale},
          {AttentionPart::kCross, decoder, targets, sources, decoder.scales[0]}};
}

/// Σ_i a_i b_i for row `i` of a and row `j` of b, in the columns of one head.
double Product(const Tensor& a, Index i, const Tensor& b, Index j, Index head, Index width) {
  double sum = 0.0;
  for (Index e = head * width; e < (head + 1) * width; ++e)
    sum += double{a.view<2>()(i, e)} * double{b.view<2>()(j, e)};
  return sum;
}

TEST_CASE("queries and keys of each attention make its scores, and values what its heads give") {
  for (const std::string& name : GoldenPairs()) {
    CAPTURE(name);
    const GoldenPair golden(name);
    for (const Backend* backend : TestBackends()) {
      const Model model = LoadFolder(PairFolder(name), *backend);
      const ModelAttention run = model.Attend(golden.input, {.keep_values = true, .keep_parts = true});
      for (const auto& [part, info, queries, keys, scale] : PartsOf(golden, model)) {
        const Tensor &q = run.Queries(1, part), &k = run.Keys(1, part), &v = run.Values(1, part),
                     &z = run.HeadOutputs(1, part);
        REQUIRE(q.shape() == Shape{queries, info.heads * info.head_dim});
        REQUIRE(k.shape() == Shape{keys, info.heads * info.head_dim});
        REQUIRE(v.shape() == k.shape());
        REQUIRE(z.shape() == q.shape());
        for (Index head = 0; head < info.heads; ++head) {
          const RowExplanation row = ExplainRow(run, 1, head, 2, part);
          for (Index key = 0; key < keys; ++key)
            CHECK(std::abs(double{scale} * Product(q, 2, k, key, head, info.head_dim) -
                           double{row.scores[static_cast<std::size_t>(key)]}) <= 64 * kEpsilon * MaxNorm(row.scores));
          for (Index e = head * info.head_dim; e < (head + 1) * info.head_dim; ++e) {
            double sum = 0.0;
            for (Index key = 0; key < keys; ++key)
              sum += double{row.steps[3].values[static_cast<std::size_t>(key)]} * double{v.view<2>()(key, e)};
            CHECK(std::abs(sum - double{z.view<2>()(2, e)}) <= 64 * kEpsilon * MaxNorm(v.values()));
          }
        }
      }
    }
  }
}

/// Patches of one head of an attention at all tokens.
struct OwnPatches {
  OwnPatches(Index head, Index tokens, Index width) : outputs({tokens, width}) {
    std::ranges::fill(outputs.values(), 0.0f);
    for (Index token = 0; token < tokens; ++token)
      for (const Index number : {Index{1}, head, token}) places.push_back(static_cast<std::int32_t>(number));
  }
  HeadPatches view() const {
    return {DenseView<const std::int32_t, 2>(places.data(), {outputs.shape()[0], 3}), outputs.view<2>()};
  }
  std::vector<std::int32_t> places;
  Tensor outputs;
};

TEST_CASE("patches of each attention: its own outputs change nothing, and zeros are a silent head") {
  for (const std::string& name : GoldenPairs()) {
    CAPTURE(name);
    const GoldenPair golden(name);
    for (const Backend* backend : TestBackends()) {
      const Model model = LoadFolder(PairFolder(name), *backend);
      AttendOptions keep;
      keep.keep_parts = true;
      const ModelAttention plain = model.Attend(golden.input, keep);
      const auto check = [&](const Part& part, HeadPatches AttendOptions::* patches,
                             View<const float, 2> AttendOptions::* mask) {
        AttendOptions patched = keep, silent = keep;
        OwnPatches patch(2, part.queries, part.info.head_dim);
        const Tensor factors({part.info.layers, part.info.heads});
        std::ranges::fill(factors.values(), 1.0f);
        factors.view<2>()(1, 2) = 0.0f;
        silent.*mask = factors.view<2>();
        patched.*patches = patch.view();
        const ModelAttention zeros = model.Attend(golden.input, patched), without = model.Attend(golden.input, silent);
        CHECK(std::ranges::equal(zeros.hidden().values(), without.hidden().values()));
        CHECK(!std::ranges::equal(zeros.hidden().values(), plain.hidden().values()));
        CHECK(std::ranges::equal(plain.Again(patched).hidden().values(), zeros.hidden().values()));
        Refused(ErrorCode::kUnsupported, "replaced outputs of this head",
                [&] { ExplainOutput(zeros, 1, 2, 1, part.part); });
        const Tensor& own = plain.HeadOutputs(1, part.part);
        for (Index token = 0; token < part.queries; ++token)
          std::copy_n(own.view<2>().at(token, 2 * part.info.head_dim), part.info.head_dim,
                      patch.outputs.view<2>().at(token));
        patched.*patches = patch.view();
        const ModelAttention same = zeros.Again(patched);
        CHECK(std::ranges::equal(same.hidden().values(), plain.hidden().values()));
        CHECK(std::ranges::equal(same.Again(keep).hidden().values(), plain.hidden().values()));
      };
      const std::vector<Part> parts = PartsOf(golden, model);
      check(parts[0], &AttendOptions::patches, &AttendOptions::head_mask);
      check(parts[1], &AttendOptions::encoder_patches, &AttendOptions::encoder_head_mask);
      check(parts[2], &AttendOptions::cross_patches, &AttendOptions::cross_head_mask);
    }
  }
}

TEST_CASE("patches of other attentions than a model has are refused") {
  const GoldenPair golden("marian");
  const Model model = LoadFolder(PairFolder("marian"), SimdBackend()),
              gpt2 = LoadFolder(GoldenFolder("gpt2"), SimdBackend());
  const OwnPatches patch(2, 1, model.info().head_dim);
  AttendOptions options;
  options.cross_patches = patch.view();
  Refused(ErrorCode::kUnsupported, "no heads of an encoder", [&] { gpt2.Attend({.ids = golden.target}, options); });
  const OwnPatches beyond(9, 1, model.info().head_dim), wide(1, 1, 3);
  options.cross_patches = beyond.view();
  Refused(ErrorCode::kValue, "head is 9", [&] { model.Attend(golden.input, options); });
  options = {};
  options.encoder_patches = wide.view();
  Refused(ErrorCode::kShape, "encoder_patch_outputs has shape (1, 3)", [&] { model.Attend(golden.input, options); });
}

TEST_CASE("differences of each attention are those of its maps") {
  for (const std::string& name : GoldenPairs()) {
    CAPTURE(name);
    const GoldenPair golden(name);
    const Model model = LoadFolder(PairFolder(name), SimdBackend());
    std::vector<std::int32_t> source = golden.source, target = golden.target;
    source.erase(source.begin() + 2);
    target[3] = (target[3] + 1) % 7;
    ModelInput other;
    other.source = source;
    other.ids = target;
    const ModelAttention a = model.Attend(golden.input), b = model.Attend(other);
    const std::vector<TokenPair> targets = AlignTokens(a, b), sources = AlignTokens(a.Encoder(), b.Encoder());
    REQUIRE(sources.size() == source.size());
    for (const auto& [part, info, queries, keys, scale] : PartsOf(golden, model)) {
      const auto &of_queries = part == AttentionPart::kEncoder ? sources : targets,
                 &of_keys = part == AttentionPart::kDecoder ? targets : sources;
      const auto map = [&](const ModelAttention& run) {
        const AttentionMaps& maps = run.Maps(1, part);
        Tensor all({maps.queries(), maps.keys()});
        maps.Map(0, 2, {}, all.view<2>());
        return all;
      };
      const Tensor of_a = map(a), of_b = map(b);
      const Tensor difference = MapDifference({a, 1, 2, part}, {b, 1, 2, part}, of_queries, of_keys);
      REQUIRE(difference.shape() == Shape{std::ssize(of_queries), std::ssize(of_keys)});
      for (std::size_t i = 0; i < of_queries.size(); ++i)
        for (std::size_t j = 0; j < of_keys.size(); ++j) {
          const float expected =
              of_b.view<2>()(of_queries[i].b, of_keys[j].b) - of_a.view<2>()(of_queries[i].a, of_keys[j].a);
          CHECK(std::abs(difference.view<2>()(static_cast<Index>(i), static_cast<Index>(j)) - expected) <= 1e-5f);
        }
      Refused(ErrorCode::kValue, "layer is 7", [&] { MapDifference({a, 7, 0, part}, {b, 0, 0, part}, of_queries); });
    }
  }
}

/// Checks that steps with changes of heads give the maps and logits of one pass with them.
void CheckChangedSteps(const Model& model, const ModelInput& input, const AttendOptions& options) {
  const ModelAttention whole = model.Attend(input, options);
  const Tensor logits = whole.Logits();
  ModelInput source = input;
  source.ids = {};
  Decoding decoding = model.StartDecoding(DType::kF32, source, options);
  const Index length = whole.length(), sources = decoding.source_length();
  for (Index at = 0; at < length; at = decoding.length()) {
    const Index count = std::min<Index>(at == 0 ? 3 : 1, length - at);
    decoding.Step(input.ids.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
    const Index keys = decoding.length() - decoding.first_key();
    Tensor map({count, keys}), cross({count, sources});
    const auto check = [&](const Tensor& got, const AttentionMaps& maps, Index head, Index first_key) {
      Tensor expected(got.shape());
      maps.Map(0, head, {at, at + count, first_key, first_key + got.shape()[1]}, expected.view<2>());
      CheckClose("map of a step", got.values(), expected.values(), 1e-5);
    };
    for (Index layer = 0; layer < model.info().layers; ++layer)
      for (Index head = 0; head < model.info().heads; ++head) {
        decoding.Map(layer, head, map.view<2>());
        check(map, whole.Maps(layer), head, decoding.first_key());
        if (sources == 0) continue;
        decoding.CrossMap(layer, head, cross.view<2>());
        check(cross, whole.Maps(layer, AttentionPart::kCross), head, 0);
      }
    const Tensor got = decoding.Logits(0, count);
    CheckClose("logits of a step", got.values(), {logits.view<2>().at(at), got.values().size()},
               256 * kEpsilon * MaxNorm(logits.values()));
  }
}

/// Factors of heads, one of which is silent.
Tensor SomeFactors(Index layers, Index heads) {
  Tensor factors({layers, heads});
  for (Index i = 0; i < factors.size(); ++i)
    factors.data()[i] = i == 1 ? 0.0f : 1.0f + 0.25f * static_cast<float>(i % 3);
  return factors;
}

TEST_CASE("steps with factors of heads and another normaliser give the numbers of one pass with them") {
  const auto check = [](const Model& model, const ModelInput& input) {
    const ModelInfo& info = model.info();
    const Tensor own = SomeFactors(info.layers, info.heads), cross = SomeFactors(info.layers, info.heads),
                 encoder = SomeFactors(info.encoder_layers, info.encoder_heads);
    AttendOptions masked, cooler, sparse;
    masked.head_mask = own.view<2>();
    if (info.encoder_layers > 0) {
      masked.cross_head_mask = cross.view<2>();
      masked.encoder_head_mask = encoder.view<2>();
    }
    cooler.normalizer.temperature = 0.5f;
    sparse = masked;
    sparse.normalizer.kind = NormalizerKind::kSparsemax;
    for (const AttendOptions& options : {masked, cooler, sparse}) CheckChangedSteps(model, input, options);
  };
  for (const std::string name : {"gpt2", "llama", "mistral", "gemma2", "gpt_neo"}) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    for (const Backend* backend : TestBackends()) check(LoadFolder(GoldenFolder(name), *backend), golden.input);
  }
  for (const std::string& name : GoldenPairs()) {
    CAPTURE(name);
    const GoldenPair golden(name);
    for (const Backend* backend : TestBackends()) check(LoadFolder(PairFolder(name), *backend), golden.input);
  }
}

TEST_CASE("steps refuse changes of a whole text, and factors of other sizes") {
  const Model model = LoadFolder(GoldenFolder("gpt2"), SimdBackend());
  const std::int32_t token = 0;
  AttendOptions options;
  options.replaced_tokens = {&token, 1};
  Refused(ErrorCode::kUnsupported, "head masks and a normaliser alone",
          [&] { model.StartDecoding(DType::kF32, {}, options); });
  const Tensor factors = SomeFactors(1, 2);
  options = {};
  options.head_mask = factors.view<2>();
  Refused(ErrorCode::kShape, "head_mask has shape (1, 2)", [&] { model.StartDecoding(DType::kF32, {}, options); });
  options = {};
  options.normalizer.temperature = -1.0f;
  Refused(ErrorCode::kValue, "temperature is -1", [&] { model.StartDecoding(DType::kF32, {}, options); });
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
