// SPDX-License-Identifier: Apache-2.0
#include "headlens/metrics.h"

#include <cmath>
#include <limits>

#include "support.h"

namespace headlens::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A square map in which query i looks only at key target(i), or at key 0 when there is no such key.
template <class Target>
Tensor Pointing(Index length, const Target& target) {
  Tensor weights({length, length}, std::vector<float>(static_cast<std::size_t>(length * length), 0.0f));
  for (Index i = 0; i < length; ++i) {
    const Index j = target(i);
    weights.view<2>()(i, j >= 0 && j < length ? j : 0) = 1.0f;
  }
  return weights;
}

Tensor CausalUniform(Index length) {
  Tensor weights({length, length}, std::vector<float>(static_cast<std::size_t>(length * length), 0.0f));
  for (Index i = 0; i < length; ++i)
    for (Index j = 0; j <= i; ++j) weights.view<2>()(i, j) = 1.0f / static_cast<float>(i + 1);
  return weights;
}

MetricValue Compute(std::string_view name, const Tensor& weights, const MapInfo& info = {}) {
  return FindMetric(name).function(HeadMap(weights.view<2>(), info));
}

/// The value of a metric, which must exist.
double Value(std::string_view name, const Tensor& weights, const MapInfo& info = {}) {
  const MetricValue result = Compute(name, weights, info);
  REQUIRE_MESSAGE(result.value.has_value(), name);
  CHECK(result.n_valid > 0);
  return *result.value;
}

doctest::Approx About(double expected) { return doctest::Approx(expected).epsilon(1e-6); }

const std::vector<std::int32_t> kRepeated = {9, 4, 7, 1,      4 + 16, 7 + 16,
                                             4, 7, 1, 4 + 16, 7 + 16};  // [9][s][s], |s| = 5

TEST_CASE("perfect heads score 1, and are found by no other pattern") {
  MapInfo info{.causal = true, .tokens = kRepeated, .repeat = FindRepeat(kRepeated)};
  REQUIRE(info.repeat.begin == 1);
  REQUIRE(info.repeat.length == 5);
  const Index length = 11;
  const Tensor self = Pointing(length, [](Index i) { return i; });
  const Tensor previous = Pointing(length, [](Index i) { return i - 1; });
  const Tensor duplicate = Pointing(length, [](Index i) { return i >= 6 ? i - 5 : 0; });
  const Tensor induction = Pointing(length, [](Index i) { return i >= 6 ? i - 4 : 0; });
  CHECK(Value("self", self, info) == 1.0);
  CHECK(Value("previous", previous, info) == 1.0);
  CHECK(Value("previous_abs", previous, info) == About(1.0 - 1.0 / 11));  // row 0 looks at itself
  CHECK(Value("duplicate", duplicate, info) == 1.0);
  CHECK(Value("duplicate_text", duplicate, info) == About(5.0 / 11));  // the first copy has nothing to find
  CHECK(Value("induction", induction, info) == 1.0);
  CHECK(Value("induction_text", induction, info) == 1.0);
  CHECK(Value("induction_text_loose", induction, info) == 1.0);
  CHECK(Value("induction_match", induction, info) == About(5.0 / 11));
  CHECK(Value("induction_diagonal", induction, info) == About(6.0 / 7));  // row 4 finds BOS there, and row 5 nothing
  CHECK(Value("previous", induction, info) == About(1.0 / 10));           // row 1 looks at BOS, its neighbour
  CHECK(Value("induction", previous, info) == 0.0);
  CHECK(Value("self", previous, info) == About(1.0 / 11));
  CHECK(Compute("induction", induction, info).n_valid == 5);
  CHECK(Compute("previous", previous, info).n_valid == 10);
}

TEST_CASE("looking ahead is defined only where a query may") {
  const Tensor next = Pointing(6, [](Index i) { return i + 1; });
  CHECK(Value("next", next) == 1.0);
  CHECK(Compute("next", next).n_valid == 5);
  CHECK(!Compute("next", CausalUniform(6), {.causal = true}).value);
  CHECK(Value("offset", next) == About((5.0 * 1 - 5) / 6));  // five look ahead by 1, and the last back by 5
}

TEST_CASE("induction in any text: sums over prior occurrences, the threshold, and the query itself") {
  // The tokens are a b a a b: query 2 finds a at 0, query 3 finds a at 0 and 2, and query 4 finds b at 1.
  const std::vector<std::int32_t> tokens = {1, 2, 1, 1, 2};
  const Tensor weights({5, 5}, std::vector<float>{1.0f, 0,     0,      0,     0,  //
                                                  0.5f, 0.5f,  0,      0,     0,  //
                                                  0.3f, 0.5f,  0.2f,   0,     0,  //
                                                  0.1f, 0.25f, 0.3f,   0.35f, 0,  //
                                                  0.5f, 0.4f,  0.009f, 0.05f, 0.041f});
  const MapInfo info{.causal = true, .tokens = tokens};
  // Strict: query 2 at 1, query 3 at 1 (3 is itself), and query 4 at 2 with a weight below 0.01.
  CHECK(Value("induction_text", weights, info) == About((0.5 + 0.25 + 0.0) / 3));
  CHECK(Value("induction_text_loose", weights, info) == About((0.5 + 0.25 + 0.35 + 0.0) / 3));
  CHECK(Compute("induction_text", weights, info).n_valid == 3);
  CHECK(Value("duplicate_text", weights, info) == About((0.3 + 0.1 + 0.3 + 0.4) / 5));
  const std::vector<std::int32_t> distinct = {1, 2, 3, 4, 5};
  CHECK(!Compute("induction_text", weights, {.causal = true, .tokens = distinct}).value);
  // Two equal neighbours alone give no strict candidate.
  const std::vector<std::int32_t> pair = {1, 2, 3, 4, 4};
  CHECK(!Compute("induction_text", weights, {.causal = true, .tokens = pair}).value);
  CHECK(Value("induction_text_loose", weights, {.causal = true, .tokens = pair}) == About(0.041));
}

TEST_CASE("induction in any text: 0.01 is compared as the fp32 number that weights are") {
  const std::vector<std::int32_t> tokens = {1, 2, 1};
  const auto score = [&](float weight) {
    const Tensor weights({3, 3}, std::vector<float>{1, 0, 0, 1, 0, 0, 1.0f - weight, weight, 0});
    return Value("induction_text", weights, {.causal = true, .tokens = tokens});
  };
  CHECK(score(0.01f) == double{0.01f});
  CHECK(score(std::nextafter(0.01f, 0.0f)) == 0.0);
}

TEST_CASE("how well a map fits a pattern: both measures, without the first column, without the diagonal") {
  const std::vector<std::int32_t> tokens = {1, 2, 1, 2};
  const Tensor weights({4, 4}, std::vector<float>{1.0f, 0, 0, 0,        //
                                                  0.5f, 0.5f, 0, 0,     //
                                                  0.4f, 0.4f, 0.2f, 0,  //
                                                  0.1f, 0.2f, 0.6f, 0.1f});
  const HeadMap map(weights.view<2>(), {.causal = true, .tokens = tokens});
  struct Expected {
    HeadPattern pattern;
    double mul[4], abs[4];  // all cells; without column 0; without the diagonal; without both
  };
  for (const auto& [pattern, mul, abs] :
       {Expected{HeadPattern::kPrevious, {1.5 / 4, 1.0 / 2, 1.5 / 2.2, 1.0 / 1.2}, {0.0, 0.5, 0.45, 0.7}},
        Expected{HeadPattern::kDuplicate, {0.6 / 4, 0.2 / 2, 0.6 / 2.2, 0.2 / 1.2}, {-0.2, 0.35, 0.25, 0.55}},
        Expected{HeadPattern::kInduction, {1.0 / 4, 1.0 / 2, 1.0 / 2.2, 1.0 / 1.2}, {0.0, 0.5, 0.45, 0.7}}}) {
    for (int excluded = 0; excluded < 4; ++excluded) {
      DetectOptions options{.exclude_first = excluded % 2 == 1, .exclude_current = excluded >= 2};
      CHECK(*DetectHead(map, pattern, options).value == About(mul[excluded]));
      options.absolute = true;
      CHECK(*DetectHead(map, pattern, options).value + 1.0 == About(abs[excluded] + 1.0));
      CHECK(DetectHead(map, pattern, options).n_valid == 4);
    }
  }
  CHECK(Value("previous_match", weights, map.info()) == About(1.5 / 4));
  // A cell that is left out does not count as a miss: the second of two equal tokens has its pattern on the diagonal.
  const std::vector<std::int32_t> pair = {1, 1};
  const Tensor two({2, 2}, std::vector<float>{1, 0, 0.25f, 0.75f});
  const HeadMap equal(two.view<2>(), {.causal = true, .tokens = pair});
  CHECK(*DetectHead(equal, HeadPattern::kInduction, {.absolute = true, .exclude_current = true}).value == 0.875);
  CHECK(*DetectHead(equal, HeadPattern::kInduction, {.exclude_current = true}).value == 0.0);
  CHECK(!DetectHead(equal, HeadPattern::kInduction, {.exclude_first = true, .exclude_current = true}).value);
  CHECK(!DetectHead(HeadMap(two.view<2>(), {}), HeadPattern::kDuplicate, {}).value);
}

TEST_CASE("uniform attention has entropy ln n, a pointing head none") {
  for (const Index n : {2, 3, 7, 64}) {
    const Tensor uniform({n, n}, std::vector<float>(static_cast<std::size_t>(n * n), 1.0f / static_cast<float>(n)));
    const double expected = std::log(static_cast<double>(n));
    CHECK(Value("entropy", uniform) == About(expected));
    CHECK(Value("entropy_uniform", uniform) == About(expected));
    CHECK(Value("entropy_normalized", uniform) == About(1.0));
    CHECK(Value("perplexity", uniform) == About(static_cast<double>(n)));
    CHECK(Value("entropy_smoothed", uniform) == About(expected));
    CHECK(Value("sharpness", uniform) == About(1.0 / static_cast<double>(n)));
  }
  const Tensor pointing = Pointing(9, [](Index i) { return i - 1; });
  CHECK(Value("entropy", pointing) == 0.0);
  CHECK(Value("perplexity", pointing) == 1.0);
  CHECK(Value("sharpness", pointing) == 1.0);
  // Causal: row i has entropy ln(i + 1), and the normalised metric leaves row 0 out.
  double mean = 0.0;
  for (int i = 0; i < 9; ++i) mean += std::log(i + 1.0) / 9;
  CHECK(Value("entropy", CausalUniform(9), {.causal = true}) == About(mean));
  CHECK(Value("entropy_normalized", CausalUniform(9), {.causal = true}) == About(1.0));
  CHECK(Compute("entropy_normalized", CausalUniform(9), {.causal = true}).n_valid == 8);
}

TEST_CASE("confidence leaves special columns out; their mass is counted apart") {
  const std::vector<std::uint8_t> special = {1, 0, 0, 1};
  const Tensor weights({4, 4}, std::vector<float>{0.7f, 0.1f, 0.1f, 0.1f,  //
                                                  0.5f, 0.3f, 0.1f, 0.1f,  //
                                                  0.0f, 0.2f, 0.8f, 0.0f,  //
                                                  0.1f, 0.2f, 0.1f, 0.6f});
  const MapInfo info{.special = special};
  CHECK(Value("confidence", weights, info) == About((0.1 + 0.3 + 0.8 + 0.2) / 4));
  CHECK(Value("confidence", weights) == About((0.7 + 0.5 + 0.8 + 0.6) / 4));
  CHECK(Value("sharpness", weights, info) == About((0.7 + 0.5 + 0.8 + 0.6) / 4));
  CHECK(Value("special", weights, info) == About((0.8 + 0.6 + 0.0 + 0.7) / 4));
  CHECK(Value("special_from_special", weights, info) == About((0.8 + 0.7) / 2));
  CHECK(Value("special_from_rest", weights, info) == About(0.6 / 2));
  CHECK(!Compute("special", weights).value);
  const std::vector<std::uint8_t> all = {1, 1, 1, 1};
  CHECK(!Compute("confidence", weights, {.special = all}).value);
  CHECK(!Compute("special_from_rest", weights, {.special = all}).value);
}

TEST_CASE("distances, their variance and sign, and bands around the diagonal") {
  const Tensor back = Pointing(8, [](Index i) { return i - 3; });  // rows 0 to 2 look at key 0
  CHECK(Value("distance", back) == About((0 + 1 + 2 + 5 * 3) / 8.0));
  CHECK(Value("offset", back) == About(-(0 + 1 + 2 + 5 * 3) / 8.0));
  CHECK(Value("distance_variance", back) == About((0 + 1 + 4 + 5 * 9) / 8.0 - 18.0 * 18 / 64));
  CHECK(Value("distance_variance", Pointing(8, [](Index i) { return i; })) == 0.0);
  CHECK(Value("locality_0", back) == About(1.0 / 8));
  CHECK(Value("locality_2", back) == About(3.0 / 8));
  CHECK(Value("locality_4", back) == 1.0);
  // Row 4999 looks back by 0, 1, 2, 4, … 4096, so each band has one of these 14 more than the one before.
  Tensor far({1, 5000}, std::vector<float>(5000, 0.0f));
  far.data()[4999] = 1.0f / 14;
  for (Index distance = 1; distance <= 4096; distance *= 2) far.data()[4999 - distance] = 1.0f / 14;
  int within = 1;
  CHECK(Value("locality_0", far, {.query_offset = 4999}) == About(1.0 / 14));
  for (Index width = 1; width <= 4096; width *= 2)
    CHECK(Value("locality_" + std::to_string(width), far, {.query_offset = 4999}) == About(++within / 14.0));
  const HeadMap map(back.view<2>(), {});
  CHECK(*Locality(map, 3).value == 1.0);
  CHECK_THROWS_AS(Locality(map, -1), Error);
  // A part of a larger map, in which query t is at t + 5.
  const Tensor strip({3, 8}, std::vector<float>(24, 1.0f / 8));
  double expected = 0.0;
  for (int t = 5; t < 8; ++t)
    for (int s = 0; s < 8; ++s) expected += std::abs(t - s) / 24.0;
  CHECK(Value("distance", strip, {.query_offset = 5}) == About(expected));
  CHECK(Value("previous", strip, {.query_offset = 5}) == About(1.0 / 8));
}

TEST_CASE("patch distance: pixels, CLS neither as a row nor as a column, rows not renormalised") {
  // CLS and 2 × 3 patches of 16 pixels. Patch 0 looks half at CLS and half at the opposite corner, and the others at
  // themselves.
  Tensor weights = Pointing(7, [](Index i) { return i; });
  weights.view<2>()(1, 1) = 0.0f;
  weights.view<2>()(1, 0) = weights.view<2>()(1, 6) = 0.5f;
  const MapInfo info{.grid = {.prefix = 1, .columns = 3, .patch_size = 16.0}};
  CHECK(Value("patch_distance", weights, info) == About(16.0 * 0.5 * std::sqrt(5.0) / 6));
  CHECK(Compute("patch_distance", weights, info).n_valid == 6);
  CHECK(!Compute("patch_distance", weights).value);
}

TEST_CASE("sink: what the k-th key gets from itself on") {
  const Tensor weights({4, 4}, std::vector<float>{1.0f, 0, 0, 0,        //
                                                  0.6f, 0.4f, 0, 0,     //
                                                  0.2f, 0.2f, 0.6f, 0,  //
                                                  0.2f, 0.1f, 0.1f, 0.6f});
  const HeadMap map(weights.view<2>(), {.causal = true});
  CHECK(*SinkScore(map, 1).value == About(2.0 / 4));
  CHECK(*SinkScore(map, 2).value == About(0.7 / 3));
  CHECK(*SinkScore(map, 4).value == About(0.6));
  CHECK(!SinkScore(map, 5).value);
  CHECK_THROWS_AS(SinkScore(map, 0), Error);
  CHECK(Value("sink", weights) == About(0.5));
  CHECK(Value("sink_rate", weights) == 1.0);
  const std::vector<MetricValue> alphas = {{0.5, 4}, {0.3, 4}, {}, {0.31, 4}};
  CHECK(*SinkFraction(alphas).value == About(2.0 / 3));
  CHECK(SinkFraction(alphas).n_valid == 3);
  CHECK(!SinkFraction({}).value);
}

TEST_CASE("position: how many rows look most at one same key, and at which") {
  const Tensor weights({4, 4}, std::vector<float>{0.4f, 0.6f, 0, 0,          //
                                                  0, 1, 0, 0,                //
                                                  0.1f, 0.2f, 0.7f, 0,       //
                                                  0.1f, 0.4f, 0.4f, 0.1f});  // two are equal, and the first counts
  CHECK(Value("position", weights) == About(3.0 / 4));
  CHECK(Value("position_key", weights) == 1.0);
  CHECK(Compute("position", weights).n_valid == 4);
  CHECK(Compute("position_key", weights).n_valid == 4);
  const std::uint8_t padded[] = {1, 1, 0, 0};
  CHECK(Value("position", weights, {.padded_queries = padded}) == About(1.0 / 2));
  CHECK(Value("position_key", weights, {.padded_queries = padded}) == 1.0);
  const Tensor masked({2, 2}, std::vector<float>{0, 0, 0, 1});  // a row without weights does not count
  CHECK(Value("position", masked) == About(1.0));
  CHECK(Value("position_key", masked) == 1.0);
}

TEST_CASE("padded and fully masked rows are left out, whatever they hold") {
  // Left padding of two tokens. Rows 0 and 1 hold NaN, and row 4 is fully masked.
  Tensor weights({5, 5}, std::vector<float>(25, 0.0f));
  for (Index j = 0; j < 5; ++j) weights.view<2>()(0, j) = weights.view<2>()(1, j) = kNan;
  weights.view<2>()(2, 2) = 1.0f;
  weights.view<2>()(3, 2) = 0.75f;
  weights.view<2>()(3, 3) = 0.25f;
  const std::vector<std::uint8_t> padding = {1, 1, 0, 0, 0};
  const MapInfo info{.causal = true, .padded_queries = padding, .padded_keys = padding};
  CHECK(Value("self", weights, info) == About(1.25 / 2));
  CHECK(Value("previous", weights, info) == About(0.75));  // row 2 has only padding before it
  CHECK(Compute("previous", weights, info).n_valid == 1);
  CHECK(Value("sink", weights, info) == About(1.75 / 2));  // the first key that is not padded
  CHECK(Value("entropy_uniform", weights, info) == About(std::log(2.0) / 2));
  // The same with a mask that hides everything from those rows, whose NaN is not read.
  std::vector<std::uint8_t> visible(25, 0);
  for (const std::size_t cell : {12u, 17u, 18u}) visible[cell] = 1;
  const MapInfo masked{.visible = DenseView(visible.data(), std::array<Index, 2>{5, 5})};
  CHECK(Value("self", weights, masked) == About(1.25 / 2));
  CHECK(Compute("self", weights, masked).n_valid == 2);
}

TEST_CASE("a sliding window: what is beyond it cannot be looked at") {
  Tensor weights({4, 4}, std::vector<float>(16, 0.0f));
  for (Index i = 0; i < 4; ++i)
    for (Index j = std::max<Index>(i - 1, 0); j <= i; ++j) weights.view<2>()(i, j) = i == 0 ? 1.0f : 0.5f;
  const MapInfo info{.causal = true, .window = 2};
  CHECK(Value("entropy_normalized", weights, info) == About(1.0));
  CHECK(Value("previous", weights, info) == About(0.5));
  CHECK(Compute("sink", weights, info).n_valid == 2);  // the other queries cannot see the first key
  CHECK(Value("sink", weights, info) == About(1.5 / 2));
  CHECK(*SinkScore(HeadMap(weights.view<2>(), info), 3).value == About(0.5));
  CHECK(Refusal(ErrorCode::kValue, [&] { HeadMap(weights.view<2>(), {.causal = true, .window = 1}); }) ==
        "weights[1, 0] is 0.5, expected 0, since that cell is masked");
}

TEST_CASE("every metric: a value or none, never NaN, on maps of all shapes") {
  Random random(7);
  for (const auto& [queries, keys] : {std::pair<Index, Index>{1, 1}, {1, 9}, {9, 1}, {2, 2}, {5, 8}, {16, 16}}) {
    for (const bool causal : {false, true}) {
      const Tensor weights = RandomWeights(random, {queries, keys}, causal);
      std::vector<std::int32_t> tokens;
      std::vector<std::uint8_t> special;
      for (Index s = 0; s < keys; ++s) {
        tokens.push_back(static_cast<std::int32_t>(random.Below(3)));
        special.push_back(random.Chance(0.3));
      }
      const MapInfo full{.causal = causal,
                         .tokens = tokens,
                         .special = special,
                         .repeat = {0, keys / 2},
                         .grid = {.prefix = 1, .columns = keys > 1 ? keys - 1 : 1}};
      for (const MapInfo& info : {MapInfo{}, full}) {
        const HeadMap map(weights.view<2>(), info);
        for (const Metric& metric : Metrics()) {
          const MetricValue result = metric.function(map);
          CHECK_MESSAGE(result.value.has_value() == (result.n_valid > 0), metric.name);
          if (result.value) CHECK_MESSAGE(std::isfinite(*result.value), metric.name);
        }
      }
    }
  }
}

TEST_CASE("one token: only what one token can have") {
  const Tensor one({1, 1}, std::vector<float>{1.0f});
  const std::vector<std::int32_t> token = {3};
  const MapInfo info{.causal = true, .tokens = token};
  CHECK(Value("self", one, info) == 1.0);
  CHECK(Value("entropy", one, info) == 0.0);
  CHECK(Value("distance", one, info) == 0.0);
  for (const char* name : {"previous", "next", "entropy_normalized", "duplicate", "induction", "induction_text"})
    CHECK_MESSAGE(!Compute(name, one, info).value, name);
}

TEST_CASE("rows that are no distributions have no entropy, but masses") {
  const Tensor sigmoid({2, 2}, std::vector<float>{0.9f, 0.8f, 0.1f, 0.05f});
  for (const char* name : {"entropy", "entropy_smoothed", "entropy_normalized", "perplexity"})
    CHECK_MESSAGE(!Compute(name, sigmoid).value, name);
  CHECK(Value("self", sigmoid) == About((0.9 + 0.05) / 2));
}

TEST_CASE("weights that are none are refused, by their place") {
  const auto refuses = [](Tensor weights, const MapInfo& info, ErrorCode code) {
    return Refusal(code, [&] { HeadMap(weights.view<2>(), info); });
  };
  const auto square = [](float a, float b, float c, float d) { return Tensor({2, 2}, std::vector<float>{a, b, c, d}); };
  CHECK(refuses(square(1, 0, kNan, 1), {}, ErrorCode::kValue) == "weights[1, 0] is NaN, expected 0 to 1");
  CHECK(refuses(square(1, 0, -0.5f, 1), {}, ErrorCode::kValue).find("weights[1, 0] is -0.5") == 0);
  CHECK(refuses(square(1, 0, 0, 1.5f), {}, ErrorCode::kValue).find("weights[1, 1] is 1.5") == 0);
  CHECK(refuses(square(1, 0, 0, std::numeric_limits<float>::infinity()), {}, ErrorCode::kValue).find("inf") !=
        std::string::npos);
  CHECK(refuses(square(0.5f, 0.5f, 0, 1), {.causal = true}, ErrorCode::kValue) ==
        "weights[0, 1] is 0.5, expected 0, since that cell is masked");
  const std::vector<std::int32_t> three(3);
  const std::vector<std::uint8_t> flags(3);
  const auto unit = [&] { return square(1, 0, 0, 1); };
  CHECK(refuses(unit(), {.tokens = three}, ErrorCode::kShape) == "tokens has shape (3,), expected (2,)");
  CHECK(refuses(unit(), {.padded_queries = flags}, ErrorCode::kShape).find("padded_queries") == 0);
  CHECK(refuses(unit(), {.padded_keys = flags}, ErrorCode::kShape).find("padded_keys") == 0);
  CHECK(refuses(unit(), {.special = flags}, ErrorCode::kShape).find("special") == 0);
  CHECK(refuses(unit(), {.visible = DenseView(flags.data(), std::array<Index, 2>{1, 3})}, ErrorCode::kShape) ==
        "visible has shape (1, 3), expected (2, 2)");
  constexpr Index kHuge = std::numeric_limits<Index>::max();
  CHECK(refuses(unit(), {.query_offset = kHuge}, ErrorCode::kValue).find("query_offset") == 0);
  for (const RepeatedSequence repeat : {RepeatedSequence{0, 2}, {1, 1}, {-1, 1}, {0, -1}, {kHuge, kHuge}})
    CHECK(refuses(unit(), {.repeat = repeat}, ErrorCode::kValue).find("repeat is twice") == 0);
  for (const PatchGrid grid : {PatchGrid{0, 3}, {1, 2}, {-1, 1}, {0, -1}, {kHuge, 1}, {0, 2, kNan}, {0, 2, 0.0}})
    CHECK(refuses(unit(), {.grid = grid}, ErrorCode::kValue).find("grid is ") == 0);
  CHECK(refuses(Tensor({0, 2}), {}, ErrorCode::kShape) ==
        "weights has shape (0, 2), expected (T, S) with at least one query and key");
  CHECK(refuses(Tensor({2, 0}), {}, ErrorCode::kShape).find("at least one query") != std::string::npos);
  CHECK(Refusal(ErrorCode::kShape, [] { HeadMetrics({}, {}); }) ==
        "weights has shape (0, 0, 0), expected at least one element");
  CHECK(Refusal(ErrorCode::kOption, [] {
          FindMetric("indukction");
        }).find("no metric is called \"indukction\"; there are self, previous,") == 0);
}

TEST_CASE("by name, for all heads at once") {
  Tensor weights({2, 4, 4});
  const Tensor previous = Pointing(4, [](Index i) { return i - 1; }), self = Pointing(4, [](Index i) { return i; });
  std::copy_n(previous.data(), 16, weights.data());
  std::copy_n(self.data(), 16, weights.data() + 16);
  const std::string_view names[] = {"self", "previous"};
  const auto values = HeadMetrics(weights.view<3>(), {.causal = true}, names);
  REQUIRE(values.size() == 2);
  CHECK(*values[0][0].value == 0.25);
  CHECK(*values[0][1].value == 1.0);
  CHECK(*values[1][0].value == 1.0);
  CHECK(*values[1][1].value == 0.0);
  CHECK(HeadMetrics(weights.view<3>(), {})[0].size() == Metrics().size());
  for (const Metric& metric : Metrics()) CHECK(&FindMetric(metric.name) == &metric);
}

TEST_CASE("which sequences are repeated ones") {
  using Tokens = std::vector<std::int32_t>;
  const auto length = [](const Tokens& tokens) { return FindRepeat(tokens).length; };
  CHECK(length({1, 2, 1, 2}) == 2);
  CHECK(length({0, 1, 2, 1, 2}) == 2);
  CHECK(FindRepeat(Tokens{0, 1, 2, 1, 2}).begin == 1);
  CHECK(length({}) == 0);
  CHECK(length({1}) == 0);
  CHECK(length({1, 1}) == 0);
  CHECK(length({1, 2, 1, 3}) == 0);
  CHECK(length({1, 2, 3, 1, 2}) == 0);
}

}  // namespace
}  // namespace headlens::testing
