// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_WHOLE_ROWS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_WHOLE_ROWS_H_

#include <vector>

#include "attention/normalizers/registry.h"
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/normalize.h"
#include "backends/simd/row_scorer.h"

namespace headlens::simd {

/// Rows of queries that are computed for all keys at once: the scores lie in a block that stays in the second-level
/// cache, become weights there, and are multiplied by the values. It can compute every problem, and stores the results
/// that are wanted on the way. Each thread has its own object. Borrows the problem and the results.
class WholeRows {
 public:
  WholeRows(const AttentionProblem& problem, const AttentionResults& results, const Kernels& kernels);

  /// The number of rows that a block should have.
  static Index BlockRows(Index keys);

  /// Computes at most BlockRows rows. It adds to mean_weights, so the heads of a query must not run at the same time.
  void Run(const RowBlock& block, const PackedHead& head);

 private:
  void FindRanges(const RowBlock& block, bool together);
  template <class F>
  void EachPart(const RowBlock& block, const KeyValueView& view, const F& f) const;
  void Products(const RowBlock& block, const PackedHead& head, float* cells, Index stride) const;
  bool RunRow(Row& row, Index i);
  bool Normalize(const Row& row);
  float NormalizeVisible(const Row& row, float max);
  float NormalizeUnusual(const Row& row, std::span<const std::uint8_t> hidden);
  void KeepMaskedAtZero(const Row& row);
  void DropCells(const RowIndex& at, KeyRange keys, float factor, float* cells) const;
  void Drop(const Row& row, Index i);
  void StoreDropoutMask(const Row& row) const;
  void StoreDropped(const Row& row, const float* cells) const;
  /// Returns true when row i of the block may look at no key. FindRanges must have been called for the block.
  bool AllMasked(const RowBlock& block, Index i) {
    return scorer_.AllMasked(block.at(i), visible_[static_cast<std::size_t>(i)]);
  }
  float HeadFactor(const RowIndex& at) const { return p_.head_mask ? p_.head_mask(at.b, at.h) : 1.0f; }
  void Blend(const RowBlock& block, const PackedHead& head, const float* weights, Index stride) const;
  void Finish(const RowBlock& block, const float* weights, Index stride, bool any_fully_masked);
  void BlendVisible(const RowBlock& block, Index i, const float* weights, bool any_fully_masked);

  const AttentionProblem& p_;
  const AttentionResults& r_;
  const Kernels& kernels_;
  RowScorer scorer_;
  const NormalizeScores normalize_;
  Index keys_, stride_;
  bool drops_, needs_all_keys_;
  bool all_keys_ = false;  // all keys are computed for this block
  // Wanted weights are computed in their final place. When they are too large for the caches, they are computed in a
  // block that stays in the cache and streamed from there, so that their memory is never fetched.
  bool streams_, in_place_;
  Buffer<float> block_, dropped_;          // [BlockRows, stride_]
  std::vector<KeyRange> visible_, tiles_;  // of the block's rows, and of their tiles in gemm
  std::vector<float> scratch_;
  std::vector<std::uint8_t> nothing_hidden_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_WHOLE_ROWS_H_
