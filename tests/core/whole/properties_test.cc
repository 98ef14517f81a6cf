// SPDX-License-Identifier: Apache-2.0
/// Properties of any attention, checked on random problems with all options: every backend is compared with plain
/// attention, and problems are compared with others that must have the same result.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "headlens/cache.h"
#include "headlens/positions.h"
#include "random_problem.h"

namespace headlens::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

AllResults Solve(const Backend& backend, const AttentionProblem& problem) {
  AllResults results(problem);
  backend.Attention(problem, results.views());
  return results;
}

TEST_CASE("random problems with any of the options: every result is plain attention's") {
  Random random(20240101);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const RandomProblem r = DrawProblem(random, DrawSizes(random));
    const AllResults expected = PlainAttention(r.problem);
    ForEachBackend([&](const Backend& backend) {
      CAPTURE(backend.name());
      CheckResults(r, Solve(backend, r.problem), expected);
    });
  }
}

TEST_CASE("extreme sizes: every result is plain attention's") {
  const ProblemSizes sizes[] = {
      {1, 1, 1, 1, 1, 1, 1},   {2, 1, 3, 1, 5000, 3, 2}, {1, 1, 2, 5, 7, 257, 1},     {1, 2, 2, 7, 1, 1, 257},
      {1, 1, 1, 97, 33, 1, 1}, {1, 1, 1, 13, 400, 2, 5}, {2, 2, 4, 130, 131, 16, 16}, {0, 2, 4, 3, 5, 2, 2},
      {2, 2, 4, 0, 5, 2, 2},   {2, 2, 4, 3, 0, 2, 2},    {1, 1, 1, 2, 3, 4, 0},       {0, 1, 1, 0, 0, 1, 1},
  };
  Random random(3);
  for (const ProblemSizes& n : sizes)
    for (int round = 0; round < 3; ++round) {
      CAPTURE(n.queries);
      CAPTURE(n.keys);
      CAPTURE(n.width);
      const RandomProblem r = DrawProblem(random, n);
      const AllResults expected = PlainAttention(r.problem);
      ForEachBackend([&](const Backend& backend) {
        CAPTURE(backend.name());
        CheckResults(r, Solve(backend, r.problem), expected);
      });
    }
}

TEST_CASE("stages follow from each other") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(17);
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      RandomProblem r = DrawProblem(random, DrawSizes(random));
      AttentionProblem& p = r.problem;
      p.normalizer.kind = NormalizerKind::kSoftmax;
      p.softcap_order = SoftcapOrder::kBeforeBias;
      const AllResults got = Solve(backend, p);
      const auto& [batch, heads, queries, keys] = got.sizes;
      const Tolerances tolerance(r, got);
      bool scaled = true, masked = true, weights = true, dropped = true, kept_all = true;
      for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h)
          for (Index t = 0; t < queries; ++t)
            for (Index s = 0; s < keys; ++s) {
              const auto at = [&](AllResults::Map map) { return double{got.maps[map].view<4>()(b, h, t, s)}; };
              const double lse = double{got.lse.view<3>()(b, h, t)}, temperature = double{p.normalizer.temperature};
              scaled &= std::abs(at(AllResults::kScaled) - at(AllResults::kScores) * double{p.scale}) <=
                        kEpsilon * std::abs(at(AllResults::kScaled));
              masked &=
                  at(AllResults::kMasked) == (PlainHidden(p, b, h, t, s) ? -double{kInf} : at(AllResults::kBiased));
              if (!std::isinf(lse)) {
                weights &= std::abs(at(AllResults::kWeights) - std::exp(at(AllResults::kMasked) / temperature - lse)) <=
                           tolerance.weights;
              }
              const double keep = at(AllResults::kDropoutMask), factor = p.head_mask ? double{p.head_mask(b, h)} : 1.0;
              kept_all &= p.dropout_p == 1.0 ? keep == 0.0 : p.dropout_p > 0.0 || keep == 1.0;
              const double expected =
                  keep == 0.0 || factor == 0.0 ? 0.0 : at(AllResults::kWeights) / (1.0 - p.dropout_p) * factor;
              dropped &= std::abs(at(AllResults::kDropped) - expected) <= 4 * kEpsilon * std::abs(expected) ||
                         (std::isnan(expected) && std::isnan(at(AllResults::kDropped)));
            }
      CHECK(scaled);
      CHECK(masked);
      CHECK(weights);
      CHECK(dropped);
      CHECK(kept_all);
    }
  });
}

TEST_CASE("what is not asked for changes nothing in what is") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(19);
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      const RandomProblem r = DrawProblem(random, DrawSizes(random));
      const AllResults all = Solve(backend, r.problem);
      if (RoundingDecides(r, all)) continue;
      const Tolerances tolerance(r, all);
      const AllResults some(r.problem);
      const AttentionResults views = some.views();
      AttentionResults asked;
      const auto compare = [&](const char* what, const Tensor& got, const Tensor& expected, double allowed) {
        CheckClose(what, got.values(), expected.values(), allowed);
      };
      const bool output = random.Chance(0.5), weights = random.Chance(0.5), mean = random.Chance(0.5),
                 lse = random.Chance(0.5), dropped = random.Chance(0.5), masked = random.Chance(0.3);
      if (output) asked.output = views.output;
      if (weights) asked.weights = views.weights;
      if (mean) asked.mean_weights = views.mean_weights;
      if (lse) asked.lse = views.lse;
      if (dropped) asked.dropped_weights = views.dropped_weights;
      if (masked) asked.masked_scores = views.masked_scores;
      backend.Attention(r.problem, asked);
      if (output) compare("output", some.output, all.output, tolerance.output);
      if (mean) compare("mean weights", some.mean, all.mean, tolerance.weights);
      if (lse) compare("lse", some.lse, all.lse, tolerance.lse);
      const auto map = [&](AllResults::Map which, double allowed) {
        compare("map", some.maps[which], all.maps[which], allowed);
      };
      if (weights) map(AllResults::kWeights, tolerance.weights);
      if (dropped) map(AllResults::kDropped, tolerance.dropped);
      if (masked) map(AllResults::kMasked, tolerance.scaled);
    }
  });
}

/// The sum of a row of weights.
double RowSum(const AllResults& results, Index b, Index h, Index t) {
  double sum = 0.0;
  for (Index s = 0; s < results.sizes[3]; ++s) sum += double{results.maps[AllResults::kWeights].view<4>()(b, h, t, s)};
  return sum;
}

/// Returns true when the rows of a normaliser sum to 1.
bool SumsToOne(NormalizerKind kind) { return kind != NormalizerKind::kSigmoid && kind != NormalizerKind::kRelu; }

TEST_CASE("rows sum to 1, with a sink to less, or fully masked to 0; masked cells are exactly 0") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(23);
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      RandomProblem r = DrawProblem(random, DrawSizes(random));
      r.problem.fully_masked = FullyMasked::kZero;
      const bool unbounded = r.problem.normalizer.kind == NormalizerKind::kRelu;
      const AllResults got = Solve(backend, r.problem);
      const auto& [batch, heads, queries, keys] = got.sizes;
      bool sums = true, zeros = true, agrees = true, in_range = true;
      for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h)
          for (Index t = 0; t < queries; ++t) {
            bool any = false;
            for (Index s = 0; s < keys; ++s) {
              const bool hidden = PlainHidden(r.problem, b, h, t, s);
              const float weight = got.maps[AllResults::kWeights].view<4>()(b, h, t, s);
              any |= !hidden;
              zeros &= !hidden || weight == 0.0f;
              in_range &= weight >= 0.0f && (unbounded || double{weight} <= 1.0 + 8 * kEpsilon);
              agrees &= hidden == IsMasked(r.problem, b, h, t, s);
            }
            const double sum = RowSum(got, b, h, t), slack = static_cast<double>(keys + 4) * 4 * kEpsilon;
            if (!any) {
              sums &= sum == 0.0;
            } else if (SumsToOne(r.problem.normalizer.kind)) {
              sums &= sum <= 1.0 + slack && (r.problem.normalizer.sinks || sum >= 1.0 - slack);
            }
          }
      CHECK(sums);
      CHECK(zeros);
      CHECK(in_range);
      CHECK(agrees);
    }
  });
}

TEST_CASE("sparsemax and entmax: the conditions of their optima, also far from the origin and on long rows") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(29);
    for (const Index keys : {1, 2, 7, 64, 1000})
      for (const float spread : {0.0f, 0.01f, 1.0f, 100.0f})
        for (const float shift : {0.0f, -1000.0f, 1000.0f})
          for (const NormalizerKind kind : {NormalizerKind::kSparsemax, NormalizerKind::kEntmax15}) {
            const Tensor q({1, 1, 1, 1}, std::vector<float>{1.0f});
            Tensor k = random.NormalTensor({1, 1, keys, 1}, spread);
            for (float& x : k.values()) x += shift;
            AttentionProblem p;
            p.q = q.view<4>();
            p.k = p.v = k.view<4>();
            p.normalizer.kind = kind;
            const AllResults got = Solve(backend, p);
            const float* w = got.maps[AllResults::kWeights].data();
            // Sparsemax: w = x − τ. Entmax: √w = x/2 − τ. Both hold where w > 0 with the same τ, and x is not larger
            // elsewhere.
            const double step = kind == NormalizerKind::kSparsemax ? 1.0 : 0.5;
            double low = -1e30, high = 1e30, outside = -1e30;
            for (Index s = 0; s < keys; ++s) {
              const double x = step * double{k.data()[s]}, weight = double{w[s]};
              if (weight > 0) {
                const double tau = x - (kind == NormalizerKind::kSparsemax ? weight : std::sqrt(weight));
                low = std::max(low, tau), high = std::min(high, tau);
              } else {
                outside = std::max(outside, x);
              }
            }
            // Scores of this size differ by an ulp of it, and the square root of a small weight doubles the loss of
            // digits.
            const double slack = 8 * kEpsilon * (2.0 + std::abs(double{shift}) + 4 * double{spread});
            CHECK(low - high <= slack);
            CHECK(outside <= high + slack);
            CHECK(std::abs(RowSum(got, 0, 0, 0) - 1.0) <= 32 * kEpsilon * std::sqrt(static_cast<double>(keys)));
          }
  });
}

TEST_CASE("sparsemax in closed form: two scores, and equal ones") {
  ForEachBackend([](const Backend& backend) {
    for (const float gap : {0.0f, 0.25f, 0.5f, 0.999f, 1.0f, 1.5f, 1e30f}) {
      const Tensor q({1, 1, 1, 1}, std::vector<float>{1.0f}), k({1, 1, 2, 1}, std::vector<float>{0.0f, -gap});
      AttentionProblem p;
      p.q = q.view<4>();
      p.k = p.v = k.view<4>();
      p.normalizer.kind = NormalizerKind::kSparsemax;
      const AllResults got = Solve(backend, p);
      const double first = std::min(1.0, (1.0 + double{gap}) / 2.0);
      CHECK(std::abs(double{got.maps[AllResults::kWeights].data()[0]} - first) <= 2 * kEpsilon);
      CHECK(std::abs(double{got.maps[AllResults::kWeights].data()[1]} - (1.0 - first)) <= 2 * kEpsilon);
    }
  });
}

/// x [B, n, ..] with its rows in another order.
Tensor Reordered(const Tensor& x, const std::vector<Index>& order) {
  Tensor result(x.shape());
  const View<float, 3> from = x.view<3>(), to = result.view<3>();
  for (Index b = 0; b < from.shape[0]; ++b)
    for (Index i = 0; i < from.shape[1]; ++i)
      std::copy_n(from.at(b, order[static_cast<std::size_t>(i)]), from.shape[2], to.at(b, i));
  return result;
}

std::vector<Index> Shuffled(Random& random, Index n) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = n; i > 1; --i)
    std::swap(order[static_cast<std::size_t>(i - 1)], order[static_cast<std::size_t>(random.Below(i))]);
  return order;
}

TEST_CASE("without positions: permuting queries permutes rows, permuting keys with their masks permutes columns") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(31);
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      RandomProblem r = PlainProblem(random, DrawSizes(random));
      DrawNormalizer(random, r);
      if (r.problem.normalizer.kind == NormalizerKind::kHard) continue;  // it depends on the order of equal scores
      r.padding.assign(static_cast<std::size_t>(r.batch() * r.keys()), 0);
      for (std::uint8_t& flag : r.padding) flag = random.Chance(0.2);
      r.problem.mask.key_padding = DenseView<const std::uint8_t, 2>(r.padding.data(), {r.batch(), r.keys()});
      const AllResults straight = Solve(backend, r.problem);
      if (RoundingDecides(r, straight)) continue;
      const Tolerances tolerance(r, straight);

      const std::vector<Index> rows = Shuffled(random, r.queries()), columns = Shuffled(random, r.keys());
      const Tensor q = Reordered(r.q, rows), k = Reordered(r.k, columns), v = Reordered(r.v, columns);
      std::vector<std::uint8_t> padding(r.padding.size());
      for (Index b = 0; b < r.batch(); ++b)
        for (Index s = 0; s < r.keys(); ++s)
          padding[static_cast<std::size_t>(b * r.keys() + s)] =
              r.padding[static_cast<std::size_t>(b * r.keys() + columns[static_cast<std::size_t>(s)])];
      AttentionProblem p = r.problem;
      p.q = SplitHeads(q.view<3>(), r.heads());
      p.k = SplitHeads(k.view<3>(), r.problem.k.shape[1]);
      p.v = SplitHeads(v.view<3>(), r.problem.k.shape[1]);
      p.mask.key_padding.data = padding.data();
      const AllResults permuted = Solve(backend, p);
      AllResults expected(p);
      for (Index b = 0; b < r.batch(); ++b)
        for (Index h = 0; h < r.heads(); ++h)
          for (Index t = 0; t < r.queries(); ++t) {
            const Index from = rows[static_cast<std::size_t>(t)];
            std::copy_n(straight.output.view<4>().at(b, h, from), p.v.shape[3], expected.output.view<4>().at(b, h, t));
            for (Index s = 0; s < r.keys(); ++s)
              expected.maps[0].view<4>()(b, h, t, s) =
                  straight.maps[0].view<4>()(b, h, from, columns[static_cast<std::size_t>(s)]);
          }
      CheckClose("weights", permuted.maps[0].values(), expected.maps[0].values(), tolerance.weights);
      CheckClose("output", permuted.output.values(), expected.output.values(), tolerance.output);
    }
  });
}

/// Rows [first, first + count) of a problem, as a part of the whole map.
AttentionProblem Strip(const AttentionProblem& p, Index first, Index count) {
  AttentionProblem strip = p;
  const auto cut = [&](auto& view, std::size_t dim) {
    if (!view) return;
    view.data = view.data + first * view.strides[dim];
    view.shape[dim] = count;
  };
  cut(strip.q, 2);
  cut(strip.mask.boolean, 2);
  cut(strip.mask.additive, 2);
  cut(strip.mask.valid_lens, 1);
  cut(strip.mask.query_documents, 1);
  strip.query_offset += first;
  // With bottom-right alignment, positions count from the last query of the call.
  if (p.mask.causal_alignment == CausalAlignment::kBottomRight) strip.query_offset -= p.q.shape[2] - count;
  return strip;
}

/// Checks that `strip` equals the rows of `whole` from `first` on and its columns from `left` on.
void CheckRows(const AllResults& strip, const AllResults& whole, Index first, Index left, const Tolerances& tolerance) {
  const auto& [batch, heads, queries, keys] = strip.sizes;
  Tensor weights({batch, heads, queries, keys}), output(strip.output.shape()), lse({batch, heads, queries});
  bool nothing_further_left = true;
  for (Index b = 0; b < batch; ++b)
    for (Index h = 0; h < heads; ++h)
      for (Index t = 0; t < queries; ++t) {
        const float* row = whole.maps[0].view<4>().at(b, h, first + t);
        for (Index s = 0; s < left; ++s) nothing_further_left &= row[s] == 0.0f;
        std::copy_n(row + left, keys, weights.view<4>().at(b, h, t));
        std::copy_n(whole.output.view<4>().at(b, h, first + t), output.shape()[3], output.view<4>().at(b, h, t));
        lse.view<3>()(b, h, t) = whole.lse.view<3>()(b, h, first + t);
      }
  CHECK(nothing_further_left);
  CheckClose("weights", strip.maps[0].values(), weights.values(), tolerance.weights);
  CheckClose("output", strip.output.values(), output.values(), tolerance.output);
  CheckClose("lse", strip.lse.values(), lse.values(), tolerance.lse);
}

TEST_CASE("a strip is the same rows of the whole map, for every mask and position") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(37);
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      RandomProblem r = DrawProblem(random, DrawSizes(random));
      r.problem.dropout_p = 0.0;  // it counts the cells of the call
      const AllResults whole = Solve(backend, r.problem);
      if (RoundingDecides(r, whole)) continue;
      const Index first = random.Below(r.queries()), count = 1 + random.Below(r.queries() - first);
      CheckRows(Solve(backend, Strip(r.problem, first, count)), whole, first, 0, Tolerances(r, whole));
    }
  });
}

TEST_CASE("causal: a prefix of the sequence gives the same rows, and later tokens may be anything") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(41);
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      ProblemSizes n = DrawSizes(random);
      n.keys = n.queries = 2 + random.Below(30);
      RandomProblem r = PlainProblem(random, n);
      DrawBiases(random, r);
      DrawNormalizer(random, r);
      r.problem.mask.causal = true;
      if (random.Chance(0.3)) r.problem.mask.window_left = random.Below(n.keys);
      if (random.Chance(0.3)) r.problem.mask.dilation = 1 + random.Below(3);
      const AllResults whole = Solve(backend, r.problem);
      if (RoundingDecides(r, whole)) continue;
      const Tolerances tolerance(r, whole);
      const Index length = 1 + random.Below(n.keys - 1);
      AttentionProblem prefix = Strip(r.problem, 0, length);
      CheckRows(Solve(backend, prefix), whole, 0, 0, tolerance);
      prefix.k.shape[2] = prefix.v.shape[2] = length;
      const AllResults alone = Solve(backend, prefix);
      for (Index s = length; s < n.keys; ++s) {
        std::fill_n(r.k.view<3>().at(0, s), r.k.shape()[2], kNan);
        std::fill_n(r.v.view<3>().at(0, s), r.v.shape()[2], s % 2 ? kInf : kNan);
      }
      const AllResults spoiled = Solve(backend, Strip(r.problem, 0, length));
      CheckRows(spoiled, whole, 0, 0, tolerance);
      for (Index b = 0; b < n.batch; ++b)
        for (Index h = 0; h < n.heads; ++h)
          for (Index t = 0; t < length; ++t)
            CheckClose("output", {alone.output.view<4>().at(b, h, t), static_cast<std::size_t>(n.value_width)},
                       {whole.output.view<4>().at(b, h, t), static_cast<std::size_t>(n.value_width)}, tolerance.output);
    }
  });
}

TEST_CASE("grouped heads: as many groups as heads is plain attention, and fewer repeat their keys and values") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(43);
    for (int round = 0; round < 60; ++round) {
      CAPTURE(round);
      RandomProblem r = DrawProblem(random, DrawSizes(random));
      const AllResults grouped = Solve(backend, r.problem);
      if (RoundingDecides(r, grouped)) continue;
      const Tolerances tolerance(r, grouped);
      const Index groups = r.problem.k.shape[1], heads = r.heads();
      const auto repeat = [&](const View<const float, 4>& x) {
        Tensor all({x.shape[0], heads, x.shape[2], x.shape[3]});
        for (Index b = 0; b < x.shape[0]; ++b)
          for (Index h = 0; h < heads; ++h) {
            const Index g = r.problem.gqa_order == GqaOrder::kBlock ? h / (heads / groups) : h % groups;
            for (Index s = 0; s < x.shape[2]; ++s) std::copy_n(x.at(b, g, s), x.shape[3], all.view<4>().at(b, h, s));
          }
        return all;
      };
      const Tensor k = repeat(r.problem.k.floats().host()), v = repeat(r.problem.v.floats().host());
      AttentionProblem p = r.problem;
      p.k = k.view<4>();
      p.v = v.view<4>();
      for (const GqaOrder order : {GqaOrder::kBlock, GqaOrder::kInterleaved}) {
        p.gqa_order = order;
        const AllResults repeated = Solve(backend, p);
        CheckClose("weights", repeated.maps[0].values(), grouped.maps[0].values(), tolerance.weights);
        CheckClose("output", repeated.output.values(), grouped.output.values(), tolerance.output);
      }
    }
  });
}

TEST_CASE("masks by name equal the dense boolean and the additive mask with the same cells") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(47);
    for (int round = 0; round < 100; ++round) {
      CAPTURE(round);
      RandomProblem r = PlainProblem(random, DrawSizes(random));
      DrawMasks(random, r, /*positional=*/true);
      r.problem.mask.additive = {};
      r.problem.fully_masked = static_cast<FullyMasked>(random.Below(3));
      const AllResults named = Solve(backend, r.problem);
      const auto& [batch, heads, queries, keys] = named.sizes;
      std::vector<std::uint8_t> hidden;
      Tensor additive({batch, heads, queries, keys});
      for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h)
          for (Index t = 0; t < queries; ++t)
            for (Index s = 0; s < keys; ++s) {
              hidden.push_back(PlainHidden(r.problem, b, h, t, s));
              additive.view<4>()(b, h, t, s) = hidden.back() ? -kInf : 0.0f;
            }
      AttentionProblem dense = r.problem;
      dense.mask = {};
      dense.mask.boolean = DenseView<const std::uint8_t, 4>(hidden.data(), named.sizes);
      dense.mask.boolean_keeps = false;
      const AllResults boolean = Solve(backend, dense);
      dense.mask = {};
      dense.mask.additive = additive.view<4>();
      const AllResults added = Solve(backend, dense);
      for (const AllResults* other : {&boolean, &added}) {
        CheckClose("weights", other->maps[0].values(), named.maps[0].values(), 0.0);
        CheckClose("output", other->output.values(), named.output.values(), 0.0);
        CheckClose("lse", other->lse.values(), named.lse.values(), 0.0);
      }
    }
  });
}

TEST_CASE("windows as wide as numbers go") {
  ForEachBackend([](const Backend& backend) {
    Random random(53);
    RandomProblem r = PlainProblem(random, {1, 1, 2, 5, 9, 3, 3});
    const AllResults open = Solve(backend, r.problem);
    for (const Index window : {Index{9}, Index{1} << 53, std::numeric_limits<Index>::max()})
      for (const Index offset : {Index{0}, Index{1} << 40}) {
        r.problem.mask.window_left = r.problem.mask.window_right = window;
        r.problem.query_offset = r.problem.key_offset = offset;
        CheckClose("weights", Solve(backend, r.problem).maps[0].values(), open.maps[0].values(), 0.0);
      }
    // Queries far before or after every key see none of them in a finite window.
    for (const Index offset : {-(Index{1} << 40), Index{1} << 40}) {
      r.problem.query_offset = offset, r.problem.key_offset = 0;
      r.problem.mask.window_left = r.problem.mask.window_right = 100;
      const AllResults none = Solve(backend, r.problem);
      for (const float weight : none.maps[0].values()) CHECK(weight == 0.0f);
    }
  });
}

TEST_CASE("neighborhoods as large as numbers go hide nothing of a causal map") {
  constexpr Index kMost = std::numeric_limits<Index>::max();
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(57);
    RandomProblem r = PlainProblem(random, {1, 2, 2, 9, 12, 4, 3});
    Mask& mask = r.problem.mask;
    mask.causal = true;
    mask.causal_alignment = CausalAlignment::kBottomRight;
    const AllResults open = Solve(backend, r.problem);
    for (const Index size : {Index{12}, kMost})
      for (const Index reach : {Index{11}, kMost})
        for (const Index tokens : {Index{0}, Index{5}, kMost}) {
          CAPTURE(size);
          CAPTURE(tokens);
          mask.grid_rows = mask.grid_columns = size, mask.grid_tokens = tokens;
          mask.neighborhood_rows = mask.neighborhood_columns = reach;
          CheckClose("weights", Solve(backend, r.problem).maps[0].values(), open.maps[0].values(), 0.0);
        }
  });
}

TEST_CASE("NaN and infinities in masked keys and values reach nothing") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(59);
    int spoiled = 0;
    for (int round = 0; round < 100; ++round) {
      CAPTURE(round);
      RandomProblem r = DrawProblem(random, DrawSizes(random));
      r.problem.fully_masked = FullyMasked::kZero;
      const AllResults clean = Solve(backend, r.problem);
      const Index groups = r.problem.k.shape[1];
      for (Index b = 0; b < r.batch(); ++b)
        for (Index s = 0; s < r.keys(); ++s)
          for (Index g = 0; g < groups; ++g) {
            bool seen = false;
            for (Index h = 0; h < r.heads(); ++h)
              for (Index t = 0; t < r.queries(); ++t)
                seen |= KvHead(r.problem, h) == g && !PlainHidden(r.problem, b, h, t, s);
            if (seen) continue;
            ++spoiled;
            SplitHeads(r.k.view<3>(), groups)(b, g, s, 0) = round % 3 == 0 ? -kInf : kNan;
            SplitHeads(r.v.view<3>(), groups)(b, g, s, 0) = round % 2 ? kInf : kNan;
          }
      const AllResults dirty = Solve(backend, r.problem);
      CheckClose("weights", dirty.maps[0].values(), clean.maps[0].values(), 0.0);
      CheckClose("dropped", dirty.maps[AllResults::kDropped].values(), clean.maps[AllResults::kDropped].values(), 0.0);
      CheckClose("masked", dirty.maps[AllResults::kMasked].values(), clean.maps[AllResults::kMasked].values(), 0.0);
      CheckClose("lse", dirty.lse.values(), clean.lse.values(), 0.0);
      CheckClose("output", dirty.output.values(), clean.output.values(), Tolerances(r, clean).output);
    }
    CHECK(spoiled > 100);
  });
}

TEST_CASE("a NaN in a visible key reaches the rows that see it, all their visible cells, and nothing else") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(61);
    for (int round = 0; round < 100; ++round) {
      CAPTURE(round);
      RandomProblem r = DrawProblem(random, DrawSizes(random));
      r.problem.fully_masked = FullyMasked::kZero;
      const bool by_cell = !SumsToOne(r.problem.normalizer.kind);
      const AllResults clean = Solve(backend, r.problem);
      const Index bad = random.Below(r.keys()), groups = r.problem.k.shape[1], group = random.Below(groups);
      // Every key of the row may be NaN, too.
      for (Index s = 0; s < r.keys(); ++s)
        if (s == bad || round % 5 == 0) SplitHeads(r.k.view<3>(), groups)(0, group, s, 0) = kNan;
      const AllResults dirty = Solve(backend, r.problem);
      bool as_expected = true;
      for (Index b = 0; b < r.batch(); ++b)
        for (Index h = 0; h < r.heads(); ++h)
          for (Index t = 0; t < r.queries(); ++t) {
            const auto is_bad = [&](Index s) {
              return b == 0 && KvHead(r.problem, h) == group && (s == bad || round % 5 == 0) &&
                     !PlainHidden(r.problem, b, h, t, s);
            };
            bool reached = false;
            for (Index s = 0; s < r.keys(); ++s) reached |= is_bad(s);
            for (Index s = 0; s < r.keys(); ++s) {
              const float got = dirty.maps[0].view<4>()(b, h, t, s), was = clean.maps[0].view<4>()(b, h, t, s);
              const bool spread = by_cell ? is_bad(s) : reached && !PlainHidden(r.problem, b, h, t, s);
              as_expected &= spread ? std::isnan(got) : std::abs(got - was) <= 8 * static_cast<float>(kEpsilon);
            }
            as_expected &= std::isnan(dirty.lse.view<3>()(b, h, t)) == reached;
          }
      CHECK(as_expected);
    }
  });
}

/// The weights of one row of scores.
std::vector<float> RowWeights(const Backend& backend, const std::vector<float>& scores, const Normalizer& normalizer,
                              float* lse = nullptr) {
  const auto n = static_cast<Index>(scores.size());
  const Tensor q({1, 1, 1, 1}, std::vector<float>{1.0f}), k({1, 1, n, 1}, scores), v = Tensor({1, 1, n, 1}, scores);
  AttentionProblem p;
  p.q = q.view<4>();
  p.k = k.view<4>();
  p.v = v.view<4>();
  p.normalizer = normalizer;
  const AllResults got = Solve(backend, p);
  if (lse) *lse = got.lse.data()[0];
  return {got.maps[0].data(), got.maps[0].data() + n};
}

TEST_CASE("infinite scores that are visible: the largest share the weight") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    const float sink = 3.0f;
    using Weights = std::vector<float>;
    for (const bool with_sink : {false, true})
      for (const NormalizerKind kind : NormalizerKinds()) {
        CAPTURE(kind);
        Normalizer n;
        n.kind = kind;
        n.top_k = 1;
        n.temperature = 0.5f;
        const bool hard = n.kind == NormalizerKind::kHard, sigmoid = n.kind == NormalizerKind::kSigmoid;
        const bool relu = n.kind == NormalizerKind::kRelu, by_cell = sigmoid || relu;
        if (with_sink) {
          if (n.kind != NormalizerKind::kSoftmax && n.kind != NormalizerKind::kTopK) continue;
          n.sinks = DenseView<const float, 1>(&sink, {1});
        }
        float lse = 0.0f;
        Weights w = RowWeights(backend, {1.0f, kInf, -kInf, kInf, 0.0f}, n, &lse);
        CHECK(lse == kInf);
        CHECK(w[1] == (relu ? kInf : hard || sigmoid ? 1.0f : 0.5f));
        CHECK(w[2] == 0.0f);
        CHECK(w[3] == (relu ? kInf : hard ? 0.0f : sigmoid ? 1.0f : 0.5f));
        CHECK(w[4] == (sigmoid ? 0.5f : 0.0f));
        CHECK((!relu || w[0] == 0.5f));  // 1 / 0.5, of four keys: a score of −∞ counts as masked
        w = RowWeights(backend, {-kInf, -kInf}, n, &lse);
        CHECK(lse == (with_sink ? sink : -kInf));
        CHECK(w[0] == (with_sink || by_cell ? 0.0f : hard ? 1.0f : 0.5f));
        CHECK(w[1] == (with_sink || by_cell || hard ? 0.0f : 0.5f));
        w = RowWeights(backend, {kInf, kNan, 2.0f}, n, &lse);
        CHECK(std::isnan(lse));
        CHECK(std::isnan(w[1]));
        CHECK((relu ? w[0] == kInf : sigmoid ? w[0] == 1.0f : std::isnan(w[0])));
        w = RowWeights(backend, {kNan, kNan}, n, &lse);
        CHECK(std::isnan(lse));
        CHECK((std::isnan(w[0]) && std::isnan(w[1])));
      }
  });
}

TEST_CASE("scores of ±1e30, under any temperature") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    for (const float temperature : {1.0f, 0.7f, 3.0f, 1e-10f, 1e-30f, 1e30f})
      for (const NormalizerKind kind : NormalizerKinds()) {
        CAPTURE(temperature);
        CAPTURE(kind);
        Normalizer n;
        n.kind = kind;
        n.top_k = 2;
        n.temperature = temperature;
        for (const float sign : {1.0f, -1.0f}) {
          const std::vector<float> scores = {sign * 1e30f, 0.5f * 1e30f * sign, 0.0f, -1e30f * sign};
          std::vector<float> w = RowWeights(backend, scores, n);
          if (n.kind == NormalizerKind::kSigmoid) {
            if (temperature < 1e20f)
              CHECK(w == (sign > 0 ? std::vector<float>{1, 1, 0.5f, 0} : std::vector<float>{0, 0, 0.5f, 1}));
            continue;
          }
          if (n.kind == NormalizerKind::kRelu) {  // these weights are as large as their scores
            for (std::size_t s = 0; s < w.size(); ++s) {
              const double expected = std::max(double{scores[s]}, 0.0) / double{temperature} / 4;
              CHECK((expected > 1e39 ? w[s] == kInf : std::abs(double{w[s]} - expected) <= 4 * kEpsilon * expected));
            }
            continue;
          }
          if (temperature < 1e20f) {
            CHECK(w[sign > 0 ? 0 : 3] == 1.0f);
            CHECK(std::count(w.begin(), w.end(), 0.0f) == 3);
          }
          for (const float weight : w) CHECK(std::isfinite(weight));
        }
        // The gap between the scores matters, not their size.
        if (n.kind == NormalizerKind::kSoftmax && temperature < 1e-5f) {
          CHECK(RowWeights(backend, {100.0f, 50.0f}, n) == std::vector<float>{1.0f, 0.0f});
        }
      }
  });
}

TEST_CASE("dropout drops the same cells on every backend, whatever else is asked for") {
  Random random(67);
  for (int round = 0; round < 40; ++round) {
    RandomProblem r = DrawProblem(random, DrawSizes(random));
    r.problem.dropout_p = round % 4 == 0 ? 1.0 : 0.4;
    Tensor first;
    ForEachBackend([&](const Backend& backend) {
      AllResults got(r.problem);
      AttentionResults only;
      only.dropout_mask = got.maps[AllResults::kDropoutMask].view<4>();
      backend.Attention(r.problem, only);
      const Tensor& mask = got.maps[AllResults::kDropoutMask];
      if (!first.data()) first = mask.Clone();
      CheckClose("dropout mask", mask.values(), first.values(), 0.0);
      if (r.problem.dropout_p < 1.0) return;
      const AllResults all = Solve(backend, r.problem);
      for (const float value : all.output.values()) CHECK(value == 0.0f);
    });
  }
}

/// Compares self-attention over a whole sequence with the same through a cache, in chunks of at most `chunk` tokens.
void CheckDecoding(const Backend& backend, Random& random, Index chunk, Index cache_window) {
  ProblemSizes n = DrawSizes(random);
  n.keys = n.queries = 4 + random.Below(28);
  n.width = 2 * (1 + random.Below(6));
  RandomProblem r = PlainProblem(random, n);
  DrawBiases(random, r);
  DrawNormalizer(random, r);
  DrawMasks(random, r, /*positional=*/false);
  r.problem.gqa_order = random.Chance(0.5) ? GqaOrder::kBlock : GqaOrder::kInterleaved;
  Mask& mask = r.problem.mask;
  mask.valid_lens = {};  // they count kept keys
  mask.causal = true;
  mask.causal_alignment = random.Chance(0.5) ? CausalAlignment::kTopLeft : CausalAlignment::kBottomRight;
  if (random.Chance(0.3)) mask.dilation = 1 + random.Below(3);
  if (random.Chance(0.4)) mask.window_left = random.Below(n.keys);
  if (cache_window > 0)
    mask.window_left = mask.window_left < 0 ? cache_window - 1 : std::min(mask.window_left, cache_window - 1);
  if (random.Chance(0.3)) DrawNeighborhood(random, n.keys, mask);
  if (random.Chance(0.3)) {
    r.head_mask = random.NormalTensor({n.batch, n.heads});
    r.problem.head_mask = r.head_mask.view<2>();
  }
  std::optional<Rotary> rotary;
  if (random.Chance(0.5)) {
    rotary.emplace();
    rotary->pairs = random.Chance(0.5) ? RotaryPairs::kHalf : RotaryPairs::kInterleaved;
    rotary->dim = random.Chance(0.5) ? 2 : 0;
    rotary->scale = random.Chance(0.5) ? 1.0 : 4.0;
    r.exact = false;
  }

  const Tensor whole_q = r.q.Clone(), whole_k = r.k.Clone();
  AttentionProblem p = r.problem;
  const View<float, 4> q = SplitHeads(whole_q.view<3>(), n.heads), k = SplitHeads(whole_k.view<3>(), n.groups);
  p.q = q, p.k = k;
  RotateAndCache(backend, rotary, q, k, nullptr, p);
  const AllResults whole = Solve(backend, p);
  if (RoundingDecides(r, whole)) return;

  KvCache cache(cache_window);
  for (Index first = 0; first < n.queries;) {
    const Index count = std::min(1 + random.Below(chunk), n.queries - first);
    const Tensor step_q = r.q.Clone(), step_k = r.k.Clone();
    const auto part = [&](const Tensor& x, Index heads) {
      View<float, 4> view = SplitHeads(x.view<3>(), heads);
      view.data += first * view.strides[2];
      view.shape[2] = count;
      return view;
    };
    AttentionProblem step = Strip(r.problem, first, count);
    step.query_offset = 0;
    step.q = part(step_q, n.heads);
    step.v = part(r.v, n.groups);
    step.k = part(step_k, n.groups);
    const View<float, 4> new_k = part(step_k, n.groups);
    RotateAndCache(backend, rotary, part(step_q, n.heads), new_k, &cache, step);
    CHECK(cache.length() == first + count);
    // Masks cover the kept keys.
    const auto keep = [&](auto& view, std::size_t dim) {
      if (!view) return;
      view.data += cache.first() * view.strides[dim];
      view.shape[dim] = step.k.shape[2];
    };
    keep(step.mask.boolean, 3);
    keep(step.mask.additive, 3);
    keep(step.mask.key_padding, 1);
    keep(step.mask.key_documents, 1);
    CheckRows(Solve(backend, step), whole, first, cache.first(), Tolerances(r, whole));
    first += count;
  }
}

TEST_CASE("decoding step by step and in chunks gives the rows of one causal pass") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(71);
    for (int round = 0; round < 90; ++round) {
      CAPTURE(round);
      CheckDecoding(backend, random, round % 3 == 0 ? 1 : 7, round % 2 ? 1 + random.Below(9) : 0);
    }
  });
}

/// BF16 values with the strides of `view`, whose elements in `storage` are rounded to BF16.
KeyValueView Halved(Tensor& storage, const KeyValueView& view, std::vector<std::uint16_t>& halves) {
  for (float& x : storage.values()) {
    halves.push_back(RoundToBf16(x));
    x = LoadFloat(DType::kBF16, reinterpret_cast<const std::byte*>(&halves.back()));
  }
  const auto first = (view.data.host() - reinterpret_cast<const std::byte*>(storage.data())) / sizeof(float);
  return {DType::kBF16, reinterpret_cast<const std::byte*>(halves.data() + first), view.shape, view.strides};
}

TEST_CASE("keys and values in BF16 give what the same numbers in F32 give, with every option") {
  ForEachBackend([](const Backend& backend) {
    CAPTURE(backend.name());
    Random random(79);
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      ProblemSizes sizes = DrawSizes(random);
      if (round % 3 == 0) sizes.queries = 1;
      if (round % 10 == 0) sizes.width += 64;
      RandomProblem r = DrawProblem(random, sizes);
      std::vector<std::uint16_t> k, v;
      AttentionProblem halved = r.problem;
      halved.k = Halved(r.k, r.problem.k, k);
      halved.v = Halved(r.v, r.problem.v, v);
      const AllResults expected = Solve(backend, r.problem), got = Solve(backend, halved);
      for (std::size_t i = 0; i < AllResults::kMaps; ++i)
        CheckClose("map", got.maps[i].values(), expected.maps[i].values(), 0.0);
      CheckClose("output", got.output.values(), expected.output.values(), 0.0);
      AllResults alone(r.problem), alone_halved(halved);  // without maps, which takes other code
      AttentionResults results;
      results.output = alone.output.view<4>();
      backend.Attention(r.problem, results);
      results.output = alone_halved.output.view<4>();
      backend.Attention(halved, results);
      CheckClose("output alone", alone_halved.output.values(), alone.output.values(), 0.0);
    }
  });
}

TEST_CASE("BF16: the nearest, of two the even one") {
  const auto float_of = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    const std::uint32_t bits = upper << 16, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) {  // NaN
      const std::uint32_t rounded = RoundToBf16(float_of(bits | 1));
      CHECK((rounded & 0x7FFF) > 0x7F80);
      continue;
    }
    REQUIRE(RoundToBf16(float_of(bits)) == upper);
    if (magnitude == 0x7F800000) continue;  // infinite
    REQUIRE(RoundToBf16(float_of(bits | 0x7FFF)) == upper);
    REQUIRE(RoundToBf16(float_of(bits | 0x8000)) == upper + (upper & 1));
    REQUIRE(RoundToBf16(float_of(bits | 0x8001)) == upper + 1);
    REQUIRE(RoundToBf16(float_of(bits | 0xFFFF)) == upper + 1);
  }
  CHECK(std::isnan(LoadFloat(DType::kBF16, reinterpret_cast<const std::byte*>("\xC0\x7F"))));
}

TEST_CASE("a cache in BF16 keeps what is nearest, through windows, growth and cuts") {
  Random random(83);
  const Tensor k = random.NormalTensor({2, 3, 50, 7}), v = random.NormalTensor({2, 3, 50, 4});
  Tensor rounded_k = k.Clone(), rounded_v = v.Clone();
  std::vector<std::uint16_t> unused;
  Halved(rounded_k, rounded_k.view<4>(), unused);
  Halved(rounded_v, rounded_v.view<4>(), unused);
  const auto part = [](const Tensor& x, Index first, Index count) {
    View<float, 4> view = x.view<4>();
    view.data += first * view.strides[2];
    view.shape[2] = count;
    return view;
  };
  for (const Index window : {0, 9}) {
    CAPTURE(window);
    KvCache halves(window, SimdBackend(), DType::kBF16), floats(window);
    CHECK(!halves.k());
    for (Index first = 0; first < 50; first += 5) {
      halves.Append(part(k, first, 5), part(v, first, 5));
      floats.Append(part(rounded_k, first, 5), part(rounded_v, first, 5));
      if (first == 20) {
        halves.Append(part(k, 0, 3), part(v, 0, 3));
        halves.Truncate(25);
        floats.Append(part(k, 0, 3), part(v, 0, 3));
        floats.Truncate(25);
      }
      REQUIRE(halves.k().shape == floats.k().shape);
      REQUIRE(halves.v().shape == floats.v().shape);
      CHECK(halves.k().dtype == DType::kBF16);
      CheckClose("k", ToFloat(halves.k()).values(), ToFloat(floats.k()).values(), 0.0);
      CheckClose("v", ToFloat(halves.v()).values(), ToFloat(floats.v()).values(), 0.0);
    }
    halves.Reset();
    CHECK(halves.length() == 0);
    CHECK(halves.dtype() == DType::kBF16);
  }
  CHECK_THROWS_AS(KvCache(0, SimdBackend(), DType::kF16), Error);
  AttentionProblem problem;
  problem.q = k.view<4>();
  problem.k =
      KeyValueView(DType::kF16, reinterpret_cast<const std::byte*>(k.data()), problem.q.shape, problem.q.strides);
  CHECK_THROWS_WITH_AS(Validate(problem, {}), "k has the type F16, expected F32 or BF16", Error);
}

TEST_CASE("a cache takes back what it was given last") {
  Random random(73);
  const Tensor k = random.NormalTensor({1, 2, 40, 3}), v = random.NormalTensor({1, 2, 40, 2});
  const auto part = [](const Tensor& x, Index first, Index count) {
    View<float, 4> view = x.view<4>();
    view.data += first * view.strides[2];
    view.shape[2] = count;
    return view;
  };
  for (const Index window : {0, 3, 30}) {
    KvCache straight(window), corrected(window);
    for (Index first = 0; first < 40; first += 5) {
      straight.Append(part(k, first, 5), part(v, first, 5));
    }
    for (Index first = 0; first < 40; first += 5) {
      corrected.Append(part(k, (first + 20) % 40, 4), part(v, (first + 20) % 40, 4));
      corrected.Truncate(first);
      corrected.Append(part(k, first, 5), part(v, first, 5));
    }
    REQUIRE(corrected.length() == straight.length());
    REQUIRE(corrected.first() >= straight.first());
    const Index skipped = corrected.first() - straight.first();
    for (Index g = 0; g < 2; ++g)
      for (Index s = 0; s < corrected.k().shape[2]; ++s) {
        CHECK(corrected.k()(0, g, s, 2) == straight.k()(0, g, s + skipped, 2));
        CHECK(corrected.v()(0, g, s, 1) == straight.v()(0, g, s + skipped, 1));
      }
    CHECK_THROWS_AS(corrected.Truncate(41), Error);
    CHECK_THROWS_AS(corrected.Truncate(corrected.first() - 1), Error);
    corrected.Truncate(corrected.length());
    CHECK(corrected.length() == 40);
  }
  CHECK_THROWS_AS(KvCache(-1), Error);
}

}  // namespace
}  // namespace headlens::testing
