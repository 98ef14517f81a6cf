// SPDX-License-Identifier: Apache-2.0
/// Comparisons of two runs: alignments against all subsequences, differences against plain code in fp64.
#include "headlens/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headlens/explanation.h"
#include "models/golden_models.h"

namespace headlens::testing {
namespace {

using TokenIds = std::vector<std::int32_t>;

/// The length of a longest common subsequence: tries every subsequence of `a`.
std::size_t LongestCommon(const TokenIds& a, const TokenIds& b) {
  std::size_t longest = 0;
  for (std::uint32_t chosen = 0; chosen < 1u << a.size(); ++chosen) {
    std::size_t length = 0, j = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(chosen >> i & 1)) continue;
      while (j < b.size() && b[j] != a[i]) ++j;
      if (j++ >= b.size()) break;
      ++length;
    }
    longest = std::max(longest, length);
  }
  return longest;
}

void CheckAlignment(const TokenIds& a, const TokenIds& b, const std::vector<TokenPair>& pairs) {
  TokenPair last{-1, -1};
  for (const TokenPair& pair : pairs) {
    REQUIRE(pair.a > last.a);
    REQUIRE(pair.b > last.b);
    REQUIRE(a.at(static_cast<std::size_t>(pair.a)) == b.at(static_cast<std::size_t>(pair.b)));
    last = pair;
  }
}

TEST_CASE("aligned tokens are a longest common subsequence") {
  Random random(1);
  const auto text = [&](Index longest, Index words) {
    TokenIds ids(static_cast<std::size_t>(random.Below(longest + 1)));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.Below(words));
    return ids;
  };
  for (int round = 0; round < 2000; ++round) {
    const Index words = 1 + random.Below(5);
    const TokenIds a = text(9, words), b = text(14, words);
    const std::vector<TokenPair> pairs = AlignTokens(a, b);
    CheckAlignment(a, b, pairs);
    REQUIRE(pairs.size() == LongestCommon(a, b));
    CheckAlignment(b, a, AlignTokens(b, a));
    REQUIRE(AlignTokens(b, a).size() == pairs.size());
  }
}

TEST_CASE("of several alignments it is always the same") {
  const auto pairs = [](const TokenIds& a, const TokenIds& b) {
    std::string all;
    for (const TokenPair& pair : AlignTokens(a, b)) all += std::to_string(pair.a) + std::to_string(pair.b) + " ";
    return all;
  };
  CHECK(pairs({}, {1}).empty());
  CHECK(pairs({1}, {}).empty());
  CHECK(pairs({1, 2, 3}, {1, 9, 3}) == "00 22 ");
  CHECK(pairs({5, 5}, {5, 5, 5, 5}) == "00 11 ");  // beginnings before ends
  CHECK(pairs({7, 5, 8}, {9, 5, 5, 9}) == "11 ");  // the first like it
  CHECK(pairs({1, 2}, {2, 1}) == "10 ");           // the first half of a has no more than it needs
  CHECK(pairs({1, 2, 3, 4}, {3, 4, 1, 2}) == "20 31 ");
}

TEST_CASE("long texts are aligned in little memory") {
  TokenIds a(6'000), b;
  std::iota(a.begin(), a.end(), 0);
  for (const std::int32_t id : a)
    if (id % 3 != 0) b.push_back(id);
  b[77] = b[3777] = -1;
  const std::vector<TokenPair> pairs = AlignTokens(a, b);
  CheckAlignment(a, b, pairs);
  CHECK(pairs.size() == b.size() - 2);
  CHECK(AlignTokens(TokenIds(6'000, 1), TokenIds(5'999, 2)).empty());
  const TokenIds same(3'000'000, 4);
  CHECK(AlignTokens(same, same).size() == same.size());
}

std::vector<TokenPair> AllPairs(Index length) {
  std::vector<TokenPair> pairs;
  for (Index i = 0; i < length; ++i) pairs.push_back({i, i});
  return pairs;
}

/// The run again without one head.
ModelAttention WithoutHead(const ModelAttention& attention, const ModelInfo& info, Index layer, Index head) {
  const Tensor mask({info.layers, info.heads});
  std::ranges::fill(mask.values(), 1.0f);
  mask.view<2>()(layer, head) = 0.0f;
  AttendOptions options;
  options.head_mask = mask.view<2>();
  return attention.Again(options);
}

double Largest(std::span<const double> values) { return *std::ranges::max_element(values); }

void CheckIdentical(const ModelAttention& attention, const ModelInfo& info) {
  const ModelAttention again = attention.Again({});
  const std::vector<TokenPair> pairs = AlignTokens(attention, again);
  CHECK(pairs == AllPairs(attention.length()));
  for (Index layer = 0; layer < info.layers; ++layer)
    for (Index head = 0; head < info.heads; ++head)
      CHECK(MaxNorm(MapDifference({attention, layer, head}, {again, layer, head}, pairs).values()) == 0.0);
  if (info.logits == 0) return;
  for (const double divergence : PredictionDivergences(attention, again, pairs)) CHECK(divergence == 0.0);
  CHECK(MaxNorm(LogProbabilityChanges(attention, again, {0, 0})) == 0.0);
}

TEST_CASE("a run does not differ from itself, and does without a head") {
  for (const std::string& name : GoldenModels()) {
    CAPTURE(name);
    const Golden golden(GoldenFolder(name) + "/expected.safetensors");
    const Model model = LoadFolder(GoldenFolder(name));
    const ModelInfo& info = model.info();
    const ModelAttention attention = model.Attend(golden.input);
    CheckIdentical(attention, info);
    const ModelAttention without = WithoutHead(attention, info, 0, 1);
    const std::vector<TokenPair> pairs = AlignTokens(attention, without);
    CHECK(MaxNorm(MapDifference({attention, 0, 0}, {without, 0, 0}, pairs).values()) == 0.0);
    if (info.layers > 1) CHECK(MaxNorm(MapDifference({attention, 1, 0}, {without, 1, 0}, pairs).values()) > 0.0);
    if (info.logits == 0) continue;
    const std::vector<double> divergences = PredictionDivergences(attention, without, pairs);
    CHECK(divergences.size() == (info.vocab_size > 0 ? pairs.size() : 1));
    CHECK(Largest(divergences) > 0.0);
  }
}

std::vector<double> Probabilities(const Tensor& logits, Index row) {
  std::vector<double> p;
  double sum = 0.0;
  for (Index v = 0; v < logits.shape()[1]; ++v) sum += p.emplace_back(std::exp(double{logits.view<2>()(row, v)}));
  for (double& one : p) one /= sum;
  return p;
}

void CheckPredictionsOf(const ModelAttention& a, const ModelAttention& b, const std::vector<TokenPair>& pairs) {
  const std::vector<double> got = PredictionDivergences(a, b, pairs);
  REQUIRE(got.size() == pairs.size());
  const Tensor of_a = a.Logits(), of_b = b.Logits();
  // Logits that are single rows of a product may be rounded otherwise than those of all rows.
  const double logit = 64 * kEpsilon * std::max(MaxNorm(of_a.values()), MaxNorm(of_b.values()));
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    const std::vector<double> p = Probabilities(of_a, pairs[n].a), q = Probabilities(of_b, pairs[n].b);
    const std::vector<float> changes = LogProbabilityChanges(a, b, pairs[n]);
    REQUIRE(changes.size() == p.size());
    double expected = 0.0;
    for (std::size_t v = 0; v < p.size(); ++v) {
      expected += p[v] * std::log(p[v] / q[v]);
      CHECK(std::abs(double{changes[v]} - std::log(q[v] / p[v])) <= 4 * logit);
    }
    CHECK(std::abs(got[n] - expected) <= 4 * logit);
  }
}

/// √d max|q| max|k|, at least as large as any scaled score, and as what the rounding of scores is in proportion to.
double ScoreSize(const ModelAttention& attention, const ModelInfo& info, Index layer) {
  return std::sqrt(static_cast<double>(info.head_dim)) * MaxNorm(attention.Queries(layer).values()) *
         MaxNorm(attention.Keys(layer).values());
}

/// Compares two texts of about `length` tokens, each read by one of two models.
void CheckDifferences(const Model& one, const Model& other, std::size_t length) {
  Random random(2);
  TokenIds first(length), second;
  for (std::int32_t& id : first) id = static_cast<std::int32_t>(random.Below(40));
  for (const std::int32_t id : first) {
    if (random.Chance(0.8)) second.push_back(id);
    if (random.Chance(0.1)) second.push_back(50);
  }
  second.resize(std::min(second.size(), first.size()));
  const ModelAttention a = one.Attend(first), b = other.Attend(second);
  std::vector<TokenPair> pairs = AlignTokens(a, b);
  CHECK(pairs == AlignTokens(first, second));
  REQUIRE(pairs.size() > length / 2);
  CheckPredictionsOf(a, b, pairs);
  std::ranges::reverse(pairs);  // pairs may come in any order
  pairs.push_back(pairs[1]);
  const Tensor of_a = MapOf(a, 1, 2), of_b = MapOf(b, 2, 3), difference = MapDifference({a, 1, 2}, {b, 2, 3}, pairs);
  const auto count = static_cast<Index>(pairs.size());
  REQUIRE(difference.shape() == Shape{count, count});
  std::vector<float> expected;
  for (const TokenPair& query : pairs)
    for (const TokenPair& key : pairs)
      expected.push_back(of_b.view<2>()(query.b, key.b) - of_a.view<2>()(query.a, key.a));
  // A row is rounded otherwise when other rows are computed with it.
  const double tolerance = 4 * kEpsilon * (1 + ScoreSize(a, one.info(), 1) + ScoreSize(b, other.info(), 2));
  CheckClose("difference", difference.values(), expected, tolerance);
  const Tensor strip = MapDifference({a, 1, 2}, {b, 2, 3}, pairs, 3, 6);
  REQUIRE(strip.shape() == Shape{3, count});
  CheckClose("strip", strip.values(),
             std::span(expected).subspan(static_cast<std::size_t>(3 * count), strip.values().size()), tolerance);
  CHECK(MapDifference({a, 1, 2}, {b, 2, 3}, {}).size() == 0);
}

TEST_CASE("differences of two models and two texts are those of their maps and logits") {
  CheckDifferences(LoadFolder(GoldenFolder("gpt2")), LoadFolder(GoldenFolder("llama")), 12);
  const Model model = BuiltInModel();
  CheckDifferences(model, model, 120);  // more rows than are in memory at a time
}

TEST_CASE("images are compared place by place, and have one prediction") {
  const Golden golden(GoldenFolder("vit") + "/expected.safetensors");
  const Model model = LoadFolder(GoldenFolder("vit"));
  const Tensor other({golden.image.shape()[0], golden.image.shape()[1], golden.image.shape()[2]});
  std::ranges::fill(other.values(), 0.25f);
  ModelInput grey;
  grey.image = other.view<3>();
  const ModelAttention a = model.Attend(golden.input), b = model.Attend(grey);
  CHECK(AlignTokens(a, b) == AllPairs(a.length()));
  const std::vector<TokenPair> only = {{0, 0}};
  CheckPredictionsOf(a, b, only);
  CHECK(PredictionDivergences(a, b, AllPairs(a.length())).size() == 1);
  Refused(ErrorCode::kValue, "rows is 1 to 2", [&] { LogProbabilityChanges(a, b, {1, 1}); });
}

TEST_CASE("runs that cannot be compared are refused") {
  const Model gpt2 = LoadFolder(GoldenFolder("gpt2")), bert = LoadFolder(GoldenFolder("bert")),
              vit = LoadFolder(GoldenFolder("vit")), bare = LoadFolder(GoldenFolder("bert_bare"));
  const Golden golden(GoldenFolder("vit") + "/expected.safetensors");
  const TokenIds ids = {1, 2, 3, 4, 5};
  const ModelAttention a = gpt2.Attend(ids), words = bert.Attend(ids), image = vit.Attend(golden.input);
  const std::vector<TokenPair> pairs = AllPairs(5), past = {{0, 0}, {4, 5}}, before = {{-1, 0}};
  Refused(ErrorCode::kShape, "the vocabulary of b has 62 tokens, expected 263 as a has",
          [&] { AlignTokens(a, words); });
  Refused(ErrorCode::kUnsupported, "of a text and of an image", [&] { AlignTokens(a, image); });
  Refused(ErrorCode::kShape, "the output of b has 62 logits, expected 263 as a has",
          [&] { PredictionDivergences(a, words, pairs); });
  Refused(ErrorCode::kUnsupported, "one for a whole image", [&] { PredictionDivergences(a, image, pairs); });
  const auto maps = [&](Index layer, Index head, const std::vector<TokenPair>& of, Index begin, Index end) {
    MapDifference({a, layer, head}, {a, 0, 0}, of, begin, end);
  };
  Refused(ErrorCode::kValue, "a token of b in pairs is 5, expected 0 to 4", [&] { maps(0, 0, past, 0, 2); });
  Refused(ErrorCode::kValue, "a token of a in pairs is -1", [&] { PredictionDivergences(a, a, before); });
  Refused(ErrorCode::kValue, "a token of a in pairs is -1", [&] { LogProbabilityChanges(a, a, before[0]); });
  Refused(ErrorCode::kValue, "layer is 2", [&] { maps(2, 0, pairs, 0, 5); });
  Refused(ErrorCode::kValue, "head is 3", [&] { maps(0, 3, pairs, 0, 5); });
  Refused(ErrorCode::kValue, "rows is 2 to 6", [&] { maps(0, 0, pairs, 2, 6); });
  Refused(ErrorCode::kValue, "rows is -1 to 5", [&] { maps(0, 0, pairs, -1, MapWindow::kAll); });
  const ModelAttention silent = bare.Attend(ids);
  Refused(ErrorCode::kUnsupported, "has no logits", [&] { PredictionDivergences(a, silent, {}); });
}

}  // namespace
}  // namespace headlens::testing
