// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_ROW_SCORER_H_
#define HEADLENS_SRC_BACKENDS_SIMD_ROW_SCORER_H_

#include <vector>

#include "attention/masks/mask_set.h"
#include "attention/positions/bias_table.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/mark_loops.h"
#include "backends/simd/rows.h"

namespace headlens::simd {

/// Turns the products q · k of a row, or of a part of it, into masked scores. It has scratch memory, so each thread has
/// its own object. Borrows the problem and the results.
class RowScorer {
 public:
  RowScorer(const AttentionProblem& problem, const AttentionResults& results, const Kernels& kernels);

  /// The factor that still has to multiply the masked scores before the exponentials: that of the temperature and, when
  /// no step in between needs scaled scores, the scale.
  float factor() const {
    return folds_scale_ ? p_.scale / p_.normalizer.temperature : 1.0f / p_.normalizer.temperature;
  }
  /// True when factor() includes the scale.
  bool folds_scale() const { return folds_scale_; }
  /// True when NaN and infinities behind a mask reach the row.
  bool spreads() const { return spreads_; }

  KeyRange Range(Index b, Index t) const { return masks_.Range(b, t); }

  /// Scores the computed cells in place, and stores the stages that are wanted.
  void Score(const Row& row);

  /// Stores a row in `to`, when that is wanted: the computed cells, and `elsewhere` in all others.
  void Store(const View<float, 4>& to, const Row& row, float elsewhere) const;

  /// 1 for each masked key of a row, for cases that are rare, since it is slow. Valid until the next call.
  const std::vector<std::uint8_t>& Hidden(const RowIndex& at);
  /// Returns true when the row may look at no key. `range` is the row's Range.
  bool AllMasked(const RowIndex& at, KeyRange range);

 private:
  void Cap(const Row& row) const;
  void AddBiases(const Row& row, KeyRange keys);
  void MaskCells(const Row& row, KeyRange maskable);
  void AddMask(const Row& row);

  const AttentionProblem& p_;
  const AttentionResults& r_;
  const Kernels& kernels_;
  SimdMarkLoops mark_loops_;
  MaskSet masks_;
  BiasTable biases_;
  Index bias_head_ = -1, keys_;
  bool spreads_, folds_scale_, raw_;  // raw: most rows need no step but the products
  std::vector<float> bias_row_;
  std::vector<std::uint8_t> marks_, hidden_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_ROW_SCORER_H_
