// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_BACKENDS_SIMD_ONLINE_ROWS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_ONLINE_ROWS_H_

#include <vector>

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/row_scorer.h"

namespace headlens::simd {

/// Softmax rows for which only the output and ln Σ exp are wanted. They are computed one block of keys at a time with a
/// running maximum (Milakov & Gimelshein 2018; Dao et al. 2022), so memory does not grow with the number of keys, and
/// everything stays in the second-level cache. Each thread has its own object. Borrows the problem and the results.
class OnlineRows {
 public:
  /// The number of rows in a block, whose queries stay in the first-level cache.
  static Index BlockRows(Index width) { return width > 64 ? 24 : 48; }
  /// The number of keys in a block, which stay in the second-level cache together with their values. Processors with
  /// tiles as high as those of AVX-512 have such a cache of 1 MiB.
  static Index BlockKeys(Index width, Index tile_rows) { return width > 64 && tile_rows <= 8 ? 256 : 512; }

  OnlineRows(const AttentionProblem& problem, const AttentionResults& results, const Kernels& kernels);

  /// Computes at most BlockRows rows. Returns false when a number in them is infinite or NaN, or when a row with no
  /// visible key must not become 0. They then still have to be computed.
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
  Buffer<float> cells_;  // [BlockRows, stride_], for block_keys_ keys at a time
  std::vector<KeyRange> visible_, tiles_;
  std::vector<float> max_, sum_;
};

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_ONLINE_ROWS_H_
