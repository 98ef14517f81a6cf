// SPDX-License-Identifier: Apache-2.0
/// Types that both ways of computing attention share: blocks of rows, and the packed keys and values that they read.
#ifndef HEADLENS_SRC_BACKENDS_SIMD_ROWS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_ROWS_H_

#include "attention/masks/mask_rule.h"
#include "backends/simd/kernels/kernels.h"
#include "headlens/attention.h"

namespace headlens::simd {

/// Rows that look at the same keys: queries first, first + 1, … of one head, or query `first` of `count` heads.
struct RowBlock {
  Index b, g;  ///< the batch, and the key/value head
  Index h, first, count;
  Index head_step = 0;  ///< the step of the head from row to row; 0 when the query changes instead

  RowBlock Part(Index from, Index rows) const {
    const RowIndex start = at(from);
    return {b, g, start.h, start.t, rows, head_step};
  }
  RowIndex at(Index i) const { return {b, h + i * head_step, head_step == 0 ? first + i : first}; }

  template <class T>
  T* begin(const DeviceView<T, 4>& view) const {
    return view.at(b, h, first).host();
  }
  /// The distance from one row of the block to the next.
  template <class T>
  Index stride(const DeviceView<T, 4>& view) const {
    return head_step == 0 ? view.strides[2] : head_step * view.strides[1];
  }
};

/// Rows [begin, end) of one head's keys or values.
inline HeadRows RowsOf(const KeyValueView& view, Index b, Index g, KeyRange rows) {
  return {view.dtype, view.at(b, g, rows.begin), view.strides[2], rows.end - rows.begin, view.shape[3]};
}

/// Keys and values of one head, packed as gemm's B. Null when there are so few rows that they are read where they lie.
struct PackedHead {
  const float* k = nullptr;
  const float* v = nullptr;
};

/// One row of a block: the range of keys that its masks leave, and the cells that are computed. `cells` points to that
/// of key 0.
struct Row {
  RowIndex at;
  KeyRange visible, computed;
  float* cells;

  float* begin() const { return cells + computed.begin; }
  Index count() const { return computed.end - computed.begin; }
};

/// The number of floats from row to row of a block of scores for `keys` keys: an odd number of cache lines, so that
/// rows do not share cache sets.
inline Index ScoreStride(Index keys) {
  constexpr Index kLine = kAlignment / sizeof(float);
  return ((keys + kLine - 1) / kLine | 1) * kLine;
}

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_ROWS_H_
