// SPDX-License-Identifier: Apache-2.0
#include "headlens/head_finder.h"

#include <cmath>

#include "support.h"

namespace headlens::testing {
namespace {

using Texts = std::vector<std::vector<std::int32_t>>;

/// Two layers of two heads: in layer l, head 0 looks l tokens back (or at the first), head 1 everywhere alike.
HeadSource Constructed(const Texts& texts, int* maps = nullptr) {
  HeadSource source{
      .layers = 2,
      .heads = 2,
      .texts = static_cast<Index>(texts.size()),
      .causal = true,
  };
  source.attend = [&texts, maps](Index text) {
    const std::vector<std::int32_t>& ids = texts[static_cast<std::size_t>(text)];
    if (ids.empty()) throw Error(ErrorCode::kValue, "no tokens");
    TextHeads heads{.length = static_cast<Index>(ids.size()), .tokens = ids};
    heads.map = [maps](Index layer, Index head, View<float, 2> weights) {
      if (maps) ++*maps;
      for (Index i = 0; i < weights.shape[0]; ++i) {
        for (Index j = 0; j < weights.shape[1]; ++j) {
          const float alike = j <= i ? 1.0f / static_cast<float>(i + 1) : 0.0f;
          weights(i, j) = head == 1 ? alike : j == std::max<Index>(i - layer, 0) ? 1.0f : 0.0f;
        }
      }
    };
    return heads;
  };
  return source;
}

TEST_CASE("heads are scored over texts and ranked") {
  const Texts texts = {{7, 1, 2, 3}, {1}, {5, 5, 5, 5, 5, 5}};
  int maps = 0;
  const HeadSource source = Constructed(texts, &maps);
  std::vector<double> progress;
  std::vector<ScoredHead> heads = ScoreHeads(source, {.metrics = {"previous", "entropy"},
                                                      .special_tokens = {},
                                                      .progress =
                                                          [&](double done) {
                                                            progress.push_back(done);
                                                            return true;
                                                          }})
                                      .value();
  CHECK(maps == 12);
  REQUIRE(progress.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) CHECK(progress[i] == doctest::Approx(static_cast<double>(i + 1) / 12));
  REQUIRE(heads.size() == 4);
  CHECK(heads[2].layer == 1);
  CHECK(heads[2].head == 0);
  // One token has no previous one: the mean is over two texts, which count alike however long they are.
  CHECK(heads[2].scores[0].mean.value() == 1.0);
  CHECK(heads[2].scores[0].texts == 2);
  CHECK(heads[2].scores[0].n_valid == 3 + 5);
  const double shorter = (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 3, longer = (shorter * 3 + 1.0 / 5 + 1.0 / 6) / 5;
  CHECK(heads[1].scores[0].mean.value() == doctest::Approx((shorter + longer) / 2).epsilon(1e-6));
  CHECK(heads[0].scores[1].mean.value() == 0.0);
  CHECK(heads[0].scores[1].texts == 3);

  RankHeads(heads, 0);
  const auto order = [&] {
    std::string names;
    for (const ScoredHead& head : heads) names += std::to_string(head.layer) + "." + std::to_string(head.head) + " ";
    return names;
  };
  CHECK(order() == "1.0 0.1 1.1 0.0 ");
  RankHeads(heads, 0, /*ascending=*/true);
  CHECK(order() == "0.0 0.1 1.1 1.0 ");
  heads[1].scores[0].mean.reset();
  RankHeads(heads, 0);
  CHECK(order() == "1.0 1.1 0.0 0.1 ");
  CHECK_THROWS_AS(RankHeads(heads, 2), Error);
}

TEST_CASE("repeated sequences and special tokens are found in the texts") {
  const Texts texts = {{9, 1, 2, 1, 2}, {9, 1, 2, 3, 4}};
  const std::vector<ScoredHead> heads =
      ScoreHeads(Constructed(texts), {.metrics = {"induction", "special", "confidence"}, .special_tokens = {9}})
          .value();
  // In the first text n = 2: layer 1's head 0, which looks one back, does induction perfectly; the second repeats
  // nothing.
  CHECK(heads[2].scores[0].mean.value() == 1.0);
  CHECK(heads[2].scores[0].texts == 1);
  CHECK(heads[2].scores[0].n_valid == 2);
  CHECK(heads[0].scores[1].mean.value() == doctest::Approx(1.0 / 5));
  const std::vector<ScoredHead> without = ScoreHeads(Constructed(texts), {.metrics = {"special"}}).value();
  CHECK(!without[0].scores[0].mean);
  CHECK(without[0].scores[0].texts == 0);
}

TEST_CASE("the finder can be stopped, and says which text was wrong") {
  const Texts texts = {{1, 2}, {}};
  int calls = 0;
  const auto stop = [&](double) { return ++calls < 3; };
  CHECK(!ScoreHeads(Constructed(texts), {.metrics = {"self"}, .progress = stop}));
  CHECK(calls == 3);
  const auto refusal = [&](std::vector<std::string> metrics) -> std::string {
    try {
      ScoreHeads(Constructed(texts), {.metrics = std::move(metrics)});
    } catch (const Error& error) {
      return std::string(ToString(error.code())) + ": " + error.what();
    }
    return "accepted";
  };
  CHECK(refusal({"self"}) == "value: text 2: no tokens");
  CHECK(refusal({}) == "option: no metric is asked for");
  CHECK(refusal({"self", "selfish"}).find("option: no metric is called \"selfish\"") == 0);
  CHECK(ScoreHeads(Constructed({}), {.metrics = {"self"}}).value()[0].scores[0].texts == 0);
}

}  // namespace
}  // namespace headlens::testing
