// SPDX-License-Identifier: Apache-2.0
/// Attention on the SIMD backend: how a problem is cut into blocks for the kernels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention_run.h"
#include "kernels/kernels.h"
#include "kernels/panels.h"
#include "philox.h"

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
        keys_(problem.k.shape[2]),
        value_width_(problem.v ? problem.v.shape[3] : 0),
        block_rows_(std::clamp<Index>(kBlockFloats / std::max<Index>(keys_, 1), 12, 96) / 12 * 12),
        k_panels_(kernels_, keys_, problem.q.shape[3]),
        v_tail_(ElementCount({keys_, kernels_.panel_width})),
        block_(ElementCount({block_rows_, keys_})),
        dropped_(problem.dropout_p > 0.0 ? ElementCount({block_rows_, keys_}) : 0) {
    // Raw stages show every cell, and rows that nothing is left of may blend all values: no column can be left out
    // then.
    whole_rows_ = r_.scores || r_.scaled_scores || r_.capped_scores || r_.biased_scores || p_.mask.appended_keys > 0 ||
                  p_.fully_masked != FullyMasked::kZero;
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
          for (Index t = 0; t < queries; t += block_rows_) RunBlock(b, g, h, t, std::min(block_rows_, queries - t));
        }
      }
  }

 private:
  static constexpr Index kBlockFloats = 32 * 1024;  // 128 KiB

  /// One row of a block: where it is, how many leading keys causality and lengths leave, and how many cells are
  /// computed.
  struct Row {
    Index b, h, t;
    Index visible, computed;
    float* cells;
    bool fully_masked = false;
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

  void RunBlock(Index b, Index g, Index h, Index first, Index rows) {
    Index columns = 0;
    for (Index i = 0; i < rows; ++i) columns = std::max(columns, whole_rows_ ? keys_ : VisibleKeys(p_, b, first + i));
    // The block lies in the weights themselves where those are wanted.
    float* block = r_.weights ? r_.weights.at(b, h, first) : block_.data();
    const Index stride = r_.weights ? r_.weights.strides[2] : keys_;
    kernels_.gemm({p_.q.at(b, h, first), p_.q.strides[2], k_panels_.data(), k_panels_.row_step(),
                   k_panels_.panel_step(), nullptr, block, stride, rows, columns, p_.q.shape[3]});
    bool any_fully_masked = false;
    for (Index i = 0; i < rows; ++i) {
      const Index visible = VisibleKeys(p_, b, first + i);
      Row row{b, h, first + i, visible, whole_rows_ ? keys_ : visible, block + i * stride};
      Score(row);
      Normalize(row);
      std::fill(row.cells + row.computed, row.cells + (r_.weights ? keys_ : columns), 0.0f);
      if (r_.mean_weights) {
        kernels_.add_scaled(r_.mean_weights.at(b, row.t), row.computed, row.cells,
                            1.0f / static_cast<float>(p_.q.shape[1]));
      }
      if (r_.dropped_weights || p_.dropout_p > 0.0) Drop(row, columns, i);
      any_fully_masked |= row.fully_masked;
    }
    if (!r_.output) return;
    const bool drops = p_.dropout_p > 0.0;
    Blend(b, g, h, first, rows, columns, drops ? dropped_.data() : block, drops ? keys_ : stride, any_fully_masked);
  }

  /// Scores → masked scores, in place.
  void Score(const Row& row) {
    Store(r_.scores, row);
    kernels_.scale(row.cells, row.computed, p_.scale);
    Store(r_.scaled_scores, row);
    if (p_.softcap_order == SoftcapOrder::kBeforeBias) Cap(row);
    const Index maskable = std::min(row.computed, keys_ - p_.mask.appended_keys);
    AddBias(row, maskable);
    Store(r_.biased_scores, row);
    if (p_.softcap_order == SoftcapOrder::kAfterBias) Cap(row);
    MaskCells(row, maskable);
    if (r_.masked_scores) {
      float* to = r_.masked_scores.at(row.b, row.h, row.t);
      std::copy_n(row.cells, row.computed, to);
      std::fill(to + row.computed, to + keys_, kMasked);
    }
  }

  void Store(const View<float, 4>& to, const Row& row) const {
    if (to) std::copy_n(row.cells, row.computed, to.at(row.b, row.h, row.t));
  }

  void Cap(const Row& row) const {
    if (p_.softcap > 0.0f) kernels_.softcap(row.cells, row.computed, p_.softcap);
    Store(r_.capped_scores, row);
  }

  /// The `count` elements of a mask's row, gathered when they are not dense.
  template <class T>
  const T* MaskRow(const T* from, Index stride, Index count, std::vector<T>& scratch) const {
    if (stride == 1) return from;
    scratch.resize(static_cast<std::size_t>(count));
    for (Index s = 0; s < count; ++s) scratch[static_cast<std::size_t>(s)] = from[s * stride];
    return scratch.data();
  }

  void AddBias(const Row& row, Index maskable) {
    const auto& bias = p_.mask.additive;
    if (bias)
      kernels_.add_bias(row.cells, maskable,
                        MaskRow(bias.at(row.b, row.h, row.t), bias.strides[3], maskable, bias_row_));
  }

  void MaskCells(const Row& row, Index maskable) {
    // A cap after the bias has made finite numbers of its −∞.
    if (const auto& bias = p_.mask.additive; bias && p_.softcap > 0.0f) {
      for (Index s = 0; s < maskable; ++s)
        if (bias(row.b, row.h, row.t, s) == kMasked) row.cells[s] = kMasked;
    }
    if (const auto& keep = p_.mask.boolean) {
      const std::uint8_t* bytes = MaskRow(keep.at(row.b, row.h, row.t), keep.strides[3], maskable, mask_row_);
      kernels_.mask(row.cells, maskable, bytes, !p_.mask.boolean_keeps);
    }
    if (const auto& padding = p_.mask.key_padding) {
      kernels_.mask(row.cells, maskable, MaskRow(padding.at(row.b), padding.strides[1], maskable, mask_row_), true);
    }
    if (row.visible < maskable) std::fill(row.cells + row.visible, row.cells + maskable, kMasked);
  }

  /// Masked scores → weights, in place.
  void Normalize(Row& row) const {
    const float max = kernels_.max(row.cells, row.computed);
    row.fully_masked =
        max == kMasked && std::all_of(row.cells, row.cells + row.computed, [](float x) { return x == kMasked; });
    float lse = kMasked;
    if (row.fully_masked) {
      const float value = p_.fully_masked == FullyMasked::kZero  ? 0.0f
                          : p_.fully_masked == FullyMasked::kNan ? std::numeric_limits<float>::quiet_NaN()
                                                                 : 1.0f / static_cast<float>(keys_);
      std::fill_n(row.cells, row.computed, value);
    } else {
      const float sum = kernels_.exp_sum(row.cells, row.computed, max);
      kernels_.scale(row.cells, row.computed, 1.0f / sum);
      if (std::isnan(sum)) KeepMaskedAtZero(row);
      lse = max + std::log(sum);
    }
    if (r_.lse) r_.lse(row.b, row.h, row.t) = lse;
  }

  /// In a row that a NaN has spread over, what is masked is still exactly 0.
  void KeepMaskedAtZero(const Row& row) const {
    for (Index s = 0; s < row.computed; ++s)
      if (IsMasked(p_, row.b, row.h, row.t, s)) row.cells[s] = 0.0f;
  }

  void Drop(const Row& row, Index columns, Index i) {
    const auto first = static_cast<std::uint64_t>(((row.b * p_.q.shape[1] + row.h) * p_.q.shape[2] + row.t) * keys_);
    const auto factor = static_cast<float>(1.0 / (1.0 - p_.dropout_p));
    float* to = p_.dropout_p > 0.0 ? dropped_.data() + i * keys_ : r_.dropped_weights.at(row.b, row.h, row.t);
    for (Index s = 0; s < row.computed; ++s) {
      const bool keep =
          p_.dropout_p == 0.0 || DropoutKeeps(p_.seed, first + static_cast<std::uint64_t>(s), p_.dropout_p);
      to[s] = keep ? row.cells[s] * factor : 0.0f;
    }
    if (p_.dropout_p > 0.0) std::fill(to + row.computed, to + columns, 0.0f);
    if (!r_.dropped_weights) return;
    float* stage = r_.dropped_weights.at(row.b, row.h, row.t);
    if (stage != to) std::copy_n(to, row.computed, stage);
    std::fill(stage + row.computed, stage + keys_, 0.0f);
  }

  /// output rows = weights · values.
  void Blend(Index b, Index g, Index h, Index first, Index rows, Index columns, const float* weights, Index stride,
             bool any_fully_masked) {
    const Index width = kernels_.panel_width, whole = value_width_ / width * width;
    const auto& out = r_.output;
    if (whole > 0) {
      kernels_.gemm({weights, stride, p_.v.at(b, g), p_.v.strides[2], width, nullptr, out.at(b, h, first),
                     out.strides[2], rows, whole, columns});
    }
    if (whole < value_width_) {
      kernels_.gemm({weights, stride, v_tail_.data(), width, 0, nullptr, out.at(b, h, first, whole), out.strides[2],
                     rows, value_width_ - whole, columns});
    }
    for (Index i = 0; i < rows; ++i) {
      float* row = out.at(b, h, first + i);
      if (kernels_.all_finite(row, value_width_)) continue;
      // 0 · NaN is NaN: a masked value may have come through. Rare, so slowly: blend what may be looked at.
      const bool blend_masked = any_fully_masked && p_.fully_masked != FullyMasked::kZero && AllMasked(b, h, first + i);
      std::fill_n(row, value_width_, 0.0f);
      for (Index s = 0; s < columns; ++s) {
        if (blend_masked || !IsMasked(p_, b, h, first + i, s)) {
          kernels_.add_scaled(row, value_width_, p_.v.at(b, g, s), weights[i * stride + s]);
        }
      }
    }
  }

  bool AllMasked(Index b, Index h, Index t) const {
    for (Index s = 0; s < keys_; ++s)
      if (!IsMasked(p_, b, h, t, s)) return false;
    return true;
  }

  const AttentionProblem& p_;
  const AttentionResults& r_;
  const Kernels& kernels_;
  Index keys_, value_width_, block_rows_;
  bool whole_rows_ = false;
  Panels k_panels_;
  Buffer<float> v_tail_, block_, dropped_;
  std::vector<float> bias_row_;
  std::vector<std::uint8_t> mask_row_;
};

}  // namespace

void RunSimdAttention(const AttentionProblem& problem, const AttentionResults& results) {
  AttentionRun(problem, results).Run();
}

}  // namespace headlens
