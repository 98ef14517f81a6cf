// SPDX-License-Identifier: Apache-2.0
#include "headlens/head_finder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "headlens/circuits.h"
#include "headlens/safetensors.h"
#include "support.h"

namespace headlens::testing {
namespace {

using Texts = std::vector<std::vector<std::int32_t>>;

/// Two layers of two heads. In layer l, head 0 looks l tokens back (or at the first token), and head 1 has equal
/// weights.
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
  // A text of one token has no previous one, so the mean is over two texts, which count the same regardless of length.
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
  // In the first text n = 2, so head 0 of layer 1, which looks one token back, is a perfect induction head. The second
  // text repeats nothing.
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
  CHECK(refusal({}) == "option: metrics is [], expected at least one name");
  CHECK(refusal({"self", "selfish"}).find("option: no metric is called \"selfish\"") == 0);
  CHECK(ScoreHeads(Constructed({}), {.metrics = {"self"}}).value()[0].scores[0].texts == 0);
}

/// The rows <s>[s][s] of web/models/train/tiny/golden.py, and PyTorch's scores of the built-in model's heads on them.
struct GoldenHeads {
  std::vector<std::byte> bytes = ReadFile(HEADLENS_GOLDEN_DIR "/built_in/tiny.safetensors");
  Safetensors file{bytes};
  Texts rows;
  std::vector<ModelInput> inputs;

  GoldenHeads() {
    const RawTensor ids = file.Find("repeats").value();
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
    // Weights differ by at most 2e-5; so do means over them, multiplied by distances of up to 64.
    CheckClose(names[m], got, expected.values(), 2e-5 * std::max(MaxNorm(expected.values()), 1.0));
  }
  CHECK(heads[0].scores[0].n_valid == 16 * 64);
  CHECK(heads[0].scores[1].n_valid == 16 * 32);
  const auto best = [&](std::size_t metric) {
    RankHeads(heads, metric);
    return std::tuple(heads[0].layer, heads[0].head, heads[0].scores[metric].mean.value());
  };
  // The card's rows have other random tokens, between which scores differ by at most 0.031.
  const std::pair<std::size_t, const char*> probes[] = {{0, "previous token"}, {1, "induction"}};
  for (const auto& [metric, probe] : probes) {
    const auto [layer, head, score] = best(metric);
    const KnownHead known = BestHead(probe);
    CHECK(layer == known.layer);
    CHECK(head == known.head);
    CHECK(std::abs(score - known.score) < 0.04);
  }
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
      attention.Map(layer, head, {}, map);
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
  // The same computed by hand for one head: the model runs with a mask, and all logits give the loss.
  const KnownHead back = BestHead("previous token");
  const ScoredHead& found = heads[static_cast<std::size_t>(back.layer * 8 + back.head)];
  const Tensor mask({4, 8}, std::vector<float>(32, 1.0f));
  mask.view<2>()(back.layer, back.head) = 0.0f;
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
  // Induction needs the previous-token head: on repeated sequences the model loses most without it.
  for (const ScoredHead& head : heads) CHECK(head.scores[4].mean.value() <= found.scores[4].mean.value());
  CHECK(found.scores[4].mean.value() > 1.0);
}

/// A model of the golden files with its parameters and PyTorch's numbers for one text.
struct GoldenModel {
  explicit GoldenModel(const std::string& name)
      : parameter_bytes(ReadFile(GoldenFolder(name) + "/model.safetensors")),
        expected_bytes(ReadFile(GoldenFolder(name) + "/expected.safetensors")),
        parameters(parameter_bytes),
        expected(expected_bytes),
        model(LoadFolder(GoldenFolder(name))) {
    Read("ids", ids);
    Read("segments", segments);
    Read("padding", padding);
    input = {.ids = ids, .segments = segments, .padding = padding};
  }
  /// Leaves `values` empty when there is no such tensor.
  template <class T>
  void Read(const char* name, std::vector<T>& values) const {
    const std::optional<RawTensor> raw = expected.Find(name);
    if (!raw) return;
    values.resize(static_cast<std::size_t>(raw->shape[0]));
    std::memcpy(values.data(), raw->data, values.size() * sizeof(T));
  }
  Tensor Parameter(const std::string& name) const { return ToFloat(parameters.Find(name).value()); }

  std::vector<std::byte> parameter_bytes, expected_bytes;
  Safetensors parameters, expected;
  Model model;
  std::vector<std::int32_t> ids, segments;
  std::vector<std::uint8_t> padding;
  ModelInput input;
};

/// Importance of the heads of layer 1, from PyTorch's weights [H, T, T], v [T][D] and the output projection [out][in].
std::vector<HeadImportance> ImportanceByHand(const GoldenModel& golden, const std::vector<std::vector<double>>& v,
                                             const std::function<double(Index out, Index in)>& projection,
                                             const Tensor& bias) {
  const Tensor weights = ToFloat(golden.expected.Find("weights").value());
  const Index heads = weights.shape()[1], length = weights.shape()[2], width = bias.size(), d = width / heads;
  std::vector<double> squares(static_cast<std::size_t>(heads)), products(squares.size());
  double output_square = 0.0, norms = 0.0;
  for (Index t = 0; t < length; ++t) {
    if (!golden.padding.empty() && golden.padding[static_cast<std::size_t>(t)]) continue;
    for (Index e = 0; e < width; ++e) {
      std::vector<double> parts(squares.size());
      double out = double{bias.data()[e]};
      for (Index h = 0; h < heads; ++h) {
        double part = 0.0;
        for (Index s = 0; s < length; ++s)
          for (Index c = h * d; c < (h + 1) * d; ++c)
            part += double{weights.view<4>()(1, h, t, s)} *
                    v[static_cast<std::size_t>(s)][static_cast<std::size_t>(c)] * projection(e, c);
        parts[static_cast<std::size_t>(h)] = part;
        out += part;
      }
      for (std::size_t h = 0; h < parts.size(); ++h) {
        squares[h] += parts[h] * parts[h];
        products[h] += parts[h] * out;
      }
      output_square += out * out;
    }
  }
  for (const double square : squares) norms += std::sqrt(square);
  std::vector<HeadImportance> importance;
  for (std::size_t h = 0; h < squares.size(); ++h) {
    const double own = std::sqrt(squares[h]), whole = std::sqrt(output_square);
    importance.push_back({own / whole, own / norms, products[h] / (own * whole)});
  }
  return importance;
}

/// x W + b for every row of `x` [T, in], where `weight(in, out)` gives W.
std::vector<std::vector<double>> Projected(const Tensor& x, const std::function<double(Index in, Index out)>& weight,
                                           std::span<const float> bias) {
  std::vector<std::vector<double>> y;
  for (Index t = 0; t < x.shape()[0]; ++t) {
    y.emplace_back(bias.begin(), bias.end());
    for (std::size_t out = 0; out < bias.size(); ++out)
      for (Index in = 0; in < x.shape()[1]; ++in)
        y.back()[out] += double{x.view<2>()(t, in)} * weight(in, static_cast<Index>(out));
  }
  return y;
}

/// The residual stream before layer 1, from PyTorch.
Tensor HiddenOf(const GoldenModel& golden) {
  const Tensor hidden = ToFloat(golden.expected.Find("hidden").value());
  const Index size = hidden.shape()[1] * hidden.shape()[2];
  return Tensor({hidden.shape()[1], hidden.shape()[2]},
                std::span<const float>(hidden.data() + size, static_cast<std::size_t>(size)));
}

void CheckImportance(const GoldenModel& golden, const std::vector<HeadImportance>& expected) {
  const ModelInfo& info = golden.model.info();
  const std::vector<std::string> names = {"output_change", "norm_share", "output_cosine", "output_change_normalized"};
  const auto heads = ScoreHeads(HeadsOf(golden.model, std::span(&golden.input, 1)), {.metrics = names}).value();
  double square = 0.0;
  for (const HeadImportance& head : expected) square += *head.output_change * *head.output_change;
  const Index rows =
      static_cast<Index>(golden.ids.size()) - std::count(golden.padding.begin(), golden.padding.end(), std::uint8_t{1});
  for (std::size_t h = 0; h < expected.size(); ++h) {
    const std::vector<HeadScore>& scores = heads[static_cast<std::size_t>(info.heads) + h].scores;
    CHECK(*scores[0].mean == doctest::Approx(*expected[h].output_change).epsilon(1e-5));
    CHECK(*scores[1].mean == doctest::Approx(*expected[h].norm_share).epsilon(1e-5));
    CHECK(*scores[2].mean == doctest::Approx(*expected[h].cosine).epsilon(1e-5));
    CHECK(*scores[3].mean == doctest::Approx(*expected[h].output_change / std::sqrt(square)).epsilon(1e-5));
    CHECK(scores[0].n_valid == rows);
  }
}

TEST_CASE("a head's share of its layer's output: the output's bias is part of that, by PyTorch's maps of GPT-2") {
  const GoldenModel golden("gpt2");
  Tensor normal = HiddenOf(golden);
  const Tensor gamma = golden.Parameter("transformer.h.1.ln_1.weight"),
               beta = golden.Parameter("transformer.h.1.ln_1.bias");
  for (Index t = 0; t < normal.shape()[0]; ++t) {
    double mean = 0.0, variance = 0.0;
    for (Index e = 0; e < 24; ++e) mean += double{normal.view<2>()(t, e)} / 24;
    for (Index e = 0; e < 24; ++e) variance += std::pow(double{normal.view<2>()(t, e)} - mean, 2) / 24;
    for (Index e = 0; e < 24; ++e)
      normal.view<2>()(t, e) = static_cast<float>((double{normal.view<2>()(t, e)} - mean) / std::sqrt(variance + 1e-5) *
                                                      double{gamma.data()[e]} +
                                                  double{beta.data()[e]});
  }
  // The first is [in, 3 · out] with q, k and v next to each other, the second [in, out].
  const Tensor qkv = golden.Parameter("transformer.h.1.attn.c_attn.weight"),
               qkv_bias = golden.Parameter("transformer.h.1.attn.c_attn.bias"),
               projection = golden.Parameter("transformer.h.1.attn.c_proj.weight"),
               bias = golden.Parameter("transformer.h.1.attn.c_proj.bias");
  REQUIRE(MaxNorm(bias.values()) > 0.01);
  const auto v = Projected(
      normal, [&](Index in, Index out) { return double{qkv.view<2>()(in, 48 + out)}; }, qkv_bias.values().subspan(48));
  CheckImportance(
      golden,
      ImportanceByHand(golden, v, [&](Index out, Index in) { return double{projection.view<2>()(in, out)}; }, bias));
  CHECK(std::ranges::equal(golden.model.OutputBias(1), bias.values()));
  CHECK(BuiltInModel().OutputBias(0).empty());
  CHECK_THROWS_AS(golden.model.OutputBias(2), Error);
}

TEST_CASE("a head's share of its layer's output: padding is no part of it, by PyTorch's maps of BERT") {
  const GoldenModel golden("bert");
  REQUIRE(std::count(golden.padding.begin(), golden.padding.end(), std::uint8_t{1}) > 0);
  const std::string layer = "bert.encoder.layer.1.attention.";
  const Tensor value = golden.Parameter(layer + "self.value.weight"),
               value_bias = golden.Parameter(layer + "self.value.bias"),
               projection = golden.Parameter(layer + "output.dense.weight"),
               bias = golden.Parameter(layer + "output.dense.bias");
  const auto v = Projected(
      HiddenOf(golden), [&](Index in, Index out) { return double{value.view<2>()(out, in)}; }, value_bias.values());
  CheckImportance(
      golden,
      ImportanceByHand(golden, v, [&](Index out, Index in) { return double{projection.view<2>()(out, in)}; }, bias));

  // The same from a pass without the head. Rows of padding do not count.
  const auto heads =
      ScoreHeads(HeadsOf(golden.model, std::span(&golden.input, 1)), {.metrics = {"ablation_output"}}).value();
  const Tensor mask({3, 4}, std::vector<float>(12, 1.0f));
  mask.view<2>()(2, 1) = 0.0f;
  const ModelAttention whole = golden.model.Attend(golden.input),
                       without = golden.model.Attend(golden.input, {.head_mask = mask.view<2>()});
  double difference = 0.0, norm = 0.0;
  for (Index t = 0; t < whole.length(); ++t) {
    for (Index e = 0; e < 24 && !golden.padding[static_cast<std::size_t>(t)]; ++e) {
      const double x = double{whole.hidden().view<2>()(t, e)};
      difference += std::pow(x - double{without.hidden().view<2>()(t, e)}, 2);
      norm += x * x;
    }
  }
  CHECK(*heads[2 * 4 + 1].scores[0].mean == doctest::Approx(std::sqrt(difference / norm)).epsilon(1e-6));
}

TEST_CASE("copying: of the whole vocabulary, the norms folded in, once for all texts") {
  const GoldenModel golden("gpt2");
  const std::vector<std::int32_t> other = {5, 6, 7};
  const std::vector<ModelInput> inputs = {golden.input, {.ids = other}};
  const auto heads = ScoreHeads(HeadsOf(golden.model, inputs), {.metrics = {"copying", "self"}}).value();
  // Folded by hand: the first norm's scale into the embeddings that layer 1 reads, and the last norm's scale into those
  // that it writes to. In GPT-2 both are the same table.
  const Tensor table = golden.Parameter("transformer.wte.weight"),
               first = golden.Parameter("transformer.h.1.ln_1.weight"),
               last = golden.Parameter("transformer.ln_f.weight");
  Tensor embedding = table.Clone(), unembedding = table.Clone();
  for (Index i = 0; i < table.size(); ++i) {
    embedding.data()[i] *= first.data()[i % 24];
    unembedding.data()[i] *= last.data()[i % 24];
  }
  const Tensor q = golden.model.Weights(1, Projection::kQuery), k = golden.model.Weights(1, Projection::kKey),
               v = golden.model.Weights(1, Projection::kValue), o = golden.model.Weights(1, Projection::kOutput);
  const LayerWeights layer{q.view<2>(), k.view<2>(), v.view<2>(), o.view<2>(), 3, 3};
  const Matrix vocabulary = VocabularyProduct(embedding.view<2>(), unembedding.view<2>());
  for (Index head = 0; head < 3; ++head) {
    const HeadScore& score = heads[static_cast<std::size_t>(3 + head)].scores[0];
    const auto eigenvalues = FullEigenvalues(CircuitKind::kOv, HeadOf(layer, head), vocabulary);
    CHECK(*score.mean == doctest::Approx(*CopyingScore(eigenvalues)).epsilon(1e-5));
    CHECK(score.texts == 1);
    CHECK(heads[static_cast<std::size_t>(3 + head)].scores[1].texts == 2);
  }
  // BERT has an extra layer before the logits, and its norms follow the residual sums.
  const GoldenModel bert("bert");
  CHECK(
      !ScoreHeads(HeadsOf(bert.model, std::span(&bert.input, 1)), {.metrics = {"copying"}}).value()[0].scores[0].mean);
  CHECK(bert.model.FinalNorm() == nullptr);
  CHECK(golden.model.FinalNorm()->values()[3] == last.data()[3]);
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
    // Metrics that look ahead or are for images have no value for a text.
    const bool defined = names[m] != "next" && names[m] != "patch_distance";
    for (const ScoredHead& head : heads) {
      CHECK_MESSAGE(head.scores[m].mean.has_value() == defined, names[m]);
      if (defined) CHECK_MESSAGE(std::isfinite(*head.scores[m].mean), names[m]);
    }
  }
}

}  // namespace
}  // namespace headlens::testing
