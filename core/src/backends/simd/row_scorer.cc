// SPDX-License-Identifier: Apache-2.0
#include "backends/simd/row_scorer.h"

#include <algorithm>
#include <limits>

namespace headlens::simd {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

/// Returns true when no step needs the scaled scores themselves.
bool CanFoldScale(const AttentionProblem& p, const AttentionResults& r) {
  const bool plain = p.normalizer.kind == NormalizerKind::kSoftmax && !p.normalizer.sinks && p.softcap == 0.0f &&
                     !p.mask.additive && p.masked_nan == MaskedNan::kBlocked;
  const bool stages = r.scaled_scores || r.capped_scores || r.biased_scores || r.masked_scores;
  return plain && !stages && p.scale > 0.0f;
}

}  // namespace

RowScorer::RowScorer(const AttentionProblem& problem, const AttentionResults& results, const Kernels& kernels)
    : p_(problem),
      r_(results),
      kernels_(kernels),
      mark_loops_(kernels),
      masks_(problem, mark_loops_),
      biases_(problem),
      keys_(problem.k.shape[2]),
      spreads_(problem.masked_nan == MaskedNan::kSpreads),
      folds_scale_(CanFoldScale(problem, results) && biases_.empty()),
      raw_(folds_scale_ && !results.scores && !masks_.has_marks()) {}

void RowScorer::Score(const Row& row) {
  if (raw_ && row.visible.begin == row.computed.begin && row.visible.end == row.computed.end) return;
  Store(r_.scores, row, 0.0f);
  if (!folds_scale_) kernels_.scale(row.begin(), row.count(), p_.scale);
  Store(r_.scaled_scores, row, 0.0f);
  if (p_.softcap_order == SoftcapOrder::kBeforeBias) Cap(row);
  const KeyRange maskable{row.computed.begin, std::min(row.computed.end, MaskableKeys(p_))};
  AddBiases(row, maskable);
  Store(r_.biased_scores, row, 0.0f);
  if (p_.softcap_order == SoftcapOrder::kAfterBias) Cap(row);
  MaskCells(row, maskable);
  Store(r_.masked_scores, row, kMasked);
}

void RowScorer::Store(const View<float, 4>& to, const Row& row, float elsewhere) const {
  if (!to) return;
  float* cells = to.at(row.at.b, row.at.h, row.at.t);
  std::fill(cells, cells + row.computed.begin, elsewhere);
  std::copy_n(row.begin(), row.count(), cells + row.computed.begin);
  std::fill(cells + row.computed.end, cells + keys_, elsewhere);
}

void RowScorer::Cap(const Row& row) const {
  if (p_.softcap > 0.0f) kernels_.softcap(row.begin(), row.count(), p_.softcap);
  Store(r_.capped_scores, row, 0.0f);
}

void RowScorer::AddBiases(const Row& row, KeyRange keys) {
  const Index count = keys.end - keys.begin;
  if (count <= 0) return;
  float* cells = row.cells + keys.begin;
  if (!biases_.empty()) {
    if (bias_head_ != row.at.h) biases_.Prepare(bias_head_ = row.at.h);
    kernels_.add(cells, count, biases_.Row(row.at.t) + keys.begin);
  }
  const View<const float, 4>& bias = p_.mask.additive;
  if (!bias) return;
  const float* from = bias.at(row.at.b, row.at.h, row.at.t, keys.begin);
  if (bias.strides[3] != 1) {
    bias_row_.resize(static_cast<std::size_t>(count));
    for (Index s = 0; s < count; ++s) bias_row_[static_cast<std::size_t>(s)] = from[s * bias.strides[3]];
    from = bias_row_.data();
  }
  kernels_.add_bias(cells, count, from);
}

void RowScorer::MaskCells(const Row& row, KeyRange maskable) {
  if (maskable.begin >= maskable.end) return;
  if (spreads_ && !kernels_.all_finite(row.begin(), row.count())) return AddMask(row);
  const KeyRange visible = row.visible.begin < row.visible.end ? row.visible : KeyRange{maskable.end, maskable.end};
  std::fill(row.cells + maskable.begin, row.cells + visible.begin, kMasked);
  std::fill(row.cells + visible.end, row.cells + maskable.end, kMasked);
  if (!masks_.has_marks() || visible.begin == visible.end) return;
  marks_.resize(static_cast<std::size_t>(visible.end - visible.begin));
  masks_.Mark(row.at, visible, marks_.data());
  kernels_.mask(row.cells + visible.begin, visible.end - visible.begin, marks_.data());
}

/// Adds −∞ to masked scores, so that a NaN or +∞ there becomes NaN. It is needed rarely, so it is simple and slow.
void RowScorer::AddMask(const Row& row) {
  const auto& hidden = Hidden(row.at);
  for (Index s = 0; s < keys_; ++s)
    if (hidden[static_cast<std::size_t>(s)]) row.cells[s] += kMasked;
}

const std::vector<std::uint8_t>& RowScorer::Hidden(const RowIndex& at) {
  const KeyRange range = masks_.Range(at.b, at.t);
  hidden_.assign(static_cast<std::size_t>(keys_), 1);
  masks_.Mark(at, range, hidden_.data() + range.begin);
  std::fill(hidden_.begin() + MaskableKeys(p_), hidden_.end(), std::uint8_t{0});
  return hidden_;
}

bool RowScorer::AllMasked(const RowIndex& at, KeyRange range) {
  if (MaskableKeys(p_) < keys_) return false;
  if (!masks_.has_marks() || range.begin >= range.end) return range.begin >= range.end;
  marks_.resize(static_cast<std::size_t>(range.end - range.begin));
  masks_.Mark(at, range, marks_.data());
  return std::all_of(marks_.begin(), marks_.end(), [](std::uint8_t mark) { return mark != 0; });
}

}  // namespace headlens::simd
