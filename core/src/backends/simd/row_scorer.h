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

/// The way of a row, or of any part of it, from q · k to masked scores; and what its masks hide. Has scratch memory:
/// one for each thread. Borrows the problem and the results.
class RowScorer {
 public:
  RowScorer(const AttentionProblem& problem, const AttentionResults& results, const Kernels& kernels);

  /// What the masked scores are still to be multiplied by before the exponentials: the temperature's part and, where
  /// nothing comes between, the scale.
  float factor() const {
    return folds_scale_ ? p_.scale / p_.normalizer.temperature : 1.0f / p_.normalizer.temperature;
  }
  /// Whether the factor holds the scale.
  bool folds_scale() const { return folds_scale_; }
  /// Whether NaN and infinities behind a mask reach the row.
  bool spreads() const { return spreads_; }

  KeyRange Range(Index b, Index t) const { return masks_.Range(b, t); }

  /// The computed cells, in place; stages of them are stored on the way.
  void Score(const Row& row);

  /// The row of `to`, where it is wanted: the computed cells, and `elsewhere`.
  void Store(const View<float, 4>& to, const Row& row, float elsewhere) const;

  /// 1 for each masked key of a row. For rare rows only. Valid until the next call.
  const std::vector<std::uint8_t>& Hidden(const RowIndex& at);
  /// Returns true when the row may look at no key. `range` is its Range.
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
  bool spreads_, folds_scale_, raw_;  // raw: the products are all that most rows need
  std::vector<float> bias_row_;
  std::vector<std::uint8_t> marks_, hidden_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_ROW_SCORER_H_
