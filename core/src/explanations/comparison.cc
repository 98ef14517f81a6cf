// SPDX-License-Identifier: Apache-2.0
#include "headlens/comparison.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "headlens/explanation.h"
#include "models/run.h"

namespace headlens {
namespace {

using Ids = std::span<const std::int32_t>;

/// For each beginning of `b`, the length of a longest common subsequence of it and the whole of `a`.
std::vector<std::int32_t> CommonLengths(const auto& a, const auto& b) {
  std::vector<std::int32_t> lengths(b.size() + 1, 0);
  for (const std::int32_t token : a) {
    std::int32_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int32_t above = lengths[j + 1];
      lengths[j + 1] = b[j] == token ? diagonal + 1 : std::max(above, lengths[j]);
      diagonal = above;
    }
  }
  return lengths;
}

/// The number of tokens of `b` to align with `first`, so that the rest of them is aligned with `second`.
std::size_t CutOf(Ids first, Ids second, Ids b) {
  const std::vector<std::int32_t> before = CommonLengths(first, b),
                                  after = CommonLengths(std::views::reverse(second), std::views::reverse(b));
  std::size_t cut = 0;
  for (std::size_t j = 1; j <= b.size(); ++j)
    if (before[j] + after[b.size() - j] > before[cut] + after[b.size() - cut]) cut = j;
  return cut;
}

Index SizeOf(Ids ids) { return static_cast<Index>(ids.size()); }

/// Adds the pairs of two parts of the texts, which begin at `at`.
void Align(Ids a, Ids b, TokenPair at, std::vector<TokenPair>& pairs) {
  const auto head = std::ranges::mismatch(a, b).in1 - a.begin();
  for (Index i = 0; i < head; ++i) pairs.push_back({at.a++, at.b++});
  a = a.subspan(static_cast<std::size_t>(head));
  b = b.subspan(static_cast<std::size_t>(head));
  const auto tail = std::ranges::mismatch(a | std::views::reverse, b | std::views::reverse).in1 - a.rbegin();
  a = a.first(a.size() - static_cast<std::size_t>(tail));
  b = b.first(b.size() - static_cast<std::size_t>(tail));
  if (a.size() == 1) {
    const auto found = std::ranges::find(b, a.front());
    if (found != b.end()) pairs.push_back({at.a, at.b + (found - b.begin())});
  } else if (!a.empty() && !b.empty()) {
    const Ids first = a.first(a.size() / 2), second = a.subspan(a.size() / 2);
    const std::size_t cut = CutOf(first, second, b);
    Align(first, b.first(cut), at, pairs);
    Align(second, b.subspan(cut), {at.a + SizeOf(first), at.b + static_cast<Index>(cut)}, pairs);
  }
  for (Index i = 0; i < tail; ++i) pairs.push_back({at.a + SizeOf(a) + i, at.b + SizeOf(b) + i});
}

/// "`what` has `got` things, expected `expected` as `a` has"
Error OtherNumber(const char* what, Index got, Index expected, const char* things) {
  return Wrong(ErrorCode::kShape, what, "has", {got, things}, {expected, " as `a` has"});
}

}  // namespace

std::vector<TokenPair> AlignTokens(Ids a, Ids b) {
  std::vector<TokenPair> pairs;
  Align(a, b, {}, pairs);
  return pairs;
}

std::vector<TokenPair> AlignTokens(const ModelAttention& a, const ModelAttention& b) {
  const Index words_a = a.run().info().vocab_size, words_b = b.run().info().vocab_size;
  if ((words_a == 0) != (words_b == 0))
    throw Error(ErrorCode::kUnsupported, "the tokens of a text and of an image cannot be compared");
  if (words_a != words_b) throw OtherNumber("the vocabulary of `b`", words_b, words_a, " tokens");
  if (words_a > 0) return AlignTokens(a.run().request->input().ids, b.run().request->input().ids);
  if (a.length() != b.length()) throw OtherNumber("the image of `b`", b.length(), a.length(), " tokens");
  std::vector<TokenPair> pairs;
  for (Index i = 0; i < a.length(); ++i) pairs.push_back({i, i});
  return pairs;
}

namespace {

void CheckPairs(std::span<const TokenPair> pairs, Index length_of_a, Index length_of_b) {
  const auto check = [](const char* run, Index token, Index length) {
    if (token >= 0 && token < length) return;
    throw ValueError({"a token of ", run, " in `pairs`"}, token, {"0 to ", length - 1});
  };
  for (const TokenPair& pair : pairs) {
    check("a", pair.a, length_of_a);
    check("b", pair.b, length_of_b);
  }
}

/// Calls use(i, first, count) for every stretch of `rows` that counts up, from element i on.
void EachStretch(const std::vector<Index>& rows, const auto& use) {
  for (std::size_t i = 0, end = 0; i < rows.size(); i = end) {
    for (end = i + 1; end < rows.size() && rows[end] == rows[end - 1] + 1;) ++end;
    use(static_cast<Index>(i), rows[i], static_cast<Index>(end - i));
  }
}

/// The positions of some pairs in one of the runs.
std::vector<Index> PositionsIn(std::span<const TokenPair> pairs, Index TokenPair::* run) {
  std::vector<Index> positions;
  for (const TokenPair& pair : pairs) positions.push_back(pair.*run);
  return positions;
}

/// A map of a run, with the numbers of tokens of its rows and columns.
class CheckedMap {
 public:
  explicit CheckedMap(const RunMap& map)
      : head_(map.head),
        maps_(map.attention.Maps(map.layer, map.part)),
        queries_(map.attention.length()),
        keys_(queries_) {
    const models::Run& run = map.attention.run();
    const bool is_encoder = map.part == AttentionPart::kEncoder;
    models::CheckLayer((is_encoder ? run.Encoder() : run).info(), map.layer, map.head);
    if (map.part != AttentionPart::kDecoder) keys_ = run.Encoder().length();
    if (is_encoder) queries_ = keys_;
  }

  Index queries() const { return queries_; }
  Index keys() const { return keys_; }

  /// These rows of the map, over all keys.
  Tensor RowsAt(const std::vector<Index>& rows) const {
    Tensor weights({static_cast<Index>(rows.size()), keys_});
    EachStretch(rows, [&](Index at, Index first, Index count) {
      maps_.Map(0, head_, {first, first + count}, Rows(weights.view<2>(), at, count));
    });
    return weights;
  }

 private:
  Index head_;
  const AttentionMaps& maps_;
  Index queries_, keys_;
};

}  // namespace

Tensor MapDifference(const RunMap& a, const RunMap& b, std::span<const TokenPair> pairs, Index row_begin,
                     Index row_end) {
  return MapDifference(a, b, pairs, pairs, row_begin, row_end);
}

Tensor MapDifference(const RunMap& a, const RunMap& b, std::span<const TokenPair> queries,
                     std::span<const TokenPair> keys, Index row_begin, Index row_end) {
  constexpr Index kRows = 64;  // of both maps in memory at a time
  if (row_end == MapWindow::kAll) row_end = std::ssize(queries);
  const CheckedMap map_a(a), map_b(b);
  models::CheckRows(row_begin, row_end, std::ssize(queries));
  CheckPairs(queries, map_a.queries(), map_b.queries());
  CheckPairs(keys, map_a.keys(), map_b.keys());
  Tensor difference({row_end - row_begin, std::ssize(keys)});
  for (Index first = row_begin; first < row_end; first += kRows) {
    const auto rows = static_cast<std::size_t>(std::min(kRows, row_end - first));
    const std::span<const TokenPair> strip = queries.subspan(static_cast<std::size_t>(first), rows);
    const Tensor of_a = map_a.RowsAt(PositionsIn(strip, &TokenPair::a)),
                 of_b = map_b.RowsAt(PositionsIn(strip, &TokenPair::b));
    for (Index i = 0; i < static_cast<Index>(rows); ++i) {
      const float *from_a = of_a.view<2>().at(i), *from_b = of_b.view<2>().at(i);
      float* to = difference.view<2>().at(first - row_begin + i);
      for (const TokenPair& key : keys) *to++ = from_b[key.b] - from_a[key.a];
    }
  }
  return difference;
}

namespace {

bool PredictsOnce(const ModelAttention& attention) { return attention.run().model->parameters.head->first_row_only; }

/// Throws unless the predictions of both runs are over the same tokens or classes.
void CheckPredictions(const ModelAttention& a, const ModelAttention& b) {
  models::RequireLogits(*a.run().model);
  models::RequireLogits(*b.run().model);
  if (PredictsOnce(a) != PredictsOnce(b)) {
    throw Error(ErrorCode::kUnsupported, "a prediction at every token and one for a whole image cannot be compared");
  }
  const Index of_a = a.run().info().logits, of_b = b.run().info().logits;
  if (of_a != of_b) throw OtherNumber("the output of `b`", of_b, of_a, " logits");
}

/// The logits at these tokens.
Tensor LogitsAt(const ModelAttention& attention, const std::vector<Index>& rows) {
  const Index width = attention.run().info().logits;
  Tensor logits({static_cast<Index>(rows.size()), width});
  EachStretch(rows, [&](Index at, Index first, Index count) {
    const Tensor stretch = attention.Logits(first, first + count);
    std::ranges::copy(stretch.values(), logits.view<2>().at(at));
  });
  return logits;
}

double Divergence(std::span<const float> a, std::span<const float> b) {
  const double all_a = LogSumExp(a), all_b = LogSumExp(b);
  double sum = 0.0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    const double ln_a = double{a[v]} - all_a, ln_b = double{b[v]} - all_b, p = std::exp(ln_a);
    if (p != 0.0) sum += p * (ln_a - ln_b);
  }
  return std::max(sum, 0.0);  // which it is up to rounding; NaN stays
}

std::span<const float> Row(const Tensor& logits, Index row) {
  return {logits.view<2>().at(row), static_cast<std::size_t>(logits.shape()[1])};
}

}  // namespace

std::vector<double> PredictionDivergences(const ModelAttention& a, const ModelAttention& b,
                                          std::span<const TokenPair> pairs) {
  constexpr std::size_t kRows = 16;  // of logits, whose vocabulary may be large, in memory at a time
  const TokenPair only = {};
  CheckPredictions(a, b);
  if (PredictsOnce(a)) pairs = {&only, 1};
  CheckPairs(pairs, a.length(), b.length());
  std::vector<double> divergences;
  for (std::size_t first = 0; first < pairs.size(); first += kRows) {
    const std::span<const TokenPair> some = pairs.subspan(first, std::min(kRows, pairs.size() - first));
    const Tensor of_a = LogitsAt(a, PositionsIn(some, &TokenPair::a)),
                 of_b = LogitsAt(b, PositionsIn(some, &TokenPair::b));
    for (Index i = 0; i < of_a.shape()[0]; ++i) divergences.push_back(Divergence(Row(of_a, i), Row(of_b, i)));
  }
  return divergences;
}

std::vector<float> LogProbabilityChanges(const ModelAttention& a, const ModelAttention& b, const TokenPair& pair) {
  CheckPredictions(a, b);
  CheckPairs({&pair, 1}, a.length(), b.length());
  const Tensor of_a = a.Logits(pair.a, pair.a + 1), of_b = b.Logits(pair.b, pair.b + 1);
  const double all_a = LogSumExp(of_a.values()), all_b = LogSumExp(of_b.values());
  std::vector<float> changes;
  for (std::size_t v = 0; v < of_a.values().size(); ++v) {
    const double before = double{of_a.values()[v]} - all_a, after = double{of_b.values()[v]} - all_b;
    changes.push_back(before == after ? 0.0f : static_cast<float>(after - before));
  }
  return changes;
}

}  // namespace headlens
