// SPDX-License-Identifier: Apache-2.0
/// Explanations of scores, outputs and logits, compared with PyTorch's numbers (tests/golden/make_explained.py) on
/// every backend and SIMD target; and the sums that they must make up in every head of every model.
#include "headlens/explanation.h"

#include <cmath>

#include "models/golden_models.h"

namespace headlens::testing {
namespace {

/// The explanations in a golden folder, whose names begin with `prefix`.
struct Explained {
  explicit Explained(const std::string& folder, const std::string& begins_with = "")
      : bytes(ReadFile(folder + "/explained.safetensors")),
        file(bytes),
        prefix(begins_with),
        at(Integers<Index>(file, prefix + "score.at")) {}

  Tensor Expected(std::string_view name) const { return ToFloat(file.Find(prefix + std::string(name)).value()); }

  void CheckParts(const char* name, const std::vector<StreamPart>& parts) const {
    std::string names;
    for (const StreamPart& part : parts) names += (names.empty() ? "" : ",") + ToString(part);
    CHECK(names == file.metadata().at(prefix + name));
  }

  /// Every rounding is in proportion to the numbers that it happens to.
  void Check(const std::string& name, std::span<const float> got, double size) const {
    CheckClose(name, got, Expected(name).values(), 256 * kEpsilon * size);
  }
  void Check(const std::string& name, std::span<const float> got) const {
    Check(name, got, MaxNorm(Expected(name).values()));
  }

  std::vector<std::byte> bytes;
  Safetensors file;
  std::string prefix;
  std::vector<Index> at;  // layer, head, query, key, against
};

ModelAttention AttendWithParts(const Model& model, const ModelInput& input) {
  AttendOptions options;
  options.keep_parts = true;
  return model.Attend(input, options);
}

std::vector<float> Floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

void CheckScores(const Explained& golden, const ModelAttention& attention,
                 AttentionPart part = AttentionPart::kDecoder) {
  const MapCell cell{golden.at[0], golden.at[1], golden.at[2], golden.at[3], part};
  const CellExplanation one = ExplainCell(attention, cell), two = ExplainCell(attention, cell, golden.at[4]);
  golden.CheckParts("query_parts", one.query_parts);
  golden.CheckParts("key_parts", one.key_parts);
  golden.Check("score.terms", one.terms.values());
  golden.Check("score.against", two.terms.values(), MaxNorm(golden.Expected("score.terms").values()));
  const RowExplanation row = ExplainRow(attention, cell.layer, cell.head, cell.query, part);
  golden.CheckParts("query_parts", row.query_parts);
  golden.CheckParts("key_parts", row.key_parts);
  const double size = MaxNorm(golden.Expected("row.by_key").values());
  golden.Check("row.by_query", row.by_query.values(), size);
  golden.Check("row.by_key", row.by_key.values());
  golden.Check("row.scores", row.scores, size);
}

void CheckOutputs(const Explained& golden, const ModelAttention& attention,
                  AttentionPart part = AttentionPart::kDecoder) {
  const OutputExplanation output = ExplainOutput(attention, golden.at[0], golden.at[1], golden.at[2], part);
  golden.CheckParts("value_parts", output.parts);
  golden.Check("output.written", output.written.values(), 4 * MaxNorm(golden.Expected("output.written").values()));
  golden.Check("output.terms", output.terms.values(), 4 * MaxNorm(golden.Expected("output.terms").values()));
  const HeadSources sources = SourcesOf(attention, golden.at[0], golden.at[1], part);
  golden.CheckParts("query_parts", sources.query_parts);
  golden.CheckParts("key_parts", sources.key_parts);
  golden.CheckParts("value_parts", sources.value_parts);
  // Sums over all cells, whose terms are as large as those of a row.
  const double size =
      static_cast<double>(golden.Expected("row.scores").size()) * MaxNorm(golden.Expected("row.by_key").values());
  golden.Check("sources.query", Floats(sources.query), size);
  golden.Check("sources.key", Floats(sources.key), size);
  golden.Check("sources.value", Floats(sources.value), 4 * MaxNorm(golden.Expected("sources.value").values()));
}

void CheckLogits(const Explained& golden, const ModelAttention& attention, Index logits) {
  const std::vector<std::int32_t> none;
  if (logits == 0) {
    CHECK(!golden.file.Find("lens"));
    Refused(ErrorCode::kUnsupported, "has no logits", [&] { LensLogits(attention, 1, 0, 1); });
    return Refused(ErrorCode::kUnsupported, "has no logits", [&] { Contributions(attention, 0, none); });
  }
  const Tensor lens = golden.Expected("lens");
  CheckClose("lens", LensLogits(attention, 1, 0, lens.shape()[0]).values(), lens.values(),
             256 * kEpsilon * MaxNorm(lens.values()));
  if (!golden.file.Find("logits.at")) {
    Refused(ErrorCode::kUnsupported, "no sum over its parts", [&] { Contributions(attention, 0, none); });
    return Refused(ErrorCode::kUnsupported, "no sum over its parts", [&] { HeadLogits(attention, 0, 0, 0, 1); });
  }
  const std::vector<std::int32_t> at = Integers<std::int32_t>(golden.file, "logits.at");
  const LogitExplanation explained = Contributions(attention, at[0], std::span(at).subspan(1));
  golden.CheckParts("logit_parts", explained.parts);
  golden.Check("logits.terms", explained.terms.values());
  const Tensor head = golden.Expected("logits.head");
  golden.Check("logits.head", HeadLogits(attention, golden.at[0], golden.at[1], 0, head.shape()[0]).values());
}

void CheckAgainst(const Explained& golden, const Model& model, const ModelInput& input) {
  const ModelAttention attention = AttendWithParts(model, input);
  CheckScores(golden, attention);
  CheckOutputs(golden, attention);
  CheckLogits(golden, attention, model.info().logits);
}

TEST_CASE("scores, outputs, logits and sources have PyTorch's parts") {
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden model(GoldenFolder(name) + "/expected.safetensors");
    const Explained golden(GoldenFolder(name));
    for (const Backend* backend : TestBackends()) {
      CAPTURE(backend->name());
      CheckAgainst(golden, LoadFolder(GoldenFolder(name), *backend), model.input);
    }
    ForEachTarget([&] { CheckAgainst(golden, LoadFolder(GoldenFolder(name), SimdBackend()), model.input); });
  }
}

/// Checks the explanations of all attentions, and of logits (tests/golden/make_explained_pairs.py).
void CheckPair(const std::string& folder, const Model& model, const ModelInput& input) {
  const ModelAttention attention = AttendWithParts(model, input);
  for (const auto& [prefix, part] : {std::pair("encoder.", AttentionPart::kEncoder),
                                     {"decoder.", AttentionPart::kDecoder},
                                     {"cross.", AttentionPart::kCross}}) {
    CAPTURE(prefix);
    const Explained golden(folder, prefix);
    CheckScores(golden, attention, part);
    CheckOutputs(golden, attention, part);
  }
  const Explained golden(folder);
  const std::vector<std::int32_t> at = Integers<std::int32_t>(golden.file, "logits.at");
  const LogitExplanation explained = Contributions(attention, at[0], std::span(at).subspan(1));
  golden.CheckParts("logit_parts", explained.parts);
  golden.Check("logits.terms", explained.terms.values());
  const std::vector<Index> place = Integers<Index>(golden.file, "cross.score.at");
  for (const auto& [name, part] :
       {std::pair("logits.decoder", AttentionPart::kDecoder), {"logits.cross", AttentionPart::kCross}})
    golden.Check(name, HeadLogits(attention, place[0], place[1], 0, attention.length(), part).values());
}

TEST_CASE("all attentions of encoder-decoders have PyTorch's parts") {
  for (const std::string& name : GoldenPairs()) {
    CAPTURE(name);
    const GoldenPair golden(name);
    const std::string folder = PairFolder(name);
    for (const Backend* backend : TestBackends()) CheckPair(folder, LoadFolder(folder, *backend), golden.input);
    ForEachTarget([&] { CheckPair(folder, LoadFolder(folder, SimdBackend()), golden.input); });
  }
}

/// ‖q‖ ‖k‖ of a cell, in whose proportion the run itself rounds its score. It exceeds the score by far where products
/// of their elements cancel each other.
double SizeOfScore(const ModelAttention& attention, const ModelInfo& info, const MapCell& cell) {
  if (cell.part != AttentionPart::kDecoder) return 0.0;
  const auto norm = [&](const Tensor& rows, Index row, Index head) {
    double square = 0.0;
    for (Index i = 0; i < info.head_dim; ++i) {
      const double x{rows.view<2>()(row, head * info.head_dim + i)};
      square += x * x;
    }
    return std::sqrt(square);
  };
  return norm(attention.Queries(cell.layer), cell.query, cell.head) *
         norm(attention.Keys(cell.layer), cell.key, cell.head / (info.heads / info.kv_heads));
}

/// Checks that terms [n, m] sum to `expected` within 1e-5 of the sum of their absolute values, or within the rounding
/// of numbers of size `size_of_run`; the columns each, or all.
void CheckSum(std::span<const float> terms, Index columns, Index column, double expected, double size_of_run = 0.0) {
  double sum = 0.0, size = 0.0;
  for (auto i = static_cast<std::size_t>(column); i < terms.size(); i += static_cast<std::size_t>(columns)) {
    sum += double{terms[i]};
    size += std::abs(double{terms[i]});
  }
  CHECK(std::abs(sum - expected) <= std::max(1e-5 * size, 8 * kEpsilon * size_of_run));
}

/// The heads of one attention of a run, and the numbers of its queries and keys.
struct Heads {
  const ModelAttention& attention;
  const ModelInfo& info;
  AttentionPart part;
  Index queries, keys;
};

void CheckRow(const Heads& heads, Index layer, Index head, Index query) {
  const auto& [attention, info, part, queries, length] = heads;
  const RowExplanation row = ExplainRow(attention, layer, head, query, part);
  const Tensor map({1, length});
  attention.Maps(layer, part).Map(0, head, {query, query + 1}, map.view<2>());
  REQUIRE(row.steps.size() == 4);
  CheckClose("weights", row.steps[3].values, map.values(), 8 * kEpsilon);
  double sum = 0.0, largest = -std::numeric_limits<double>::infinity();
  for (const float score : row.steps[2].values) largest = std::max(largest, double{score});
  for (const float score : row.steps[2].values) sum += std::exp(double{score} - largest);
  for (Index j = 0; j < length; ++j) {
    const double score{row.scores[static_cast<std::size_t>(j)]},
        size = SizeOfScore(attention, info, {layer, head, query, j, part});
    CheckSum(row.by_query.values(), length, j, score, size);
    CheckSum(row.by_key.values(), length, j, score, size);
    const double weight = std::exp(double{row.steps[2].values[static_cast<std::size_t>(j)]} - largest) / sum;
    CHECK(std::abs(weight - double{map.data()[j]}) <= 1e-5);
  }
  const OutputExplanation output = ExplainOutput(attention, layer, head, query, part);
  double square = 0.0;
  for (const float x : output.written.values()) square += double{x} * double{x};
  CheckSum(output.terms.values(), 1, 0, std::sqrt(square));
}

void CheckHead(const Heads& heads, Index layer, Index head) {
  const auto& [attention, info, part, queries, keys] = heads;
  const Index last = queries - 1, last_key = keys - 1;
  for (const Index query : {Index{0}, last / 2, last}) {
    for (const Index key : {Index{0}, std::min(query, last_key)}) {
      const MapCell at{layer, head, query, key, part}, other{layer, head, query, last_key - key, part};
      const double size = SizeOfScore(attention, info, at), both = size + SizeOfScore(attention, info, other);
      const CellExplanation cell = ExplainCell(attention, at), pair = ExplainCell(attention, at, other.key);
      CheckSum(cell.terms.values(), 1, 0, cell.score, size);
      CheckSum(pair.terms.values(), 1, 0, pair.score, both);
      CHECK(cell.steps[3].stage == "weights");
    }
  }
  CheckRow(heads, layer, head, last);
}

void CheckHeads(const Heads& heads) {
  for (Index layer = 0; layer < heads.info.layers; ++layer)
    for (Index head = 0; head < heads.info.heads; ++head) CheckHead(heads, layer, head);
}

void CheckLogitSums(const Model& model, const ModelAttention& attention) {
  const ModelInfo& info = model.info();
  if (!model.unembedding()) return;
  std::vector<std::int32_t> tokens;
  for (Index token = 0; token < std::min<Index>(info.logits, 7); ++token)
    tokens.push_back(static_cast<std::int32_t>(token));
  const Index rows = attention.Logits().shape()[0];
  for (const Index position : {Index{0}, rows - 1}) {
    const LogitExplanation logits = Contributions(attention, position, tokens);
    const auto columns = static_cast<Index>(tokens.size());
    for (Index n = 0; n < columns; ++n)
      CheckSum(logits.terms.values(), columns, n, double{logits.logits[static_cast<std::size_t>(n)]});
  }
}

void CheckSums(const Model& model, const ModelInput& input) {
  const ModelAttention attention = AttendWithParts(model, input);
  CheckHeads({attention, model.info(), AttentionPart::kDecoder, attention.length(), attention.length()});
  CheckLogitSums(model, attention);
}

/// Checks that each head's part of a logit is what HeadLogits says that it adds.
void CheckHeadLogits(const ModelAttention& attention) {
  const std::int32_t token = 3;
  const Index last = attention.length() - 1;
  const LogitExplanation logits = Contributions(attention, last, {&token, 1});
  const double size = MaxNorm(logits.terms.values());
  for (std::size_t a = 0; a < logits.parts.size(); ++a) {
    const auto& [kind, layer, head] = logits.parts[a];
    if (kind != PartKind::kHead && kind != PartKind::kCross) continue;
    const AttentionPart part = kind == PartKind::kCross ? AttentionPart::kCross : AttentionPart::kDecoder;
    const Tensor written = HeadLogits(attention, layer, head, last, last + 1, part);
    CHECK(std::abs(double{written.data()[token]} - double{logits.terms.data()[a]}) <= 64 * kEpsilon * size);
  }
}

TEST_CASE("terms sum to the score, the length and the logit in every head of every model") {
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    CheckSums(LoadFolder(GoldenFolder(name), SimdBackend()), golden.input);
  }
  std::vector<std::int32_t> ids(40);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 37 % 2048);
  ModelInput input;
  input.ids = ids;
  CheckSums(BuiltInModel(), input);
}

TEST_CASE("terms sum to the score, the length and the logit in all attentions of encoder-decoders") {
  for (const std::string& name : GoldenPairs()) {
    CAPTURE(name);
    const GoldenPair golden(name);
    const Model model = LoadFolder(PairFolder(name), SimdBackend()), encoder = *model.encoder();
    const ModelAttention attention = AttendWithParts(model, golden.input);
    const auto sources = static_cast<Index>(golden.source.size()), targets = attention.length();
    CheckHeads({attention, encoder.info(), AttentionPart::kEncoder, sources, sources});
    CheckHeads({attention, model.info(), AttentionPart::kDecoder, targets, targets});
    CheckHeads({attention, model.info(), AttentionPart::kCross, targets, sources});
    CheckLogitSums(model, attention);
    CheckHeadLogits(attention);
  }
}

TEST_CASE("a run again keeps the encoder's parts, too, and silent heads of it write nothing") {
  const GoldenPair golden("t5");
  const Model model = LoadFolder(PairFolder("t5"), SimdBackend());
  AttendOptions options;
  options.keep_parts = true;
  const MapCell cell{1, 2, 3, 4, AttentionPart::kCross};
  const ModelAttention bare = model.Attend(golden.input), again = bare.Again(options);
  Refused(ErrorCode::kOption, "keep_parts", [&] { ExplainCell(bare, cell); });
  const CellExplanation whole = ExplainCell(AttendWithParts(model, golden.input), cell);
  CHECK(std::ranges::equal(ExplainCell(again, cell).terms.values(), whole.terms.values()));
  Tensor cross({2, 4}), encoder({3, 4});
  std::ranges::fill(cross.values(), 1.0f);
  std::ranges::fill(encoder.values(), 1.0f);
  cross.view<2>()(0, 1) = encoder.view<2>()(2, 3) = 0.0f;
  options.cross_head_mask = cross.view<2>();
  options.encoder_head_mask = encoder.view<2>();
  const CellExplanation silent = ExplainCell(again.Again(options), cell);
  const auto index = [](const std::vector<StreamPart>& parts, const StreamPart& part) {
    return std::ranges::find(parts, part) - parts.begin();
  };
  const Index query = index(silent.query_parts, {PartKind::kCross, 0, 1}),
              key = index(silent.key_parts, {PartKind::kHead, 2, 3});
  const View<const float, 2> terms = silent.terms.view<2>(), before = whole.terms.view<2>();
  for (Index b = 0; b < terms.shape[1]; ++b) CHECK(terms(query, b) == 0.0f);
  for (Index a = 0; a < terms.shape[0]; ++a) CHECK(terms(a, key) == 0.0f);
  CHECK(before(query, key) != 0.0f);
  CheckSum(silent.terms.values(), 1, 0, silent.score);
}

TEST_CASE("explanations name what they lack") {
  const Model model = LoadFolder(GoldenFolder("gpt2"), SimdBackend());
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5};
  const ModelAttention bare = model.Attend(ids);
  Refused(ErrorCode::kOption, "keep_parts", [&] { ExplainCell(bare, {1, 0, 2, 1}); });
  Refused(ErrorCode::kOption, "keep_hidden", [&] { LensLogits(bare, 1, 0, 1); });
  ModelInput input;
  input.ids = ids;
  const ModelAttention attention = AttendWithParts(model, input);
  Refused(ErrorCode::kValue, "layer is 2", [&] { ExplainCell(attention, {2, 0, 2, 1}); });
  Refused(ErrorCode::kValue, "head is 3", [&] { ExplainRow(attention, 1, 3, 1); });
  Refused(ErrorCode::kValue, "query is 5", [&] { ExplainRow(attention, 1, 0, 5); });
  Refused(ErrorCode::kValue, "key is -1", [&] { ExplainCell(attention, {1, 0, 2, -1}); });
  Refused(ErrorCode::kValue, "against is 5", [&] { ExplainCell(attention, {1, 0, 2, 1}, 5); });
  Refused(ErrorCode::kValue, "position is 5", [&] { Contributions(attention, 5, ids); });
  const std::vector<std::int32_t> unknown = {static_cast<std::int32_t>(model.info().logits)};
  Refused(ErrorCode::kValue, "tokens is", [&] { Contributions(attention, 0, unknown); });
  Refused(ErrorCode::kValue, "layer is 3", [&] { LensLogits(attention, 3, 0, 1); });
  Refused(ErrorCode::kUnsupported, "has no encoder", [&] { ExplainRow(attention, 1, 0, 1, AttentionPart::kCross); });
  AttendOptions options;
  options.keep_parts = true;
  const std::int32_t place[] = {1, 0, 4};
  Tensor output({1, model.info().head_dim});
  std::ranges::fill(output.values(), 1.0f);
  options.patches = {DenseView<const std::int32_t, 2>(place, {1, 3}), output.view<2>()};
  const ModelAttention patched = model.Attend(input, options);
  Refused(ErrorCode::kUnsupported, "replaced outputs of this head", [&] { ExplainOutput(patched, 1, 0, 2); });
  Refused(ErrorCode::kUnsupported, "replaced outputs of this head", [&] { SourcesOf(patched, 1, 0); });
  CHECK(ExplainOutput(patched, 1, 1, 2).terms.size() > 0);
}

/// Checks that the terms of a run whose values were replaced at `tokens` sum to what is written, that keys which were
/// blanked have none, and that the sums over a whole text are those of its queries.
void CheckReplaced(const ModelAttention& run, const ModelInfo& info, std::span<const std::int32_t> tokens,
                   TokenReplacement replacement) {
  const Index length = run.length();
  for (Index layer = 0; layer < info.layers; ++layer)
    for (Index head = 0; head < info.heads; ++head) {
      std::vector<double> sums, sizes;
      for (Index query = 0; query < length; ++query) {
        const OutputExplanation output = ExplainOutput(run, layer, head, query);
        double square = 0.0;
        for (const float x : output.written.values()) square += double{x} * double{x};
        CheckSum(output.terms.values(), 1, 0, std::sqrt(square));
        const View<float, 2> terms = output.terms.view<2>();
        sums.resize(output.parts.size());
        sizes.resize(output.parts.size());
        for (Index a = 0; a < terms.shape[0]; ++a) {
          for (Index key = 0; key < length; ++key) {
            sums[static_cast<std::size_t>(a)] += double{terms(a, key)};
            sizes[static_cast<std::size_t>(a)] += std::abs(double{terms(a, key)});
          }
          for (const std::int32_t token : tokens)
            if (replacement == TokenReplacement::kZero) CHECK(terms(a, token) == 0.0f);
        }
      }
      const HeadSources sources = SourcesOf(run, layer, head);
      REQUIRE(sources.value.size() == sums.size());
      const double largest = *std::ranges::max_element(sizes);
      for (std::size_t a = 0; a < sums.size(); ++a)
        CHECK(std::abs(sources.value[a] - sums[a]) <= 1e-5 * (sizes[a] + 0.1 * largest));
    }
}

TEST_CASE("terms sum to what a head writes where values are zeros or means, in every head of every model") {
  const std::int32_t tokens[] = {1, 3, 1};
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    const Model model = LoadFolder(GoldenFolder(name), SimdBackend());
    ModelInput input = golden.input;
    input.padding = {};  // queries that are padding are not summed
    for (const TokenReplacement replacement : {TokenReplacement::kZero, TokenReplacement::kMean}) {
      AttendOptions options;
      options.keep_parts = true;
      options.replaced_tokens = tokens;
      options.replacement = replacement;
      CheckReplaced(model.Attend(input, options), model.info(), tokens, replacement);
    }
  }
}

TEST_CASE("padding does not count in the mean that stands for replaced values") {
  const Golden golden(GoldenFolder("bert") + "/expected.safetensors");
  const Model model = LoadFolder(GoldenFolder("bert"), SimdBackend());
  const std::int32_t token = 2;
  AttendOptions options;
  options.keep_parts = true;
  options.replaced_tokens = {&token, 1};
  options.replacement = TokenReplacement::kMean;
  std::vector<std::uint8_t> padding(golden.ids.size(), 0);
  padding.back() = padding[1] = 1;
  ModelInput input = golden.input;
  input.padding = padding;
  const ModelAttention run = model.Attend(input, options);
  for (Index head = 0; head < model.info().heads; ++head) {
    const OutputExplanation output = ExplainOutput(run, 1, head, 0);
    double square = 0.0;
    for (const float x : output.written.values()) square += double{x} * double{x};
    CheckSum(output.terms.values(), 1, 0, std::sqrt(square));
  }
}

TEST_CASE("explanations of encoder-decoders name what they lack") {
  const GoldenPair golden("marian");
  const Model model = LoadFolder(PairFolder("marian"), SimdBackend());
  const ModelAttention attention = AttendWithParts(model, golden.input);
  constexpr AttentionPart kEncoder = AttentionPart::kEncoder, kCross = AttentionPart::kCross;
  Refused(ErrorCode::kValue, "layer is 3, expected 0 to 2", [&] { ExplainRow(attention, 3, 0, 0, kEncoder); });
  Refused(ErrorCode::kValue, "layer is 2, expected 0 to 1", [&] { ExplainRow(attention, 2, 0, 0, kCross); });
  Refused(ErrorCode::kValue, "head is 4", [&] { SourcesOf(attention, 1, 4, kCross); });
  Refused(ErrorCode::kValue, "query is 8, expected 0 to 7", [&] { ExplainOutput(attention, 1, 0, 8, kCross); });
  Refused(ErrorCode::kValue, "key is 11, expected 0 to 10", [&] { ExplainCell(attention, {1, 0, 7, 11, kCross}); });
  Refused(ErrorCode::kUnsupported, "heads of the encoder add nothing",
          [&] { HeadLogits(attention, 0, 0, 0, 1, kEncoder); });
}

TEST_CASE("extreme logits come first, equal ones by their token, and NaN last") {
  const std::vector<float> logits = {1.0f, std::numeric_limits<float>::quiet_NaN(), 3.0f, -2.0f, 3.0f};
  const auto tokens = [&](Index count, bool largest) {
    std::string all;
    for (const TokenLogit& one : ExtremeLogits(logits, count, largest)) all += std::to_string(one.token);
    return all;
  };
  CHECK(tokens(3, true) == "240");
  CHECK(tokens(9, true) == "24031");
  CHECK(tokens(2, false) == "30");
  CHECK(tokens(0, true).empty());
}

}  // namespace
}  // namespace headlens::testing
