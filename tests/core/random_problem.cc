// SPDX-License-Identifier: Apache-2.0
#include "random_problem.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "attention/normalizers/registry.h"

namespace headlens::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A random multiple of 1/4 between −2 and 2.
float Quarter(Random& random) { return static_cast<float>(random.Below(17) - 8) / 4.0f; }

Tensor DrawTensor(Random& random, Shape shape, bool exact) {
  Tensor tensor = random.NormalTensor(std::move(shape));
  if (exact)
    for (float& value : tensor.values()) value = Quarter(random);
  return tensor;
}

template <class T>
View<const T, 4> Broadcast(Random& random, View<const T, 4> view) {
  for (Index& stride : view.strides)
    if (random.Chance(0.3)) stride = 0;
  return view;
}

template <class T>
std::vector<T> DrawIntegers(Random& random, Index count, Index below) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(random.Below(below));
  return values;
}

template <class T, std::size_t Rank>
View<const T, Rank> ViewOf(std::vector<T>& values, const std::array<Index, Rank>& shape) {
  values.reserve(1);  // so that an empty view is not null
  return DenseView<const T, Rank>(values.data(), shape);
}

std::vector<std::uint8_t> DrawFlags(Random& random, Index count, double p) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(count));
  for (std::uint8_t& flag : flags) flag = random.Chance(p) ? static_cast<std::uint8_t>(1 + random.Below(255)) : 0;
  return flags;
}

}  // namespace

std::vector<NormalizerKind> NormalizerKinds() {
  std::vector<NormalizerKind> kinds;
  for (const NormalizerRule* rule : NormalizerRules()) kinds.push_back(rule->kind);
  return kinds;
}

ProblemSizes DrawSizes(Random& random) {
  const Index groups = 1 + random.Below(3);
  ProblemSizes n{1 + random.Below(2),
                 groups,
                 groups * (1 + random.Below(3)),
                 1 + random.Below(9),
                 1 + random.Below(20),
                 1 + random.Below(12),
                 1 + random.Below(12)};
  if (random.Chance(0.1)) n.keys += random.Below(90);
  if (random.Chance(0.05)) n.queries += random.Below(100);
  if (random.Chance(0.1)) n.value_width += random.Below(70);
  if (random.Chance(0.3)) n.queries = n.keys;
  return n;
}

RandomProblem PlainProblem(Random& random, const ProblemSizes& n) {
  RandomProblem r;
  r.exact = random.Chance(0.3);
  r.q = DrawTensor(random, {n.batch, n.queries, n.heads * n.width}, r.exact);
  r.k = DrawTensor(random, {n.batch, n.keys, n.groups * n.width}, r.exact);
  r.v = random.NormalTensor({n.batch, n.keys, n.groups * n.value_width});
  r.problem.q = SplitHeads(r.q.view<3>(), n.heads);
  r.problem.k = SplitHeads(r.k.view<3>(), n.groups);
  r.problem.v = SplitHeads(r.v.view<3>(), n.groups);
  r.problem.scale = r.exact ? 0.5f : DefaultScale(n.width);
  return r;
}

RandomProblem RisingProblem(Random& random, Index queries, Index keys, Index tile, float step) {
  constexpr Index kWidth = 12;
  RandomProblem r = PlainProblem(random, {1, 1, 1, queries, keys, kWidth, kWidth});
  for (Index t = 0; t < queries; ++t) r.q.values()[static_cast<std::size_t>(t * kWidth)] = 1.0f / r.problem.scale;
  for (Index s = 0; s < keys; ++s)
    r.k.values()[static_cast<std::size_t>(s * kWidth)] = step * static_cast<float>(s / tile);
  return r;
}

void DrawNeighborhood(Random& random, Index places, Mask& mask) {
  mask.grid_columns = 1 + random.Below(std::min<Index>(places, 7));
  mask.grid_rows = 1 + random.Below(places / mask.grid_columns);
  if (random.Chance(0.5)) mask.grid_rows = places / mask.grid_columns;
  mask.grid_tokens = places - mask.grid_rows * mask.grid_columns;
  mask.neighborhood_rows = random.Below(mask.grid_rows + 1);
  if (random.Chance(0.7)) mask.neighborhood_columns = random.Below(mask.grid_columns + 1);
  if (mask.neighborhood_columns >= 0 && random.Chance(0.2)) mask.neighborhood_rows = -1;
}

void DrawMasks(Random& random, RandomProblem& r, bool positional) {
  Mask& mask = r.problem.mask;
  const Index batch = r.batch(), heads = r.heads(), queries = r.queries(), keys = r.keys() - mask.appended_keys;
  const auto drawn = [&] { return random.Chance(0.25); };
  if (drawn()) {
    r.boolean = DrawFlags(random, batch * heads * queries * keys, 0.4);
    mask.boolean = Broadcast(random, ViewOf(r.boolean, std::array{batch, heads, queries, keys}));
    mask.boolean_keeps = random.Chance(0.5);
  }
  if (drawn()) {
    r.additive = DrawTensor(random, {batch, heads, queries, keys}, r.exact);
    for (float& value : r.additive.values()) value = random.Chance(0.2) ? static_cast<float>(-kInf) : value;
    mask.additive = Broadcast<float>(random, r.additive.view<4>());
  }
  if (drawn()) {
    r.padding = DrawFlags(random, batch * keys, 0.2);
    mask.key_padding = ViewOf(r.padding, std::array{batch, keys});
  }
  if (drawn()) {
    r.query_documents = DrawIntegers<std::int32_t>(random, batch * queries, 2);
    r.key_documents = DrawIntegers<std::int32_t>(random, batch * keys, 2);
    mask.query_documents = ViewOf(r.query_documents, std::array{batch, queries});
    mask.key_documents = ViewOf(r.key_documents, std::array{batch, keys});
  }
  if (drawn()) {
    r.lengths = DrawIntegers<std::int32_t>(random, batch * queries, keys + 1);
    mask.valid_lens = ViewOf(r.lengths, std::array{batch, queries});
    if (random.Chance(0.5)) mask.valid_lens.strides[1] = 0;
  }
  if (!positional) return;
  mask.causal = random.Chance(0.4);
  mask.causal_alignment = random.Chance(0.5) ? CausalAlignment::kTopLeft : CausalAlignment::kBottomRight;
  if (mask.causal && drawn()) {
    r.prefix = DrawIntegers<std::int32_t>(random, batch, keys + 1);
    mask.prefix_lens = ViewOf(r.prefix, std::array{batch});
  }
  if (drawn()) mask.window_left = random.Below(keys + 2);
  if (drawn()) mask.window_right = random.Below(keys + 2);
  if (drawn()) mask.dilation = 1 + random.Below(4);
  if (drawn()) {
    r.global = DrawFlags(random, batch * keys, 0.2);
    mask.global_tokens = ViewOf(r.global, std::array{batch, keys});
  }
  const Index places = r.problem.key_offset + keys, first = QueryPosition(r.problem, 0), end = first + queries;
  const bool fits = first >= 0 && (mask.causal || end <= places);
  if (fits && drawn()) DrawNeighborhood(random, std::max(places, end) + (mask.causal ? random.Below(9) : 0), mask);
}

void DrawBiases(Random& random, RandomProblem& r) {
  const Index heads = r.heads();
  PositionBias& bias = r.problem.position_bias;
  if (random.Chance(0.2)) {
    r.slopes = DrawTensor(random, {heads}, r.exact);
    bias.alibi_slopes = r.slopes.view<1>();
  }
  if (random.Chance(0.2)) {
    const Index entries = 2 * random.Below(6) + 1;
    r.relative = DrawTensor(random, {heads, entries}, r.exact);
    bias.relative = r.relative.view<2>();
    if (random.Chance(0.3)) bias.relative.strides[0] = 0;
  }
  if (random.Chance(0.2)) {
    bias.t5_bidirectional = random.Chance(0.5);
    r.t5 = DrawTensor(random, {4 + random.Below(12), heads}, r.exact);
    bias.t5 = r.t5.view<2>();
    bias.t5_max_distance = 9 + random.Below(40);
  }
}

void DrawNormalizer(Random& random, RandomProblem& r) {
  Normalizer& n = r.problem.normalizer;
  if (random.Chance(0.6)) {
    const std::vector<NormalizerKind> kinds = NormalizerKinds();
    n.kind = kinds[static_cast<std::size_t>(random.Below(static_cast<Index>(kinds.size())))];
  }
  if (random.Chance(0.3)) n.temperature = r.exact ? 0.5f : 0.25f + 0.25f * static_cast<float>(random.Below(10));
  if (n.kind == NormalizerKind::kTopK) n.top_k = 1 + random.Below(r.keys() + 1);
  if (n.kind == NormalizerKind::kSigmoid && random.Chance(0.5)) n.sigmoid_bias = random.Normal();
  const bool takes_sinks = n.kind == NormalizerKind::kSoftmax || n.kind == NormalizerKind::kTopK;
  if (!takes_sinks || random.Chance(0.6)) return;
  r.sinks = random.NormalTensor({r.heads()});
  n.sinks = r.sinks.view<1>();
  if (random.Chance(0.3)) n.sinks.strides[0] = 0;
}

RandomProblem DrawProblem(Random& random, const ProblemSizes& sizes) {
  RandomProblem r = PlainProblem(random, sizes);
  AttentionProblem& p = r.problem;
  if (!r.exact && random.Chance(0.3)) p.scale = random.Normal();
  p.gqa_order = random.Chance(0.5) ? GqaOrder::kBlock : GqaOrder::kInterleaved;
  p.fully_masked = static_cast<FullyMasked>(random.Below(3));
  if (random.Chance(0.2)) p.query_offset = random.Below(12);
  if (random.Chance(0.2)) p.key_offset = random.Below(12);
  if (!r.exact && random.Chance(0.3)) {
    p.softcap = 0.5f + static_cast<float>(random.Below(4));
    p.softcap_order = random.Chance(0.5) ? SoftcapOrder::kBeforeBias : SoftcapOrder::kAfterBias;
  }
  if (random.Chance(0.2)) {
    p.dropout_p = random.Chance(0.2) ? 1.0 : 0.25;
    p.seed = static_cast<std::uint64_t>(random.Below(1000));
  }
  if (random.Chance(0.2)) {
    r.head_mask = random.NormalTensor({r.batch(), r.heads()});
    for (float& factor : r.head_mask.values()) factor = random.Chance(0.3) ? 0.0f : factor;
    p.head_mask = r.head_mask.view<2>();
    if (random.Chance(0.3)) p.head_mask.strides[0] = 0;
  }
  if (random.Chance(0.15)) p.mask.appended_keys = random.Below(std::min<Index>(r.keys(), 3));
  DrawMasks(random, r, /*positional=*/true);
  DrawBiases(random, r);
  DrawNormalizer(random, r);
  return r;
}

namespace {

struct Positions {
  explicit Positions(const AttentionProblem& p) : keys(p.k.shape[2] - p.mask.appended_keys) {
    query = p.query_offset;
    if (p.mask.causal_alignment == CausalAlignment::kBottomRight) query += keys - p.q.shape[2];
    key = p.key_offset;
  }
  Index keys;        // without appended keys
  Index query, key;  // of the first query and the first key
};

}  // namespace

bool PlainHidden(const AttentionProblem& p, Index b, Index h, Index t, Index s) {
  const Mask& m = p.mask;
  const Positions at(p);
  if (s >= at.keys) return false;
  const Index from = at.query + t, to = at.key + s;
  if (m.boolean && (m.boolean(b, h, t, s) != 0) != m.boolean_keeps) return true;
  if (m.additive && double{m.additive(b, h, t, s)} == -kInf) return true;
  if (m.key_padding && m.key_padding(b, s) != 0) return true;
  if (m.valid_lens && s >= m.valid_lens(b, t)) return true;
  if (m.key_documents && m.key_documents(b, s) != m.query_documents(b, t)) return true;
  if (m.causal && to > from && !(m.prefix_lens && s < m.prefix_lens(b))) return true;
  bool far = (from - to) % m.dilation != 0;
  const Index own_patch = from - m.grid_tokens, patch = to - m.grid_tokens;
  if (m.grid_columns > 0 && own_patch >= 0 && patch >= 0) {
    const Index down = patch / m.grid_columns - own_patch / m.grid_columns;
    const Index aside = patch % m.grid_columns - own_patch % m.grid_columns;
    far |= m.neighborhood_rows >= 0 && std::abs(down) > m.neighborhood_rows;
    far |= m.neighborhood_columns >= 0 && std::abs(aside) > m.neighborhood_columns;
  }
  if (m.window_left >= 0) far |= from - to > m.window_left;
  if (m.window_right >= 0) far |= to - from > m.window_right;
  if (far && m.global_tokens) {
    const Index own = from - at.key;
    far = m.global_tokens(b, s) == 0 && !(own >= 0 && own < at.keys && m.global_tokens(b, own) != 0);
  }
  return far;
}

namespace {

/// The biases of one cell, without the additive mask.
double PlainBias(const AttentionProblem& p, Index h, Index t, Index s) {
  const PositionBias& bias = p.position_bias;
  const Positions at(p);
  const Index distance = at.key + s - at.query - t;
  double sum = 0.0;
  if (bias.alibi_slopes) sum -= double{bias.alibi_slopes(h)} * static_cast<double>(std::abs(distance));
  if (bias.relative) {
    const Index reach = (bias.relative.shape[1] - 1) / 2;
    sum += double{bias.relative(h, std::clamp(-distance, -reach, reach) + reach)};
  }
  if (bias.t5) {
    // Follows T5Attention._relative_position_bucket of transformers.
    Index buckets = bias.t5.shape[0], bucket = 0, n = -distance;
    if (bias.t5_bidirectional) {
      buckets /= 2;
      if (n < 0) bucket = buckets;
      n = std::abs(n);
    } else {
      n = std::max<Index>(n, 0);
    }
    const Index exact = buckets / 2;
    if (n < exact) {
      bucket += n;
    } else {
      const float large =
          std::log(static_cast<float>(n) / static_cast<float>(exact)) /
          static_cast<float>(std::log(static_cast<double>(bias.t5_max_distance) / static_cast<double>(exact))) *
          static_cast<float>(buckets - exact);
      bucket += std::min(exact + static_cast<Index>(large), buckets - 1);
    }
    sum += double{bias.t5(bucket, h)};
  }
  return sum;
}

/// The τ for which Σ f(x − τ) = 1, where f rises from 0. It lies between max − 1/slope and max.
double Bisect(const std::vector<double>& x, double low, double high, const std::function<double(double)>& f) {
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    double sum = 0.0;
    for (const double value : x) sum += f(value - middle);
    (sum > 1.0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// The weights of visible scores that are already divided by the temperature.
std::vector<double> PlainNormalize(const Normalizer& n, std::vector<double> x, Index h) {
  const double max = *std::max_element(x.begin(), x.end());
  const auto positive = [](double y) { return std::max(y, 0.0); };
  switch (n.kind) {
    case NormalizerKind::kSparsemax: {
      const double tau = Bisect(x, max - 1, max, positive);
      for (double& y : x) y = positive(y - tau);
      return x;
    }
    case NormalizerKind::kEntmax15: {
      const auto squared = [&](double y) { return positive(y / 2) * positive(y / 2); };
      const double tau = Bisect(x, max - 2, max, squared);
      for (double& y : x) y = squared(y - tau);
      return x;
    }
    case NormalizerKind::kSigmoid:
      for (double& y : x) y = 1 / (1 + std::exp(-(y + double{n.sigmoid_bias})));
      return x;
    case NormalizerKind::kRelu:
      for (double& y : x) y = positive(y) / static_cast<double>(x.size());
      return x;
    case NormalizerKind::kHard: {
      const auto first = std::max_element(x.begin(), x.end()) - x.begin();
      std::fill(x.begin(), x.end(), 0.0);
      x[static_cast<std::size_t>(first)] = 1.0;
      return x;
    }
    case NormalizerKind::kTopK: {
      std::vector<double> sorted = x;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      const double least = sorted[std::min(sorted.size(), static_cast<std::size_t>(n.top_k)) - 1];
      for (double& y : x)
        if (y < least) y = -kInf;
      break;
    }
    case NormalizerKind::kSoftmax:
      break;
  }
  double sum = n.sinks ? std::exp(double{n.sinks(h)}) : 0.0;
  for (const double y : x) sum += std::exp(y);
  for (double& y : x) y = std::exp(y) / sum;
  return x;
}

}  // namespace

AllResults::AllResults(const AttentionProblem& p)
    : sizes{p.q.shape[0], p.q.shape[1], p.q.shape[2], p.k.shape[2]},
      output({sizes[0], sizes[1], sizes[2], p.v.shape[3]}),
      lse({sizes[0], sizes[1], sizes[2]}),
      mean({sizes[0], sizes[2], sizes[3]}) {
  for (Tensor& map : maps) map = Tensor({sizes[0], sizes[1], sizes[2], sizes[3]});
}

AttentionResults AllResults::views() const {
  AttentionResults r;
  r.output = output.view<4>();
  r.lse = lse.view<3>();
  r.mean_weights = mean.view<3>();
  r.weights = maps[kWeights].view<4>();
  View<float, 4>* const others[] = {&r.dropout_mask,  &r.dropped_weights, &r.scores,       &r.scaled_scores,
                                    &r.capped_scores, &r.biased_scores,   &r.masked_scores};
  for (std::size_t i = 0; i < std::size(others); ++i) *others[i] = maps[i + 1].view<4>();
  return r;
}

namespace {

/// Keys or values in fp64. To look them up one by one in a view of any type takes longer than all that is computed with
/// them.
class PlainRows {
 public:
  explicit PlainRows(const KeyValueView& view) : groups_(view.shape[1]), rows_(view.shape[2]), width_(view.shape[3]) {
    for (Index b = 0; b < view.shape[0]; ++b)
      for (Index g = 0; g < groups_; ++g)
        for (Index s = 0; s < rows_; ++s)
          for (Index i = 0; i < width_; ++i) values_.push_back(double{view(b, g, s, i)});
  }

  const double* at(Index b, Index g, Index s) const {
    return values_.data() + ((b * groups_ + g) * rows_ + s) * width_;
  }

 private:
  Index groups_, rows_, width_;
  std::vector<double> values_;
};

/// The group of keys and values of a head.
Index PlainGroup(const AttentionProblem& p, Index h) {
  const Index heads = p.q.shape[1], groups = p.k.shape[1];
  return p.gqa_order == GqaOrder::kBlock ? h * groups / heads : h % groups;
}

/// Computes one row of PlainAttention, except the mask of dropout, which comes from the backend.
void PlainRow(const AttentionProblem& p, const PlainRows& k, const AllResults& out, Index b, Index h, Index t) {
  const Index keys = p.k.shape[2], g = PlainGroup(p, h);
  std::vector<double> visible;
  std::vector<Index> at;
  const auto put = [&](AllResults::Map map, Index s, double x) {
    out.maps[map].view<4>()(b, h, t, s) = static_cast<float>(x);
    return x;
  };
  const auto cap = [&](double x) { return p.softcap > 0 ? p.softcap * std::tanh(x / p.softcap) : x; };
  const float* const query = p.q.host().at(b, h, t);
  double exponentials = 0.0;
  for (Index s = 0; s < keys; ++s) {
    double score = 0.0;
    const double* const key = k.at(b, g, s);
    for (Index i = 0; i < p.q.shape[3]; ++i) score += double{query[i]} * key[i];
    put(AllResults::kScores, s, score);
    score = put(AllResults::kScaled, s, score * double{p.scale});
    if (p.softcap_order == SoftcapOrder::kBeforeBias) score = put(AllResults::kCapped, s, cap(score));
    if (s < keys - p.mask.appended_keys) {
      score += PlainBias(p, h, t, s);
      if (p.mask.additive) score += double{p.mask.additive(b, h, t, s)};
    }
    put(AllResults::kBiased, s, score);
    if (p.softcap_order == SoftcapOrder::kAfterBias) score = put(AllResults::kCapped, s, cap(score));
    const bool hidden = PlainHidden(p, b, h, t, s);
    put(AllResults::kMasked, s, hidden ? -kInf : score);
    put(AllResults::kWeights, s, 0.0);
    if (hidden) continue;
    at.push_back(s);
    visible.push_back(score / double{p.normalizer.temperature});
    exponentials += std::exp(visible.back());
  }
  const bool takes_sinks = p.normalizer.kind == NormalizerKind::kSoftmax || p.normalizer.kind == NormalizerKind::kTopK;
  if (takes_sinks && p.normalizer.sinks && !visible.empty()) exponentials += std::exp(double{p.normalizer.sinks(h)});
  out.lse.view<3>()(b, h, t) = static_cast<float>(std::log(exponentials));
  if (visible.empty()) {
    const double all = p.fully_masked == FullyMasked::kZero  ? 0.0
                       : p.fully_masked == FullyMasked::kNan ? std::nan("")
                                                             : 1.0 / static_cast<double>(keys);
    for (Index s = 0; s < keys; ++s) put(AllResults::kWeights, s, all);
    return;
  }
  const std::vector<double> weights = PlainNormalize(p.normalizer, visible, h);
  for (std::size_t i = 0; i < at.size(); ++i) put(AllResults::kWeights, at[i], weights[i]);
}

}  // namespace

AllResults PlainAttention(const AttentionProblem& p) {
  AllResults out(p);
  const auto& [batch, heads, queries, keys] = out.sizes;
  // The engine decides which cells dropout keeps (its rate is tested elsewhere); what follows is computed here.
  AttentionResults kept;
  kept.dropout_mask = out.maps[AllResults::kDropoutMask].view<4>();
  if (p.dropout_p > 0.0) {
    ReferenceBackend().Attention(p, kept);
  } else {
    std::fill_n(out.maps[AllResults::kDropoutMask].data(), out.maps[AllResults::kDropoutMask].size(), 1.0f);
  }
  const PlainRows k(p.k), v(p.v);
  std::fill_n(out.mean.data(), out.mean.size(), 0.0f);
  for (Index b = 0; b < batch; ++b)
    for (Index t = 0; t < queries; ++t) {
      std::vector<double> mean(static_cast<std::size_t>(keys), 0.0);
      for (Index h = 0; h < heads; ++h) {
        PlainRow(p, k, out, b, h, t);
        const Index g = PlainGroup(p, h);
        const double factor = p.head_mask ? double{p.head_mask(b, h)} : 1.0;
        std::vector<double> sums(static_cast<std::size_t>(p.v.shape[3]), 0.0);
        for (Index s = 0; s < keys; ++s) {
          const double weight = double{out.maps[AllResults::kWeights].view<4>()(b, h, t, s)};
          mean[static_cast<std::size_t>(s)] += weight / static_cast<double>(heads);
          const bool keeps = kept.dropout_mask(b, h, t, s) != 0.0f;
          const double dropped = keeps && factor != 0.0 ? weight / (1.0 - p.dropout_p) * factor : 0.0;
          out.maps[AllResults::kDropped].view<4>()(b, h, t, s) = static_cast<float>(dropped);
          const double* const value = v.at(b, g, s);
          for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += dropped * value[i];
        }
        for (std::size_t i = 0; i < sums.size(); ++i)
          out.output.view<4>()(b, h, t, static_cast<Index>(i)) = static_cast<float>(sums[i]);
      }
      for (std::size_t s = 0; s < mean.size(); ++s)
        out.mean.view<3>()(b, t, static_cast<Index>(s)) = static_cast<float>(mean[s]);
    }
  return out;
}

Tolerances::Tolerances(const RandomProblem& r, const AllResults& expected) {
  const AttentionProblem& p = r.problem;
  scores = static_cast<double>(p.q.shape[3] + 4) * kEpsilon * MaxNorm(r.q.values()) * MaxNorm(r.k.values());
  scaled =
      scores * std::max(1.0, std::abs(double{p.scale})) +
      4 * kEpsilon *
          (MaxNorm(expected.maps[AllResults::kBiased].values()) + MaxNorm(expected.maps[AllResults::kScaled].values()));
  const double exponents = scaled / double{p.normalizer.temperature};
  weights = 4 * exponents + 16 * kEpsilon;
  const double factor = (p.dropout_p < 1.0 ? 1.0 / (1.0 - p.dropout_p) : 0.0) *
                        (p.head_mask ? std::max(1.0, MaxNorm(r.head_mask.values())) : 1.0);
  dropped = weights * factor + 4 * kEpsilon * factor;
  output = dropped * static_cast<double>(r.keys()) * (1 + MaxNorm(r.v.values()));
  lse = 2 * exponents + 8 * kEpsilon * (1 + MaxNorm(expected.lse.values()));
}

void CheckResults(const RandomProblem& r, const AllResults& got, const AllResults& expected) {
  const Tolerances tolerance(r, expected);
  static constexpr const char* kNames[] = {"weights", "dropout mask", "dropped", "scores",
                                           "scaled",  "capped",       "biased",  "masked"};
  const double allowed[] = {
      tolerance.weights, 0.0, tolerance.dropped, tolerance.scores, tolerance.scaled, tolerance.scaled, tolerance.scaled,
      tolerance.scaled};
  const bool skip_weights = RoundingDecides(r, expected);
  for (std::size_t i = 0; i < AllResults::kMaps; ++i) {
    if (skip_weights && (i == AllResults::kWeights || i == AllResults::kDropped)) continue;
    CheckClose(kNames[i], got.maps[i].values(), expected.maps[i].values(), allowed[i]);
  }
  CheckClose("lse", got.lse.values(), expected.lse.values(), tolerance.lse);
  if (skip_weights) return;
  CheckClose("mean weights", got.mean.values(), expected.mean.values(), tolerance.weights);
  CheckClose("output", got.output.values(), expected.output.values(), tolerance.output);
}

bool RoundingDecides(const RandomProblem& r, const AllResults& expected) {
  const Normalizer& n = r.problem.normalizer;
  const bool chooses = n.kind == NormalizerKind::kHard || n.kind == NormalizerKind::kTopK;
  if (!chooses || r.exact) return false;
  const double close = 2 * Tolerances(r, expected).scaled;
  const auto kept = static_cast<std::size_t>(n.kind == NormalizerKind::kHard ? 1 : n.top_k);
  const auto& [batch, heads, queries, keys] = expected.sizes;
  for (Index row = 0; row < batch * heads * queries; ++row) {
    const float* scores = expected.maps[AllResults::kMasked].data() + row * keys;
    std::vector<double> sorted(scores, scores + keys);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (kept <= sorted.size() && i + 1 != kept && std::abs(sorted[i] - sorted[kept - 1]) <= close) return true;
  }
  return false;
}

}  // namespace headlens::testing
