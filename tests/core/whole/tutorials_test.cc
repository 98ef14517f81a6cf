// SPDX-License-Identifier: Apache-2.0
/// The numbers that the tutorials print, computed by both backends.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "headlens/image.h"
#include "headlens/metrics.h"
#include "headlens/model.h"
#include "headlens/multihead.h"
#include "headlens/problem.h"
#include "headlens/safetensors.h"
#include "headlens/transformer.h"
#include "support.h"

namespace headlens::testing {
namespace {

const char* const kBackendOptions[] = {R"({"backend": "reference"})", R"({"backend": "simd"})"};

std::vector<std::byte> Case(const std::string& name) {
  return ReadFile(HEADLENS_GOLDEN_DIR "/cases/" + name + ".safetensors");
}

float At(const Tensor& tensor, std::initializer_list<Index> index) {
  Index offset = 0;
  std::size_t dim = 0;
  for (const Index i : index) offset = offset * tensor.shape()[dim++] + i;
  return tensor.data()[offset];
}

/// The softmax of a row of scores, as attention of a query of 1 with keys of one number, which are the scores.
std::vector<float> Softmax(const Backend& backend, const std::vector<float>& scores) {
  const auto n = static_cast<Index>(scores.size());
  const Tensor q({1, 1, 1, 1}, std::vector<float>{1.0f}), k({1, 1, n, 1}, scores);
  Tensor weights({1, 1, 1, n});
  AttentionProblem problem;
  problem.q = q.view<4>();
  problem.k = k.view<4>();
  AttentionResults results;
  results.weights = weights.view<4>();
  backend.Attention(problem, results);
  return {weights.data(), weights.data() + n};
}

/// weights · values, as attention with scores ln(weight).
std::vector<float> Blend(const Backend& backend, const std::vector<float>& weights, const std::vector<float>& values,
                         Index width) {
  const auto n = static_cast<Index>(weights.size());
  std::vector<float> logs;
  for (const float weight : weights) logs.push_back(std::log(weight));
  const Tensor q({1, 1, 1, 1}, std::vector<float>{1.0f}), k({1, 1, n, 1}, logs), v({1, 1, n, width}, values);
  Tensor output({1, 1, 1, width});
  AttentionProblem problem;
  problem.q = q.view<4>();
  problem.k = k.view<4>();
  problem.v = v.view<4>();
  AttentionResults results;
  results.output = output.view<4>();
  backend.Attention(problem, results);
  return {output.data(), output.data() + width};
}

TEST_CASE("T0.1: cat sat on mat, every matrix from the embeddings to what they become") {
  const std::vector<std::byte> file = Case("t0_1_cat_sat_on_mat");
  const Tensor embeddings = ToFloat(Safetensors(file).Find("query").value());
  const float rows[4][4] = {{0.21f, 0.85f, 0.14f, 0.62f},
                            {0.45f, 0.33f, 0.71f, 0.18f},
                            {0.05f, 0.12f, 0.88f, 0.09f},
                            {0.19f, 0.79f, 0.22f, 0.58f}};
  CHECK(embeddings.shape() == Shape{4, 4});
  CHECK(std::memcmp(embeddings.data(), rows, sizeof rows) == 0);
  for (const char* backend : kBackendOptions) {
    const Results results = ReadCase(file).Run(backend);
    for (const char* stage : {"q", "k", "v", "scores", "weights", "head_outputs", "output"})
      CHECK(results.contains(stage));
    // Computed by hand from the q and k that are returned: one score, and one row of weights.
    const Tensor &q = results.at("q"), &k = results.at("k"), &weights = results.at("weights");
    double score = 0.0;
    for (Index i = 0; i < 4; ++i) score += double{At(q, {0, 0, i})} * double{At(k, {0, 1, i})};
    CHECK(At(results.at("scores"), {0, 0, 1}) == doctest::Approx(score).epsilon(1e-6));
    double sum = 0.0, cell = 0.0;
    for (Index s = 0; s < 4; ++s) sum += std::exp(double{At(results.at("scaled_scores"), {0, 0, s})});
    cell = std::exp(double{At(results.at("scaled_scores"), {0, 0, 1})}) / sum;
    CHECK(At(weights, {0, 0, 1}) == doctest::Approx(cell).epsilon(1e-6));
  }
}

TEST_CASE("T0.2: the shapes' walk, (2,4,8) to (2,4,2,4) to (2,2,4,4) and back") {
  const std::vector<std::byte> file = Case("t0_3_per_head_weights");
  const Tensor x = ToFloat(Safetensors(file).Find("query").value());
  CHECK(x.shape() == Shape{2, 4, 8});
  // Splitting is arithmetic on strides: element (b, h, t, i) is x(b, t, h · 4 + i), exactly the same number.
  const View<float, 4> split = SplitHeads(x.view<3>(), 2);
  CHECK(split.shape == std::array<Index, 4>{2, 2, 4, 4});
  for (Index b = 0; b < 2; ++b)
    for (Index h = 0; h < 2; ++h)
      for (Index t = 0; t < 4; ++t) CHECK(split.at(b, h, t) == x.view<3>().at(b, t, h * 4));
  for (const char* backend : {"reference", "simd"}) {
    const Results results = ReadCase(file).Run(std::string(R"({"stages": ["q", "k", "v", "scores", "head_outputs"],
      "backend": ")") + backend + "\"}");
    for (const char* stage : {"q", "k", "v", "scores", "head_outputs"})
      CHECK(results.at(stage).shape() == Shape{2, 2, 4, 4});
    CHECK(results.at("output").shape() == Shape{2, 4, 8});
  }
}

TEST_CASE("T0.3: the built-in layer's weights, per head and not averaged") {
  for (const char* backend : kBackendOptions) {
    const Results results = ReadCase(Case("t0_3_per_head_weights")).Run(backend);
    const Tensor& weights = results.at("weights");
    CHECK(weights.shape() == Shape{2, 2, 4, 4});
    CHECK_FALSE(std::equal(weights.data(), weights.data() + 16, weights.data() + 16));
  }
}

TEST_CASE("T0.4: the causal triangle, before the softmax, in each head by itself") {
  for (const char* backend : kBackendOptions) {
    const Results causal = ReadCase(Case("t0_4_causal")).Run(backend);
    for (Index b = 0; b < 2; ++b)
      for (Index h = 0; h < 2; ++h)
        for (Index t = 0; t < 4; ++t) {
          double sum = 0.0;
          for (Index s = 0; s < 4; ++s) {
            sum += double{At(causal.at("weights"), {b, h, t, s})};
            const bool above = s > t;
            CHECK((At(causal.at("weights"), {b, h, t, s}) == 0.0f) == above);
            CHECK(std::isinf(At(causal.at("masked_scores"), {b, h, t, s})) == above);
          }
          CHECK(sum == doctest::Approx(1.0).epsilon(1e-6));
        }
  }
}

TEST_CASE("T1.1: self-attention with padding and the causal flag, (4,16,128), H8") {
  const Index lengths[] = {16, 11, 7, 3};
  for (const char* backend : kBackendOptions) {
    const Results results = ReadCase(Case("t1_1_padding_and_causal")).Run(backend);
    CHECK(results.at("output").shape() == Shape{4, 16, 128});
    const Tensor& weights = results.at("weights");
    REQUIRE(weights.shape() == Shape{4, 8, 16, 16});
    for (Index b = 0; b < 4; ++b)
      for (Index h = 0; h < 8; ++h)
        for (Index t = 0; t < 16; ++t) {
          double sum = 0.0;
          for (Index s = 0; s < 16; ++s) {
            CHECK((At(weights, {b, h, t, s}) == 0.0f) == (s > t || s >= lengths[b]));
            sum += double{At(weights, {b, h, t, s})};
          }
          CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
        }
  }
}

TEST_CASE("T1.3: cross-attention, (2,12,256) on (2,20,256), H8") {
  for (const char* backend : kBackendOptions) {
    const Results cross = ReadCase(Case("t1_3_cross_attention")).Run(backend);
    CHECK(cross.at("output").shape() == Shape{2, 12, 256});
    CHECK(cross.at("weights").shape() == Shape{2, 8, 12, 20});
  }
}

TEST_CASE("T1.4: a width that the heads do not divide is an error that names both") {
  std::string message;
  try {
    Problem("multihead_attention", R"({"embed_dim": 130, "num_heads": 8})").ParameterCount();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kShape);
    message = error.what();
  }
  for (const char* word : {"embed_dim", "130", "num_heads", "8"}) CHECK(message.find(word) != std::string::npos);
}

TEST_CASE("T1.5: a row with nothing to look at gives zeros, never NaN") {
  for (const char* backend : kBackendOptions) {
    const std::vector<std::byte> file = Case("t1_5_fully_masked_row");
    const Results masked = ReadCase(file).Run(backend);
    const Tensor& weights = masked.at("weights");
    Index zero_rows = 0;
    for (Index row = 0; row < weights.size() / 4; ++row) {
      const std::span<const float> cells = weights.values().subspan(static_cast<std::size_t>(row) * 4, 4);
      for (const float cell : cells) CHECK_FALSE(std::isnan(cell));
      zero_rows += std::all_of(cells.begin(), cells.end(), [](float cell) { return cell == 0.0f; });
    }
    // Row 2 of batch 0 and all four rows of batch 1, in both heads.
    CHECK(zero_rows == 10);
    for (const float value : masked.at("output").values()) CHECK(std::isfinite(value));
  }
}

TEST_CASE("T4.1: valid lengths, X (2,4,100) on Y (2,6,100), H5, lengths [3,2]") {
  for (const char* backend : kBackendOptions) {
    const Results lengths = ReadCase(Case("t4_1_valid_lens")).Run(backend);
    CHECK(lengths.at("output").shape() == Shape{2, 4, 100});
    for (Index b = 0; b < 2; ++b)
      for (Index h = 0; h < 5; ++h)
        for (Index t = 0; t < 4; ++t)
          for (Index s = 0; s < 6; ++s)
            CHECK((At(lengths.at("weights"), {b, h, t, s}) == 0.0f) == (s >= (b == 0 ? 3 : 2)));
  }
}

TEST_CASE("T1.5: dropout on the weights is seeded and off by default") {
  const std::vector<std::byte> file = Case("t1_3_cross_attention");
  const auto output = [&](const char* options) { return ReadCase(file).Run(options).at("output").Clone(); };
  const Tensor plain = output("{}"), dropped = output(R"({"dropout_p": 0.5, "seed": 7})"),
               again = output(R"({"dropout_p": 0.5, "seed": 7})"), other = output(R"({"dropout_p": 0.5, "seed": 8})");
  CheckClose("same seed", again.values(), dropped.values(), 0.0);
  CHECK_FALSE(std::equal(plain.values().begin(), plain.values().end(), dropped.values().begin()));
  CHECK_FALSE(std::equal(other.values().begin(), other.values().end(), dropped.values().begin()));
}

/// The means over `texts` of some metrics of one head of a model.
std::vector<double> Scores(const Model& model, const std::vector<std::vector<std::int32_t>>& texts, Index layer,
                           Index head, std::initializer_list<std::string_view> names) {
  std::vector<double> means(names.size());
  for (const std::vector<std::int32_t>& ids : texts) {
    const ModelAttention attention = model.Attend(ids);
    const Index length = attention.length();
    const Tensor weights({1, length, length});
    attention.Map(layer, head, {}, DenseView(weights.data(), std::array{length, length}));
    const MapInfo info{.causal = true, .tokens = ids, .repeat = FindRepeat(ids)};
    const std::vector<MetricValue> scores = HeadMetrics(weights.view<3>(), info, std::vector(names))[0];
    for (std::size_t i = 0; i < means.size(); ++i)
      means[i] += scores[i].value.value() / static_cast<double>(texts.size());
  }
  return means;
}

TEST_CASE(
    "T2.2: heads that specialise: previous token, induction [A][B]...[A] to [B], spread wide, a link of its own") {
  const std::string folder = HEADLENS_GOLDEN_DIR "/../../web/models/tiny/";
  const std::vector<std::byte> config = ReadFile(folder + "config.json"),
                               weights = ReadFile(folder + "model.safetensors"),
                               golden = ReadFile(HEADLENS_GOLDEN_DIR "/built_in/tiny.safetensors");
  const Safetensors tensors(weights);
  const StateDict state = tensors;
  const std::string_view text(reinterpret_cast<const char*>(config.data()), config.size());
  // <s> and 32 random tokens, twice.
  const RawTensor ids = Safetensors(golden).Find("repeats").value();
  std::vector<std::vector<std::int32_t>> repeated(4, std::vector<std::int32_t>(static_cast<std::size_t>(ids.shape[1])));
  for (std::size_t i = 0; i < repeated.size(); ++i)
    std::memcpy(repeated[i].data(), ids.data + i * repeated[i].size() * 4, repeated[i].size() * 4);
  // <s>The queen saw the king and she laughed.
  const std::vector<std::int32_t> sentence = {0, 294, 1329, 1421, 261, 1177, 291, 370, 1850, 14};
  const KnownHead back = BestHead("previous token"), copies = BestHead("induction"),
                  finds = BestHead("antecedent of a pronoun");
  for (const Backend* backend : TestBackends()) {
    const Model model(text, state, *backend);
    const std::vector<double> looks_back = Scores(model, repeated, back.layer, back.head,
                                                  {"previous", "induction", "entropy_normalized"}),
                              induces = Scores(model, repeated, copies.layer, copies.head, {"previous", "induction"}),
                              spreads = Scores(model, repeated, 0, 3, {"entropy_normalized"});
    CHECK(looks_back[0] > 0.95);
    CHECK(looks_back[1] < 0.05);
    CHECK(looks_back[2] < 0.1);
    CHECK(induces[0] < 0.1);
    CHECK(induces[1] > 0.8);
    CHECK(spreads[0] > 0.6);
    const ModelAttention attention = model.Attend(sentence);
    Tensor map({10, 10});
    attention.Map(finds.layer, finds.head, {}, map.view<2>());
    CHECK(At(map, {6, 2}) > 0.9f);  // before "she", "and" looks at the queen, not at the king
    CHECK(At(map, {6, 5}) < 0.05f);
  }
}

TEST_CASE("T3.1: PyTorch's seed 123, the printed weights") {
  const double printed[4][4] = {{0.2352, 0.2783, 0.2205, 0.2659},
                                {0.2094, 0.3100, 0.2795, 0.2011},
                                {0.3360, 0.2504, 0.2338, 0.1797},
                                {0.3234, 0.2881, 0.2501, 0.1385}};
  // The first and the last four of the embeddings that the tutorial prints.
  const std::vector<std::byte> file = Case("t3_1_from_embeddings");
  const Tensor x = ToFloat(Safetensors(file).Find("query").value());
  const double first[] = {0.3374, -0.1778, -0.3035, -0.5880}, last[] = {-0.6596, -0.7979, 0.1838, 0.2293};
  for (Index i = 0; i < 4; ++i) {
    CHECK(std::abs(double{At(x, {0, i})} - first[i]) <= 0.5e-4 + 1e-7);
    CHECK(std::abs(double{At(x, {3, 12 + i})} - last[i]) <= 0.5e-4 + 1e-7);
  }
  for (const char* backend : kBackendOptions) {
    const Results results = ReadCase(Case("t3_1_self_attention")).Run(backend),
                  layer = ReadCase(Case("t3_1_from_embeddings")).Run(backend);
    for (Index t = 0; t < 4; ++t)
      for (Index s = 0; s < 4; ++s) {
        CHECK(std::abs(At(results.at("weights"), {t, s}) - printed[t][s]) <= 0.5e-4 + 1e-7);
        CHECK(std::abs(At(layer.at("weights"), {0, t, s}) - printed[t][s]) <= 0.5e-4 + 1e-7);
      }
  }
}

TEST_CASE("T3.2: the worked numbers") {
  for (const Backend* backend : TestBackends()) {
    const std::vector<float> soft = Softmax(*backend, {2, 1, 0});
    const double rounded[] = {0.67, 0.24, 0.09};
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(soft[i] - rounded[i]) <= 0.005 + 1e-6);
    const auto check = [&](const std::vector<float>& got, double first, double second) {
      CHECK(got[0] == doctest::Approx(first).epsilon(1e-5));
      CHECK(got[1] == doctest::Approx(second).epsilon(1e-5));
    };
    check(Blend(*backend, {0.7f, 0.2f, 0.1f}, {2, 0, 0, 2, 1, 1}, 2), 1.5, 0.5);
    check(Blend(*backend, {0.6f, 0.3f, 0.1f}, {1, 0, 0, 2, 3, 1}, 2), 0.9, 0.7);

    const Tensor q({1, 1, 1, 2}, std::vector<float>{2, 1}), k({1, 1, 2, 2}, std::vector<float>{2, 1, 0, 1});
    Tensor scores({1, 1, 1, 2});
    AttentionProblem problem;
    problem.q = q.view<4>();
    problem.k = k.view<4>();
    AttentionResults results;
    results.scores = scores.view<4>();
    backend->Attention(problem, results);
    check({scores.data(), scores.data() + 2}, 5, 1);
  }
  CHECK(8 * DefaultScale(4) == doctest::Approx(4));
  CHECK(32 * DefaultScale(64) == doctest::Approx(4));
}

TEST_CASE("T3.3: multi-head by hand: heads (4, 4, 4), joined (4, 16)") {
  for (const char* backend : kBackendOptions) {
    const Results results = ReadCase(Case("t3_3_multi_head")).Run(backend);
    for (const char* stage : {"q", "k", "v", "scores", "weights", "head_outputs"})
      CHECK(results.at(stage).shape() == Shape{4, 4, 4});
    CHECK(results.at("output").shape() == Shape{4, 16});
    // The output is the sum of the heads' contributions, since there is no bias.
    const Tensor& parts = results.at("head_contributions");
    CHECK(parts.shape() == Shape{4, 4, 16});
    for (Index t = 0; t < 4; ++t)
      for (Index i = 0; i < 16; ++i) {
        double sum = 0.0;
        for (Index h = 0; h < 4; ++h) sum += double{At(parts, {h, t, i})};
        CHECK(std::abs(sum - double{At(results.at("output"), {t, i})}) <= 64 * kEpsilon * MaxNorm(parts.values()));
      }
  }
}

TEST_CASE("T3.4: the heatmap, a row for each query, a column for each key, and its colour bar") {
  const Results results = ReadCase(Case("t3_1_self_attention")).Run();
  const Tensor& weights = results.at("weights");
  std::vector<std::uint8_t> pixels(4 * 4 * 4);
  ColorOptions options;
  options.min = 0.0f;
  options.max = 1.0f;
  Colorize(weights.view<2>(), options, pixels);
  const auto lightness = [](const Rgba& colour) {
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2];
  };
  double previous = 256.0;
  for (int step = 0; step <= 8; ++step) {  // the larger the value, the darker the bar
    const double now = lightness(ColorAt(options.colormap, options.theme, static_cast<float>(step) / 8));
    CHECK(now < previous);
    previous = now;
  }
  for (Index t = 0; t < 4; ++t)
    for (Index s = 0; s < 4; ++s) {
      const Rgba expected = ColorAt(options.colormap, options.theme, At(weights, {t, s}));
      CHECK(std::equal(expected.begin(), expected.end(), pixels.begin() + (t * 4 + s) * 4));
    }
  // The map is not its mirror image: token 0 looks at token 3 more than token 3 looks at itself.
  CHECK(At(weights, {0, 3}) > At(weights, {3, 3}));
}

TEST_CASE("T4.2: splitting and merging heads by strides gives the numbers of the fused path") {
  const std::vector<std::byte> file = Case("t4_2_split_and_merge");
  for (const Backend* backend : TestBackends()) {
    const Results results = ReadCase(file).Run();
    // [B, T, D] before the split into heads, which lie next to each other.
    const auto joined = [&](const char* name) {
      Tensor out({2, 6, 20});
      const View<float, 4> from = results.at(name).view<4>(), to = SplitHeads(out.view<3>(), 5);
      for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 5; ++h)
          for (Index t = 0; t < 6; ++t) std::copy_n(from.at(b, h, t), 4, to.at(b, h, t));
      return out;
    };
    const Tensor q = joined("q"), k = joined("k"), v = joined("v"), merged({2, 6, 20});
    AttentionProblem problem;
    problem.q = SplitHeads(q.view<3>(), 5);
    problem.k = SplitHeads(k.view<3>(), 5);
    problem.v = SplitHeads(v.view<3>(), 5);
    problem.scale = DefaultScale(4);
    AttentionResults heads;
    heads.output = SplitHeads(merged.view<3>(), 5);
    backend->Attention(problem, heads);
    const Tensor expected = joined("head_outputs");
    CheckClose("merged", merged.values(), expected.values(), 32 * kEpsilon * MaxNorm(expected.values()));
  }
}

TEST_CASE("T4.2: the feed-forward block by itself, and within a layer whose attention is silent") {
  const std::vector<std::byte> file = Case("t4_2_feed_forward");
  const Safetensors tensors(file);
  const StateDict state = tensors;
  const Tensor src = ToFloat(tensors.Find("src").value()), norm_weight = ToFloat(tensors.Find("norm2.weight").value()),
               norm_bias = ToFloat(tensors.Find("norm2.bias").value());
  const Tensor expected = ToFloat(tensors.Find("expected.output").value());
  const Index rows = src.size() / 12;
  for (const Backend* backend : TestBackends()) {
    const FeedForward block(state, 12, 20, Activation::kRelu, true, *backend);
    const Tensor normal({rows, 12}), out({rows, 12});
    const View<const float, 2> x = DenseView<const float, 2>(src.data(), {rows, 12});
    backend->LayerNorm(x, norm_weight.values(), norm_bias.values(), 1e-5f, normal.view<2>());
    block.Forward(normal.view<2>(), out.view<2>());
    backend->Add(out.values(), src.values());
    CheckClose("feed-forward", out.values(), expected.values(), 64 * kEpsilon * MaxNorm(expected.values()));
  }
}

}  // namespace
}  // namespace headlens::testing
