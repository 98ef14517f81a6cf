// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_ONLINE_ROWS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_ONLINE_ROWS_H_

#include <vector>

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/row_scorer.h"

namespace headlens::simd {

/// Softmax rows of which only the output and ln Σ exp are wanted, block of keys by block of keys with a running maximum
/// (Milakov & Gimelshein 2018; Dao et al. 2022): memory does not grow with the keys, and all that is touched stays in
/// the second-level cache. One for each thread. Borrows the problem and the results.
class OnlineRows {
 public:
  /// The number of rows that a block should have: the queries of a block stay in the first-level cache.
  static Index BlockRows(Index width) { return width > 64 ? 24 : 48; }
  /// The number of keys, which with their values stay in the second-level cache: processors with tiles as high as those
  /// of AVX-512 have 1 MiB of it.
  static Index BlockKeys(Index width, Index tile_rows) { return width > 64 && tile_rows <= 8 ? 256 : 512; }

  /// Returns true when the problem is of this kind, provided that nothing spreads from behind its masks.
  static bool Suits(const AttentionProblem& problem, const AttentionResults& results);

  OnlineRows(const AttentionProblem& problem, const AttentionResults& results, const Kernels& kernels);

  /// At most BlockRows rows. False if something in them is infinite or NaN, or a row that may look at nothing is not to
  /// become 0: then they are still to be computed.
  bool Run(const RowBlock& block, const PackedHead& head);

 private:
  bool RunKeys(const RowBlock& block, const PackedHead& head, KeyRange keys, bool first);
  bool RunRow(const RowBlock& block, Index i, KeyRange keys, KeyRange tile);
  bool Finish(const RowBlock& block, Index i);

  const AttentionProblem& p_;
  const AttentionResults& r_;
  const Kernels& kernels_;
  RowScorer scorer_;
  Index block_keys_, stride_;
  Buffer<float> cells_;  // [BlockRows, stride_], of block_keys_ at a time
  std::vector<KeyRange> visible_, tiles_;
  std::vector<float> max_, sum_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_ONLINE_ROWS_H_
