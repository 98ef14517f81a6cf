// SPDX-License-Identifier: Apache-2.0
/// Attention on the SIMD backend: how a problem is cut into blocks for the kernels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention_run.h"
#include "kernels/kernels.h"
#include "kernels/panels.h"
#include "masks/mask_set.h"
#include "normalizers/registry.h"
#include "normalizers/softmax.h"
#include "philox.h"
#include "positions/bias_table.h"

namespace headlens {
namespace {

using simd::BestKernels;
using simd::Kernels;
using simd::Panels;

constexpr float kMasked = -std::numeric_limits<float>::infinity();

/// Rows of queries against all keys of one head at a time: scores in a block that stays in the second-level cache,
/// softmax there, then the block times the values. What is asked for is written as it comes by.
class AttentionRun {
 public:
  AttentionRun(const AttentionProblem& problem, const AttentionResults& results)
      : p_(problem),
        r_(results),
        kernels_(BestKernels()),
        masks_(problem, &kernels_),
        biases_(problem),
        normalizer_(FindNormalizer(problem.normalizer.kind)),
        keys_(problem.k.shape[2]),
        value_width_(problem.v ? problem.v.shape[3] : 0),
        block_rows_(std::clamp<Index>(kBlockFloats / std::max<Index>(keys_, 1), 12, 96) / 12 * 12),
        drops_(problem.dropout_p > 0.0),
        spreads_(problem.masked_nan == MaskedNan::kSpreads),
        k_panels_(kernels_, keys_, problem.q.shape[3]),
        v_tail_(ElementCount({keys_, kernels_.panel_width})),
        block_(ElementCount({block_rows_, keys_})),
        dropped_(drops_ ? ElementCount({block_rows_, keys_}) : 0),
        scratch_(static_cast<std::size_t>(keys_)) {
    // Raw stages show every cell, and rows that nothing is left of may blend all values: no column can be left out
    // then.
    whole_rows_ = r_.scores || r_.scaled_scores || r_.capped_scores || r_.biased_scores || p_.mask.appended_keys > 0 ||
                  p_.fully_masked != FullyMasked::kZero || spreads_;
  }

  void Run() {
    const auto& [batch, heads, queries, width] = p_.q.shape;
    if (r_.mean_weights) ZeroMean();
    for (Index b = 0; b < batch; ++b)
      for (Index g = 0; g < p_.k.shape[1]; ++g) {
        k_panels_.Pack(p_.k.at(b, g), p_.k.strides[2], keys_);
        if (r_.output) PackValueTail(b, g);
        for (Index h = 0; h < heads; ++h) {
          if (KvHead(p_, h) != g) continue;
          biases_.Prepare(h);
          for (Index t = 0; t < queries; t += block_rows_) RunBlock(b, g, h, t, std::min(block_rows_, queries - t));
        }
      }
  }

 private:
  static constexpr Index kBlockFloats = 32 * 1024;  // 128 KiB

  /// One row of a block: where it is, which keys its masks' ranges leave, and which cells are computed. `cells` is that
  /// of key 0.
  struct Row {
    RowIndex at;
    KeyRange visible, computed;
    float* cells;
    bool fully_masked = false;

    float* begin() const { return cells + computed.begin; }
    Index count() const { return computed.end - computed.begin; }
  };

  void ZeroMean() {
    const auto& shape = r_.mean_weights.shape;
    for (Index b = 0; b < shape[0]; ++b)
      for (Index t = 0; t < shape[1]; ++t) std::fill_n(r_.mean_weights.at(b, t), keys_, 0.0f);
  }

  /// Values are read where they lie, panel by panel of their columns; only the last, partial panel is copied, to be
  /// padded.
  void PackValueTail(Index b, Index g) {
    const Index width = kernels_.panel_width, whole = value_width_ / width * width, rest = value_width_ - whole;
    if (rest == 0) return;
    for (Index s = 0; s < keys_; ++s) {
      float* to = v_tail_.data() + s * width;
      std::copy_n(p_.v.at(b, g, s, whole), rest, to);
      std::fill(to + rest, to + width, 0.0f);
    }
  }

  /// The keys that some row of the block needs, from a whole panel on.
  KeyRange BlockRange(Index b, Index first, Index rows) const {
    if (whole_rows_) return {0, keys_};
    KeyRange all{keys_, 0};
    for (Index i = 0; i < rows; ++i) {
      const KeyRange range = masks_.Range(b, first + i);
      if (range.begin < range.end) all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
    }
    if (all.begin >= all.end) return {0, 0};
    return {all.begin / kernels_.panel_width * kernels_.panel_width, all.end};
  }

  void RunBlock(Index b, Index g, Index h, Index first, Index rows) {
    const KeyRange columns = BlockRange(b, first, rows);
    // The block lies in the weights themselves where those are wanted.
    float* block = r_.weights ? r_.weights.at(b, h, first) : block_.data();
    const Index stride = r_.weights ? r_.weights.strides[2] : keys_;
    kernels_.gemm({p_.q.at(b, h, first), p_.q.strides[2],
                   k_panels_.data() + columns.begin / k_panels_.row_step() * k_panels_.panel_step(),
                   k_panels_.row_step(), k_panels_.panel_step(), nullptr, block + columns.begin, stride, rows,
                   columns.end - columns.begin, p_.q.shape[3]});
    bool any_fully_masked = false;
    for (Index i = 0; i < rows; ++i) {
      const KeyRange visible = masks_.Range(b, first + i);
      Row row{{b, h, first + i}, visible, whole_rows_ ? KeyRange{0, keys_} : visible, block + i * stride};
      RunRow(row, i, r_.weights ? KeyRange{0, keys_} : columns);
      any_fully_masked |= row.fully_masked;
    }
    if (r_.output) {
      Blend(b, g, h, first, rows, columns, drops_ ? dropped_.data() : block, drops_ ? keys_ : stride, any_fully_masked);
    }
  }

  /// Scores → weights, and what is asked for on the way. Cells of `filled` that are not computed become 0.
  void RunRow(Row& row, Index i, KeyRange filled) {
    Score(row);
    Normalize(row);
    std::fill(row.cells + filled.begin, row.cells + std::max(row.computed.begin, filled.begin), 0.0f);
    std::fill(row.cells + std::max(row.computed.end, filled.begin), row.cells + filled.end, 0.0f);
    if (r_.mean_weights) {
      kernels_.add_scaled(r_.mean_weights.at(row.at.b, row.at.t) + row.computed.begin, row.count(), row.begin(),
                          1.0f / static_cast<float>(p_.q.shape[1]));
    }
    if (r_.dropout_mask) StoreDropoutMask(row);
    if (drops_) Drop(row, i, filled);
    if (r_.dropped_weights) StoreDropped(row, drops_ ? dropped_.data() + i * keys_ : row.cells);
  }

  /// Scores → masked scores, in place.
  void Score(const Row& row) {
    Store(r_.scores, row, 0.0f);
    kernels_.scale(row.begin(), row.count(), p_.scale);
    Store(r_.scaled_scores, row, 0.0f);
    if (p_.softcap_order == SoftcapOrder::kBeforeBias) Cap(row);
    const KeyRange maskable{row.computed.begin, std::min(row.computed.end, MaskableKeys(p_))};
    AddBiases(row, maskable);
    Store(r_.biased_scores, row, 0.0f);
    if (p_.softcap_order == SoftcapOrder::kAfterBias) Cap(row);
    MaskCells(row, maskable);
    Store(r_.masked_scores, row, kMasked);
  }

  void Store(const View<float, 4>& to, const Row& row, float elsewhere) const {
    if (!to) return;
    float* cells = to.at(row.at.b, row.at.h, row.at.t);
    std::fill(cells, cells + row.computed.begin, elsewhere);
    std::copy_n(row.begin(), row.count(), cells + row.computed.begin);
    std::fill(cells + row.computed.end, cells + keys_, elsewhere);
  }

  void Cap(const Row& row) const {
    if (p_.softcap > 0.0f) kernels_.softcap(row.begin(), row.count(), p_.softcap);
    Store(r_.capped_scores, row, 0.0f);
  }

  void AddBiases(const Row& row, KeyRange keys) {
    const Index count = keys.end - keys.begin;
    if (count <= 0) return;
    float* cells = row.cells + keys.begin;
    if (!biases_.empty()) kernels_.add(cells, count, biases_.Row(row.at.t) + keys.begin);
    const View<const float, 4>& bias = p_.mask.additive;
    if (!bias) return;
    const float* from = bias.at(row.at.b, row.at.h, row.at.t, keys.begin);
    if (bias.strides[3] != 1) {
      for (Index s = 0; s < count; ++s) scratch_[static_cast<std::size_t>(s)] = from[s * bias.strides[3]];
      from = scratch_.data();
    }
    kernels_.add_bias(cells, count, from);
  }

  void MaskCells(const Row& row, KeyRange maskable) {
    if (maskable.begin >= maskable.end) return;
    if (spreads_ && !kernels_.all_finite(row.begin(), row.count())) return AddMask(row);
    const KeyRange visible = row.visible.begin < row.visible.end ? row.visible : KeyRange{maskable.end, maskable.end};
    std::fill(row.cells + maskable.begin, row.cells + visible.begin, kMasked);
    std::fill(row.cells + visible.end, row.cells + maskable.end, kMasked);
    if (!masks_.has_marks() || visible.begin == visible.end) return;
    marks_.resize(static_cast<std::size_t>(keys_));
    masks_.Mark(row.at, visible, marks_.data());
    kernels_.mask(row.cells + visible.begin, visible.end - visible.begin, marks_.data());
  }

  /// The mask as −∞ that is added: what is masked and NaN or +∞ becomes NaN. Rare, so slowly.
  void AddMask(const Row& row) {
    const auto& hidden = Hidden(row.at);
    for (Index s = 0; s < keys_; ++s)
      if (hidden[static_cast<std::size_t>(s)]) row.cells[s] += kMasked;
  }

  /// Masked scores → weights, in place.
  void Normalize(Row& row) {
    if (spreads_ && kernels_.any_nan(row.begin(), row.count())) {
      hidden_.assign(static_cast<std::size_t>(keys_), 0);
      const float lse = NormalizeUnusual(row, hidden_);
      if (r_.lse) r_.lse(row.at.b, row.at.h, row.at.t) = lse;
      return;
    }
    const float max = kernels_.max(row.begin(), row.count());
    row.fully_masked = max == kMasked && AllMasked(row.at);
    float lse = kMasked;
    if (row.fully_masked) {
      const float value = p_.fully_masked == FullyMasked::kZero  ? 0.0f
                          : p_.fully_masked == FullyMasked::kNan ? std::numeric_limits<float>::quiet_NaN()
                                                                 : 1.0f / static_cast<float>(keys_);
      std::fill_n(row.begin(), row.count(), value);
    } else {
      lse = NormalizeVisible(row, max);
    }
    if (r_.lse) r_.lse(row.at.b, row.at.h, row.at.t) = lse;
  }

  /// Returns ln Σ exp.
  float NormalizeVisible(const Row& row, float max) {
    const Normalizer& n = p_.normalizer;
    const std::span<float> cells(row.begin(), static_cast<std::size_t>(row.count()));
    const bool softmax = n.kind == NormalizerKind::kSoftmax;
    const float factor = 1.0f / n.temperature;
    if (!std::isfinite(max * factor) || (!softmax && kernels_.any_nan(cells.data(), row.count()))) {
      return NormalizeUnusual(row, Hidden(row.at));
    }
    if (n.temperature != 1.0f) kernels_.scale(cells.data(), row.count(), factor);
    // The product that the largest cell has become, not a quotient that may be less than it.
    const NormalizerRow about{n, double{max * factor},
                              n.sinks ? std::optional(double{n.sinks(row.at.h)}) : std::nullopt};
    double lse = 0.0;
    if (r_.lse && !softmax) {
      std::copy(cells.begin(), cells.end(), scratch_.begin());
      lse = *SimdSoftmax(kernels_, {scratch_.data(), cells.size()}, about);
    }
    lse = normalizer_.simd(kernels_, cells, about).value_or(lse);
    if (softmax && std::isnan(lse)) KeepMaskedAtZero(row);
    return static_cast<float>(lse);
  }

  /// NaN, infinite scores, or such as the temperature makes infinite: rare, so slowly, in fp64.
  float NormalizeUnusual(const Row& row, std::span<const std::uint8_t> hidden) {
    std::vector<double> scores(row.begin(), row.begin() + row.count());
    const double lse = NormalizeRow(
        p_.normalizer, row.at.h, scores,
        hidden.subspan(static_cast<std::size_t>(row.computed.begin), static_cast<std::size_t>(row.count())));
    std::transform(scores.begin(), scores.end(), row.begin(), [](double x) { return static_cast<float>(x); });
    return static_cast<float>(lse);
  }

  /// 1 for each masked key of a row. For rare rows only.
  const std::vector<std::uint8_t>& Hidden(const RowIndex& at) {
    const KeyRange range = masks_.Range(at.b, at.t);
    hidden_.assign(static_cast<std::size_t>(keys_), 1);
    masks_.Mark(at, range, hidden_.data() + range.begin);
    std::fill(hidden_.begin() + MaskableKeys(p_), hidden_.end(), std::uint8_t{0});
    return hidden_;
  }

  bool AllMasked(const RowIndex& at) {
    const auto& hidden = Hidden(at);
    return std::all_of(hidden.begin(), hidden.end(), [](std::uint8_t mark) { return mark != 0; });
  }

  /// In a row that a NaN has spread over, what is masked is still exactly 0.
  void KeepMaskedAtZero(const Row& row) {
    const auto& hidden = Hidden(row.at);
    for (Index s = row.computed.begin; s < row.computed.end; ++s)
      if (hidden[static_cast<std::size_t>(s)]) row.cells[s] = 0.0f;
  }

  /// `cells` of `keys`, those of one row, times `factor` or dropped.
  void DropCells(const RowIndex& at, KeyRange keys, float factor, float* cells) const {
    const Index row = (at.b * p_.q.shape[1] + at.h) * p_.q.shape[2] + at.t;
    kernels_.drop(cells, keys.end - keys.begin, factor, p_.seed, static_cast<std::uint64_t>(row * keys_ + keys.begin),
                  HighestDropped(p_.dropout_p));
  }

  void Drop(const Row& row, Index i, KeyRange filled) {
    const auto factor = p_.dropout_p < 1.0 ? static_cast<float>(1.0 / (1.0 - p_.dropout_p)) : 0.0f;
    float* to = dropped_.data() + i * keys_;
    std::fill(to + filled.begin, to + filled.end, 0.0f);
    std::copy_n(row.begin(), row.count(), to + row.computed.begin);
    DropCells(row.at, row.computed, factor, to + row.computed.begin);
  }

  void StoreDropoutMask(const Row& row) const {
    float* to = r_.dropout_mask.at(row.at.b, row.at.h, row.at.t);
    std::fill_n(to, keys_, 1.0f);
    if (drops_) DropCells(row.at, {0, keys_}, 1.0f, to);
  }

  float HeadFactor(Index b, Index h) const { return p_.head_mask ? p_.head_mask(b, h) : 1.0f; }

  /// `cells` after the head mask.
  void StoreDropped(const Row& row, const float* cells) const {
    float* to = r_.dropped_weights.at(row.at.b, row.at.h, row.at.t);
    const float factor = HeadFactor(row.at.b, row.at.h);
    std::fill_n(to, keys_, 0.0f);
    if (factor == 0.0f) return;
    std::copy_n(cells + row.computed.begin, row.count(), to + row.computed.begin);
    if (factor != 1.0f) kernels_.scale(to, keys_, factor);
  }

  /// output rows = weights · values.
  void Blend(Index b, Index g, Index h, Index first, Index rows, KeyRange columns, const float* weights, Index stride,
             bool any_fully_masked) {
    const auto& out = r_.output;
    const float factor = HeadFactor(b, h);
    if (factor == 0.0f || columns.begin == columns.end) {
      for (Index i = 0; i < rows; ++i) std::fill_n(out.at(b, h, first + i), value_width_, 0.0f);
      return;
    }
    const Index width = kernels_.panel_width, whole = value_width_ / width * width, begin = columns.begin;
    if (whole > 0) {
      kernels_.gemm({weights + begin, stride, p_.v.at(b, g, begin), p_.v.strides[2], width, nullptr,
                     out.at(b, h, first), out.strides[2], rows, whole, columns.end - begin});
    }
    if (whole < value_width_) {
      kernels_.gemm({weights + begin, stride, v_tail_.data() + begin * width, width, 0, nullptr,
                     out.at(b, h, first, whole), out.strides[2], rows, value_width_ - whole, columns.end - begin});
    }
    for (Index i = 0; i < rows; ++i) {
      float* row = out.at(b, h, first + i);
      if (!spreads_ && !kernels_.all_finite(row, value_width_))
        BlendVisible(b, g, h, first + i, columns, weights + i * stride, any_fully_masked);
      if (factor != 1.0f) kernels_.scale(row, value_width_, factor);
    }
  }

  /// 0 · NaN is NaN: a masked value may have come through. Rare, so slowly: blend what may be looked at.
  void BlendVisible(Index b, Index g, Index h, Index t, KeyRange columns, const float* weights, bool any_fully_masked) {
    float* row = r_.output.at(b, h, t);
    const bool blend_masked = any_fully_masked && p_.fully_masked != FullyMasked::kZero && AllMasked({b, h, t});
    const auto& hidden = Hidden({b, h, t});
    std::fill_n(row, value_width_, 0.0f);
    for (Index s = columns.begin; s < columns.end; ++s) {
      if (blend_masked || !hidden[static_cast<std::size_t>(s)]) {
        kernels_.add_scaled(row, value_width_, p_.v.at(b, g, s), weights[s]);
      }
    }
  }

  const AttentionProblem& p_;
  const AttentionResults& r_;
  const Kernels& kernels_;
  MaskSet masks_;
  BiasTable biases_;
  const NormalizerRule& normalizer_;
  Index keys_, value_width_, block_rows_;
  bool drops_, spreads_, whole_rows_ = false;
  Panels k_panels_;
  Buffer<float> v_tail_, block_, dropped_;
  std::vector<float> scratch_;
  std::vector<std::uint8_t> marks_, hidden_;
};

}  // namespace

void RunSimdAttention(const AttentionProblem& problem, const AttentionResults& results) {
  AttentionRun(problem, results).Run();
}

}  // namespace headlens
