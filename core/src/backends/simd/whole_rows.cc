// SPDX-License-Identifier: Apache-2.0
#include "backends/simd/whole_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/philox.h"
#include "base/views.h"

namespace headlens::simd {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

/// Returns true when all keys have to be computed: stages that are wanted show every cell, and a NaN may spread from
/// any key.
bool NeedsAllKeys(const AttentionProblem& p, const AttentionResults& r) {
  return r.scores || r.scaled_scores || r.capped_scores || r.biased_scores || p.mask.appended_keys > 0 ||
         p.masked_nan == MaskedNan::kSpreads;
}

/// Returns true when the weights are too large to stay in the caches.
bool AreMany(const DeviceView<float, 4>& weights) {
  constexpr Index kMany = Index{1} << 20;  // 4 MiB
  return weights && ElementCount(SizesOf(weights)) >= kMany;
}

}  // namespace

Index WholeRows::BlockRows(Index keys) {
  constexpr Index kBlockFloats = 64 * 1024;  // 256 KiB
  return std::clamp<Index>(kBlockFloats / std::max<Index>(keys, 1), 24, 96) / 12 * 12;
}

WholeRows::WholeRows(const AttentionProblem& problem, const AttentionResults& results, const Kernels& kernels)
    : p_(problem),
      r_(results),
      kernels_(kernels),
      scorer_(problem, results, kernels),
      normalize_(FindNormalize(problem.normalizer.kind)),
      keys_(problem.k.shape[2]),
      stride_(ScoreStride(keys_)),
      drops_(problem.dropout_p > 0.0),
      needs_all_keys_(NeedsAllKeys(problem, results)),
      streams_(kernels.stream_row && AreMany(results.weights)),
      in_place_(results.weights && !streams_) {
  const Index rows = BlockRows(keys_);
  if (!in_place_) block_ = Buffer<float>(ElementCount({rows, stride_}));
  if (drops_) dropped_ = Buffer<float>(ElementCount({rows, stride_}));
}

void WholeRows::Run(const RowBlock& block, const PackedHead& head) {
  FindRanges(block, /*together=*/!head.k);
  float* cells = in_place_ ? block.begin(r_.weights) : block_.data();
  const Index stride = in_place_ ? block.stride(r_.weights) : stride_;
  Products(block, head, cells, stride);
  bool any_fully_masked = false;
  for (Index i = 0; i < block.count; ++i) {
    const KeyRange visible = visible_[static_cast<std::size_t>(i)];
    Row row{block.at(i), visible, all_keys_ ? KeyRange{0, keys_} : visible, cells + i * stride};
    any_fully_masked |= RunRow(row, i);
  }
  if (streams_) kernels_.flush_streams();
  if (!r_.output) return;
  const float* weights = drops_ ? dropped_.data() : cells;
  Blend(block, head, weights, drops_ ? stride_ : stride);
  Finish(block, weights, drops_ ? stride_ : stride, any_fully_masked);
}

/// Finds the keys that each row needs, and those that each tile of rows needs (or all rows together). A row without any
/// visible key may have to average all values, so its block then needs all keys.
void WholeRows::FindRanges(const RowBlock& block, bool together) {
  visible_.resize(static_cast<std::size_t>(block.count));
  tiles_.assign(static_cast<std::size_t>((block.count + kernels_.tile_rows - 1) / kernels_.tile_rows), KeyRange{});
  all_keys_ = needs_all_keys_;
  for (Index i = 0; i < block.count; ++i) {
    const RowIndex at = block.at(i);
    const KeyRange visible = scorer_.Range(at.b, at.t);
    visible_[static_cast<std::size_t>(i)] = visible;
    KeyRange& tile = tiles_[static_cast<std::size_t>(i / kernels_.tile_rows)];
    tile = Union(tile, visible);
  }
  if (p_.fully_masked != FullyMasked::kZero)
    for (Index i = 0; i < block.count && !all_keys_; ++i) all_keys_ = AllMasked(block, i);
  if (all_keys_) std::fill(tiles_.begin(), tiles_.end(), KeyRange{0, keys_});
  if (!together) return;
  KeyRange all;
  for (const KeyRange& tile : tiles_) all = Union(all, tile);
  std::fill(tiles_.begin(), tiles_.end(), all);
}

/// cells ← queries · keys.
void WholeRows::Products(const RowBlock& block, const PackedHead& head, float* cells, Index stride) const {
  const float* q = block.begin(p_.q);
  const Index q_stride = block.stride(p_.q), width = p_.q.shape[3];
  if (head.k) {
    return kernels_.gemm({.a = q,
                          .lda = q_stride,
                          .b = head.k,
                          .b_row = kernels_.panel_width,
                          .b_panel = kernels_.panel_width * width,
                          .bias = nullptr,
                          .c = cells,
                          .ldc = stride,
                          .m = block.count,
                          .n = keys_,
                          .k = width,
                          .columns = tiles_.data()});
  }
  EachPart(block, p_.k, [&](KeyRange keys, const HeadRows& rows) {
    for (Index i = 0; i < block.count; ++i) kernels_.dots(q + i * q_stride, rows, cells + i * stride + keys.begin);
  });
}

/// Calls f(keys, their rows of `view`) for the keys that the block's rows need. Several rows take them in parts that
/// stay in the first-level cache while all rows read them. There is at least one part.
template <class F>
void WholeRows::EachPart(const RowBlock& block, const KeyValueView& view, const F& f) const {
  constexpr Index kPartElements = 4096;
  const KeyRange keys = tiles_.front();
  const Index several = std::max<Index>(kPartElements / std::max<Index>(view.shape[3], 1), 16);
  const Index step = block.count > 1 ? several : std::max<Index>(keys_, 1);
  for (Index s = keys.begin; s == keys.begin || s < keys.end; s += step) {
    const KeyRange part{s, std::min(s + step, keys.end)};
    f(part, RowsOf(view, block.b, block.g, part));
  }
}

/// Turns the scores of a row into weights and stores the results that are wanted. Returns true when the row is fully
/// masked. Cells that only other rows of its tile need, or that are only stored, become 0.
bool WholeRows::RunRow(Row& row, Index i) {
  scorer_.Score(row);
  const bool fully_masked = Normalize(row);
  if (streams_) kernels_.stream_row(row.cells, row.computed, keys_, r_.weights.at(row.at.b, row.at.h, row.at.t).host());
  const KeyRange filled = in_place_ ? KeyRange{0, keys_} : tiles_[static_cast<std::size_t>(i / kernels_.tile_rows)];
  std::fill(row.cells + filled.begin, row.cells + std::max(row.computed.begin, filled.begin), 0.0f);
  std::fill(row.cells + std::max(row.computed.end, filled.begin), row.cells + filled.end, 0.0f);
  if (r_.mean_weights) {
    kernels_.add_scaled(r_.mean_weights.at(row.at.b, row.at.t) + row.computed.begin, row.count(), row.begin(),
                        1.0f / static_cast<float>(p_.q.shape[1]));
  }
  if (r_.dropout_mask) StoreDropoutMask(row);
  if (drops_) Drop(row, i);
  if (r_.dropped_weights) StoreDropped(row, drops_ ? dropped_.data() + i * stride_ : row.cells);
  return fully_masked;
}

/// Turns masked scores into weights, in place. Returns true when all cells of the row are masked.
bool WholeRows::Normalize(const Row& row) {
  float lse = kMasked;
  bool fully_masked = false;
  if (scorer_.spreads() && kernels_.any_nan(row.begin(), row.count())) {
    nothing_hidden_.assign(static_cast<std::size_t>(keys_), 0);
    lse = NormalizeUnusual(row, nothing_hidden_);
  } else {
    const float max = kernels_.max(row.begin(), row.count());
    fully_masked = max == kMasked && scorer_.AllMasked(row.at, row.visible);
    if (fully_masked) {
      const float value = p_.fully_masked == FullyMasked::kZero  ? 0.0f
                          : p_.fully_masked == FullyMasked::kNan ? std::numeric_limits<float>::quiet_NaN()
                                                                 : 1.0f / static_cast<float>(keys_);
      std::fill_n(row.begin(), row.count(), value);
    } else {
      lse = NormalizeVisible(row, max);
    }
  }
  if (r_.lse) r_.lse(row.at.b, row.at.h, row.at.t) = lse;
  return fully_masked;
}

/// Normalises a row with visible keys. Returns ln Σ exp.
float WholeRows::NormalizeVisible(const Row& row, float max) {
  const Normalizer& n = p_.normalizer;
  const std::span<float> cells(row.begin(), static_cast<std::size_t>(row.count()));
  const bool softmax = n.kind == NormalizerKind::kSoftmax;
  const float factor = scorer_.factor();
  if (!std::isfinite(max * factor) || (!softmax && kernels_.any_nan(cells.data(), row.count()))) {
    return NormalizeUnusual(row, scorer_.Hidden(row.at));
  }
  ScoreRow about{.normalizer = n,
                 .max = max,
                 .sink = n.sinks ? std::optional(double{n.sinks(row.at.h)}) : std::nullopt,
                 .factor = factor,
                 .wants_lse = static_cast<bool>(r_.lse)};
  if (!scorer_.folds_scale()) {
    if (factor != 1.0f) kernels_.scale(cells.data(), row.count(), factor);
    about.max = max * factor;
    about.factor = 1.0f;
  }
  double lse = 0.0;
  if (r_.lse && !softmax) {
    scratch_.assign(cells.begin(), cells.end());
    lse = *Softmax(kernels_, scratch_, about);
  }
  lse = normalize_(kernels_, cells, about).value_or(lse);
  if (softmax && std::isnan(lse)) KeepMaskedAtZero(row);
  return static_cast<float>(lse);
}

/// Normalises a row with NaN or infinite scores, or scores that the factor makes infinite. Such rows are rare, so it is
/// slow, in fp64.
float WholeRows::NormalizeUnusual(const Row& row, std::span<const std::uint8_t> hidden) {
  std::vector<double> scores(row.begin(), row.begin() + row.count());
  if (scorer_.folds_scale())
    for (double& x : scores) x *= double{p_.scale};
  const double lse =
      NormalizeRow(p_.normalizer, row.at.h, scores,
                   hidden.subspan(static_cast<std::size_t>(row.computed.begin), static_cast<std::size_t>(row.count())));
  std::transform(scores.begin(), scores.end(), row.begin(), [](double x) { return static_cast<float>(x); });
  return static_cast<float>(lse);
}

/// Sets masked cells to exactly 0 in a row that a NaN has spread over.
void WholeRows::KeepMaskedAtZero(const Row& row) {
  const auto& hidden = scorer_.Hidden(row.at);
  for (Index s = row.computed.begin; s < row.computed.end; ++s)
    if (hidden[static_cast<std::size_t>(s)]) row.cells[s] = 0.0f;
}

/// Multiplies `cells`, those of `keys` in one row, by `factor`, or sets them to 0 where dropout drops them.
void WholeRows::DropCells(const RowIndex& at, KeyRange keys, float factor, float* cells) const {
  const Index row = (at.b * p_.q.shape[1] + at.h) * p_.q.shape[2] + at.t;
  kernels_.drop(cells, keys.end - keys.begin, factor, p_.seed, static_cast<std::uint64_t>(row * keys_ + keys.begin),
                HighestDropped(p_.dropout_p));
}

void WholeRows::Drop(const Row& row, Index i) {
  const auto factor = p_.dropout_p < 1.0 ? static_cast<float>(1.0 / (1.0 - p_.dropout_p)) : 0.0f;
  const KeyRange read = tiles_[static_cast<std::size_t>(i / kernels_.tile_rows)];
  float* to = dropped_.data() + i * stride_;
  std::fill(to + read.begin, to + read.end, 0.0f);
  std::copy_n(row.begin(), row.count(), to + row.computed.begin);
  DropCells(row.at, row.computed, factor, to + row.computed.begin);
}

void WholeRows::StoreDropoutMask(const Row& row) const {
  float* to = r_.dropout_mask.at(row.at.b, row.at.h, row.at.t);
  std::fill_n(to, keys_, 1.0f);
  if (drops_) DropCells(row.at, {0, keys_}, 1.0f, to);
}

/// Stores `cells` times the factor of the head mask.
void WholeRows::StoreDropped(const Row& row, const float* cells) const {
  float* to = r_.dropped_weights.at(row.at.b, row.at.h, row.at.t);
  const float factor = HeadFactor(row.at);
  std::fill_n(to, keys_, 0.0f);
  if (factor == 0.0f) return;
  std::copy_n(cells + row.computed.begin, row.count(), to + row.computed.begin);
  if (factor != 1.0f) kernels_.scale(to, keys_, factor);
}

/// output rows = weights · values.
void WholeRows::Blend(const RowBlock& block, const PackedHead& head, const float* weights, Index stride) const {
  float* out = block.begin(r_.output);
  const Index out_stride = block.stride(r_.output), width = p_.v.shape[3];
  if (head.v) {
    return kernels_.gemm({.a = weights,
                          .lda = stride,
                          .b = head.v,
                          .b_row = kernels_.panel_width,
                          .b_panel = kernels_.panel_width * keys_,
                          .bias = nullptr,
                          .c = out,
                          .ldc = out_stride,
                          .m = block.count,
                          .n = width,
                          .k = keys_,
                          .depths = tiles_.data()});
  }
  EachPart(block, p_.v, [&](KeyRange keys, const HeadRows& rows) {
    const bool accumulate = keys.begin > tiles_.front().begin;
    for (Index i = 0; i < block.count; ++i)
      kernels_.blend(weights + i * stride + keys.begin, rows, accumulate, out + i * out_stride);
  });
}

/// Applies the head mask, and computes rows again that a masked NaN has reached.
void WholeRows::Finish(const RowBlock& block, const float* weights, Index stride, bool any_fully_masked) {
  const Index out_stride = block.stride(r_.output), width = p_.v.shape[3];
  for (Index i = 0; i < block.count; ++i) {
    float* row = block.begin(r_.output) + i * out_stride;
    const float factor = HeadFactor(block.at(i));
    if (factor == 0.0f) {
      std::fill_n(row, width, 0.0f);
      continue;
    }
    if (!scorer_.spreads() && !kernels_.all_finite(row, width))
      BlendVisible(block, i, weights + i * stride, any_fully_masked);
    if (factor != 1.0f) kernels_.scale(row, width, factor);
  }
}

/// A masked value may have made the row NaN, since 0 · NaN is NaN. This sums visible values only. It is needed rarely,
/// so it is slow.
void WholeRows::BlendVisible(const RowBlock& block, Index i, const float* weights, bool any_fully_masked) {
  const RowIndex at = block.at(i);
  const bool blend_masked = any_fully_masked && p_.fully_masked != FullyMasked::kZero && AllMasked(block, i);
  const auto& hidden = scorer_.Hidden(at);
  const KeyRange keys = tiles_[static_cast<std::size_t>(i / kernels_.tile_rows)];
  const Index width = p_.v.shape[3];
  float* row = block.begin(r_.output) + i * block.stride(r_.output);
  std::fill_n(row, width, 0.0f);
  std::vector<float> value(static_cast<std::size_t>(width));
  for (Index s = keys.begin; s < keys.end; ++s) {
    if (!blend_masked && hidden[static_cast<std::size_t>(s)]) continue;
    p_.v.CopyRow(block.b, block.g, s, value.data());
    kernels_.add_scaled(row, width, value.data(), weights[s]);
  }
}

}  // namespace headlens::simd
