// SPDX-License-Identifier: Apache-2.0
/// The parts that a head's queries, keys and outputs are made of, over a whole text.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/dot.h"
#include "explanations/run_head.h"
#include "headlens/explanation.h"

namespace headlens {

using explanations::DirectionsOf;
using explanations::HeadRows;
using explanations::PartProducts;
using explanations::ReplacedValues;
using explanations::RunHead;
using explanations::Stacked;

namespace {

/// For each token, the sum of what the queries or keys of other tokens multiply it by: [tokens, d].
struct Readers {
  Matrix by_query, by_key, by_value;
};

/// A − U for rows [first, first + count) of the head's map, and A itself. Rows of queries that are padding are 0.
struct Strip {
  Tensor weights;   // [rows, keys]
  Matrix contrast;  // [rows, keys]
};

Strip StripOf(const RunHead& head, Index first, Index count) {
  const Index keys = head.key_tokens();
  Strip strip{Tensor({count, keys}), Matrix(count, keys)};
  const Tensor masked({count, keys});
  AttentionResults results;
  const std::array<Index, 4> all = {1, 1, count, keys};
  results.weights = DenseView(strip.weights.data(), all);
  results.masked_scores = DenseView(masked.data(), all);
  head.Fill(first, count, results);
  const std::span<const std::uint8_t> padding = head.run().request->input().padding;
  for (Index i = 0; i < count; ++i) {
    float* weights = strip.weights.view<2>().at(i);
    const float* scores = masked.view<2>().at(i);
    if (!padding.empty() && padding[static_cast<std::size_t>(first + i)]) {
      std::fill_n(weights, keys, 0.0f);
      continue;
    }
    const auto visible =
        std::count_if(scores, scores + keys, [](float s) { return s > -std::numeric_limits<float>::infinity(); });
    for (Index j = 0; j < keys; ++j) {
      const bool is_visible = scores[j] > -std::numeric_limits<float>::infinity();
      strip.contrast(i, j) = double{weights[j]} - (is_visible ? 1.0 / static_cast<double>(visible) : 0.0);
    }
  }
  return strip;
}

/// to(i) += factor · from(j), for rows of d numbers.
void AddRow(double factor, const auto& from, Index j, const Matrix& to, Index i) {
  if (factor == 0.0) return;
  for (Index e = 0; e < to.columns(); ++e) to(i, e) += factor * double{from(j, e)};
}

/// Gives what reads replaced values to the tokens whose values were read instead.
void MoveReaders(const ReplacedValues& replaced, const Matrix& by_value) {
  std::vector<double> all(static_cast<std::size_t>(by_value.columns()), 0.0);
  for (const std::int32_t token : replaced.tokens)
    for (Index e = 0; e < by_value.columns(); ++e) {
      all[static_cast<std::size_t>(e)] += by_value(token, e);
      by_value(token, e) = 0.0;
    }
  for (const std::int32_t token : replaced.averaged)
    for (Index e = 0; e < by_value.columns(); ++e)
      by_value(token, e) += all[static_cast<std::size_t>(e)] / static_cast<double>(replaced.averaged.size());
}

/// Sums the map from all sides, some rows at a time.
Readers ReadersOf(const RunHead& head) {
  const Index length = head.query_tokens(), keys = head.key_tokens(), d = head.width();
  constexpr Index kRows = 64;
  Readers readers{Matrix(length, d), Matrix(keys, d), Matrix(keys, d)};
  const View<const float, 2> q = head.queries(), k = head.keys();
  for (Index first = 0; first < length; first += kRows) {
    const Index count = std::min(kRows, length - first);
    const Strip strip = StripOf(head, first, count);
    const Matrix back = head.BackThroughOutput(first, DirectionsOf(head.Written(first, count)));
    for (Index i = 0; i < count; ++i)
      for (Index j = 0; j < keys; ++j) {
        AddRow(strip.contrast(i, j), k, j, readers.by_query, first + i);
        AddRow(strip.contrast(i, j), q, first + i, readers.by_key, j);
        AddRow(double{strip.weights.view<2>()(i, j)}, back, i, readers.by_value, j);
      }
  }
  MoveReaders(head.Replaced(), readers.by_value);
  return readers;
}

/// sums_a += factor · Σ_t reader_t · x_a(t) for every part a of tokens [first, first + tokens).
void AddSums(const View<float, 3>& x, const Matrix& readers, Index first, double factor, std::vector<double>& sums) {
  sums.resize(static_cast<std::size_t>(x.shape[1]));
  for (Index n = 0; n < x.shape[0]; ++n)
    for (Index a = 0; a < x.shape[1]; ++a)
      sums[static_cast<std::size_t>(a)] +=
          factor * Dot(x.at(n, a), readers.row(first + n).data(), static_cast<std::size_t>(x.shape[2]));
}

/// The use of a stream that is read: queries, or keys and values, or all of them.
enum class ReadFor { kQueries, kKeys, kAll };

/// Adds up what queries, or keys and values are made of, some tokens of their stream at a time.
void AddStream(const RunHead& head, const Readers& readers, ReadFor what, HeadSources& sources) {
  constexpr Index kTokens = 256;  // their products are in memory at a time
  const bool has_keys = what != ReadFor::kQueries, has_queries = what != ReadFor::kKeys;
  std::vector<float> bias_of_two, bias;
  HeadRows rows = has_keys ? Stacked(head.k(), head.v(), bias_of_two) : head.q();
  if (what == ReadFor::kAll) rows = Stacked(std::move(rows), head.q(), bias);
  const Index length = has_keys ? head.key_tokens() : head.query_tokens();
  for (Index first = 0; first < length; first += kTokens) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(std::min(kTokens, length - first)));
    std::iota(tokens.begin(), tokens.end(), static_cast<std::int32_t>(first));
    PartProducts products = has_keys ? head.ProjectKeys(tokens, rows) : head.ProjectQueries(tokens, rows);
    const View<float, 3> x = products.values.view<3>();
    const auto of = [&](Index number) {
      return View<float, 3>{x.at(0, 0, number * head.width()), {x.shape[0], x.shape[1], head.width()}, x.strides};
    };
    if (has_queries) {
      const View<float, 3> queries = of(has_keys ? 2 : 0);
      head.AsQueries(tokens, queries);
      AddSums(queries, readers.by_query, first, double{head.scale()}, sources.query);
      sources.query_parts = products.parts;
    }
    if (!has_keys) continue;
    head.AsKeys(tokens, of(0));
    AddSums(of(0), readers.by_key, first, double{head.scale()}, sources.key);
    AddSums(of(1), readers.by_value, first, double{head.factor()}, sources.value);
    sources.key_parts = std::move(products.parts);
  }
}

}  // namespace

HeadSources SourcesOf(const ModelAttention& attention, Index layer, Index of_head, AttentionPart part) {
  const RunHead head(attention.run(), layer, of_head, part);
  head.RequireOwnOutput();
  const Readers readers = ReadersOf(head);
  HeadSources sources;
  AddStream(head, readers, head.is_cross() ? ReadFor::kKeys : ReadFor::kAll, sources);
  if (head.is_cross()) AddStream(head, readers, ReadFor::kQueries, sources);
  sources.value_parts = sources.key_parts;
  return sources;
}

}  // namespace headlens
