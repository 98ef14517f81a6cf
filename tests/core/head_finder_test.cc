// SPDX-License-Identifier: Apache-2.0
#include "headlens/head_finder.h"

#include <cmath>
#include <cstring>

#include "headlens/safetensors.h"
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
  const auto note = [&](double done) {
    progress.push_back(done);
    return true;
  };
  std::vector<ScoredHead> heads = ScoreHeads(source, {.metrics = {"previous", "entropy"}}, note).value();
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
  CHECK(!ScoreHeads(Constructed(texts), {.metrics = {"self"}}, stop));
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

/// The rows <s>[s][s] of web/models/train/golden.py, and PyTorch's scores of the built-in model's heads on them.
struct GoldenHeads {
  std::vector<std::byte> bytes = ReadFile(HEADLENS_GOLDEN_DIR "/model/heads.safetensors");
  Safetensors file{bytes};
  Texts rows;
  std::vector<ModelInput> inputs;

  GoldenHeads() {
    const RawTensor ids = file.Find("ids").value();
    for (Index row = 0; row < ids.shape[0]; ++row) {
      rows.emplace_back(static_cast<std::size_t>(ids.shape[1]));
      std::memcpy(rows.back().data(), ids.data + row * ids.shape[1] * 4, rows.back().size() * 4);
    }
    for (const auto& row : rows) inputs.push_back({.ids = row});
  }
  Tensor Expected(std::string_view name) const { return ToFloat(file.Find(name).value()); }
};

TEST_CASE("the built-in model's heads have PyTorch's scores, and those of its card") {
  const GoldenHeads golden;
  const Model model = BuiltInModel();
  const std::vector<std::string> names = {"previous",  "induction", "entropy_normalized",
                                          "sharpness", "distance",  "sink"};
  std::vector<ScoredHead> heads = ScoreHeads(HeadsOf(model, golden.inputs), {.metrics = names}).value();
  REQUIRE(heads.size() == 32);
  for (std::size_t m = 0; m < names.size(); ++m) {
    std::vector<float> got;
    for (const ScoredHead& head : heads) {
      got.push_back(static_cast<float>(head.scores[m].mean.value()));
      CHECK(head.scores[m].texts == 16);
    }
    const Tensor expected = golden.Expected(names[m]);
    // Weights differ by at most 2e-5; a mean of as many, weighted by distances up to 64.
    CheckClose(names[m], got, expected.values(), 2e-5 * std::max(MaxNorm(expected.values()), 1.0));
  }
  CHECK(heads[0].scores[0].n_valid == 16 * 64);
  CHECK(heads[0].scores[1].n_valid == 16 * 32);
  const auto best = [&](std::size_t metric) {
    RankHeads(heads, metric);
    return std::tuple(heads[0].layer, heads[0].head, heads[0].scores[metric].mean.value());
  };
  // web/models/tiny/README.md: 0.99 and 0.92, 0.024 between seeds at most.
  const auto [layer, head, previous] = best(0);
  CHECK(layer == 0);
  CHECK(head == 2);
  CHECK(std::abs(previous - 0.99) < 0.03);
  const auto [induction_layer, induction_head, induction] = best(1);
  CHECK(induction_layer == 1);
  CHECK(induction_head == 4);
  CHECK(std::abs(induction - 0.92) < 0.03);
}

TEST_CASE("rollout over the built-in model, a layer at a time, is PyTorch's") {
  const GoldenHeads golden;
  const Model model = BuiltInModel();
  const ModelAttention attention = model.Attend(golden.inputs[0]);
  const Index length = attention.length();
  const Tensor layer_weights({model.info().heads, length, length});
  Rollout rollout;
  for (Index layer = 0; layer < model.info().layers; ++layer) {
    for (Index head = 0; head < model.info().heads; ++head) {
      const View<float, 2> map = DenseView(layer_weights.view<3>().at(head), std::array<Index, 2>{length, length});
      attention.Map(layer, head, 0, length, map);
    }
    rollout.Add(layer_weights.view<3>());
  }
  const std::vector<float> got(rollout.result().values().begin(), rollout.result().values().end());
  CheckClose("rollout", got, golden.Expected("rollout").values(), 2e-5);
}

TEST_CASE("what a model's heads add to their layer, and what is lost without them") {
  const GoldenHeads golden;
  const Model model = BuiltInModel();
  const std::vector<std::string> names = {"output_change", "norm_share", "output_cosine", "ablation_output",
                                          "ablation_loss"};
  const std::span<const ModelInput> two = std::span(golden.inputs).first(2);
  const std::vector<ScoredHead> heads = ScoreHeads(HeadsOf(model, two), {.metrics = names}).value();
  for (Index layer = 0; layer < 4; ++layer) {
    double share = 0.0;
    for (std::size_t h = 0; h < 8; ++h) share += heads[static_cast<std::size_t>(layer) * 8 + h].scores[1].mean.value();
    CHECK(share == doctest::Approx(1.0));
  }
  // The same by hand for one head: the model is run with a mask, and the loss taken from all logits.
  const ScoredHead& found = heads[0 * 8 + 2];
  const Tensor mask({4, 8}, std::vector<float>(32, 1.0f));
  mask.view<2>()(0, 2) = 0.0f;
  double loss_change = 0.0, output_change = 0.0;
  for (const ModelInput& input : two) {
    const ModelAttention whole = model.Attend(input), without = model.Attend(input, {.head_mask = mask.view<2>()});
    const auto loss = [&](const ModelAttention& attention) {
      const Tensor logits = attention.Logits();
      double sum = 0.0;
      for (Index t = 0; t + 1 < attention.length(); ++t) {
        double z = 0.0;
        for (Index v = 0; v < 2048; ++v) z += std::exp(double{logits.view<2>()(t, v)});
        sum += std::log(z) - double{logits.view<2>()(t, input.ids[static_cast<std::size_t>(t) + 1])};
      }
      return sum / static_cast<double>(attention.length() - 1);
    };
    loss_change += (loss(without) - loss(whole)) / 2;
    double difference = 0.0, norm = 0.0;
    for (Index i = 0; i < whole.hidden().size(); ++i) {
      const double x = double{whole.hidden().data()[i]};
      difference += std::pow(x - double{without.hidden().data()[i]}, 2);
      norm += x * x;
    }
    output_change += std::sqrt(difference / norm) / 2;
  }
  CHECK(found.scores[4].mean.value() == doctest::Approx(loss_change).epsilon(1e-5));
  CHECK(found.scores[4].n_valid == 2 * 64);
  CHECK(found.scores[3].mean.value() == doctest::Approx(output_change).epsilon(1e-6));
  // Induction rests on the previous-token head: on repeated sequences the model loses most without it.
  for (const ScoredHead& head : heads) CHECK(head.scores[4].mean.value() <= found.scores[4].mean.value());
  CHECK(found.scores[4].mean.value() > 1.0);
}

TEST_CASE("every metric of both tables can be ranked on a model") {
  const Model model = BuiltInModel();
  const std::vector<std::int32_t> ids = {0, 300, 301, 302, 303, 300, 301, 302, 303};
  const std::vector<ModelInput> inputs = {{.ids = ids}};
  std::vector<std::string> names;
  for (const Metric& metric : Metrics()) names.emplace_back(metric.name);
  for (const ModelMetric& metric : ModelMetrics()) names.emplace_back(metric.name);
  const auto heads = ScoreHeads(HeadsOf(model, inputs), {.metrics = names, .special_tokens = {0}}).value();
  for (std::size_t m = 0; m < names.size(); ++m) {
    // Not for text: what looks ahead, and what is for images.
    const bool defined = names[m] != "next" && names[m] != "patch_distance";
    for (const ScoredHead& head : heads) {
      CHECK_MESSAGE(head.scores[m].mean.has_value() == defined, names[m]);
      if (defined) CHECK_MESSAGE(std::isfinite(*head.scores[m].mean), names[m]);
    }
  }
}

}  // namespace
}  // namespace headlens::testing
