// SPDX-License-Identifier: Apache-2.0
/// The parts that a head's queries, keys and outputs are made of, over a whole text.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "headlens/explanation.h"
#include "models/run_head.h"

namespace headlens {

using models::DirectionsOf;
using models::HeadRows;
using models::PartProducts;
using models::RunHead;

namespace {

/// For each token, the sum of what the queries or keys of other tokens multiply it by: [T, d].
struct Readers {
  Matrix by_query, by_key, by_value;
};

/// A − U for rows [first, first + count) of the head's map, and A itself. Rows of queries that are padding are 0.
struct Strip {
  Tensor weights;   // [rows, T]
  Matrix contrast;  // [rows, T]
};

Strip StripOf(const RunHead& head, Index first, Index count) {
  const Index keys = head.tokens();
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

/// Sums the map from all sides, some rows at a time.
Readers ReadersOf(const RunHead& head) {
  const Index length = head.tokens(), d = head.width();
  constexpr Index kRows = 64;
  Readers readers{Matrix(length, d), Matrix(length, d), Matrix(length, d)};
  const View<const float, 2> q = head.queries(), k = head.keys(), z = head.outputs();
  for (Index first = 0; first < length; first += kRows) {
    const Index count = std::min(kRows, length - first);
    const Strip strip = StripOf(head, first, count);
    const Matrix back = head.BackThroughOutput(DirectionsOf(head.Written(Rows(z, first, count))));
    for (Index i = 0; i < count; ++i)
      for (Index j = 0; j < length; ++j) {
        AddRow(strip.contrast(i, j), k, j, readers.by_query, first + i);
        AddRow(strip.contrast(i, j), q, first + i, readers.by_key, j);
        AddRow(double{strip.weights.view<2>()(i, j)}, back, i, readers.by_value, j);
      }
  }
  return readers;
}

/// Σ_t reader_t · x_a(t) for every part a, times a factor.
std::vector<double> SumOver(const RunHead& head, const HeadRows& rows, const Matrix& readers, double factor,
                            bool rotates, std::vector<StreamPart>& parts) {
  constexpr Index kTokens = 256;  // their products are in memory at a time
  std::vector<std::int32_t> all(static_cast<std::size_t>(head.tokens()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> sums;
  for (std::size_t first = 0; first < all.size(); first += kTokens) {
    const std::span<const std::int32_t> tokens =
        std::span(all).subspan(first, std::min<std::size_t>(kTokens, all.size() - first));
    PartProducts products = head.Project(tokens, rows);
    const View<float, 3> x = products.values.view<3>();
    if (rotates) head.Rotate(tokens, x);
    sums.resize(products.parts.size());
    for (Index n = 0; n < x.shape[0]; ++n)
      for (Index a = 0; a < x.shape[1]; ++a)
        for (Index e = 0; e < x.shape[2]; ++e)
          sums[static_cast<std::size_t>(a)] +=
              factor * double{x(n, a, e)} * readers(Index{tokens[static_cast<std::size_t>(n)]}, e);
    parts = std::move(products.parts);
  }
  return sums;
}

}  // namespace

HeadSources SourcesOf(const ModelAttention& attention, Index layer, Index of_head) {
  const RunHead head(attention.run(), layer, of_head);
  head.RequireOwnOutput();
  const Readers readers = ReadersOf(head);
  const double scale = double{head.scale()}, factor = double{head.factor()};
  HeadSources sources;
  sources.query = SumOver(head, head.q(), readers.by_query, scale, true, sources.query_parts);
  sources.key = SumOver(head, head.k(), readers.by_key, scale, true, sources.key_parts);
  sources.value = SumOver(head, head.v(), readers.by_value, factor, false, sources.value_parts);
  return sources;
}

}  // namespace headlens
