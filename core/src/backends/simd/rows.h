// SPDX-License-Identifier: Apache-2.0
/// What the ways of computing attention share: blocks of rows, and the panels of the keys and values they look at.
#ifndef HEADLENS_SRC_BACKENDS_SIMD_ROWS_H_
#define HEADLENS_SRC_BACKENDS_SIMD_ROWS_H_

#include "attention/masks/mask_rule.h"
#include "backends/simd/kernels/kernels.h"
#include "headlens/attention.h"

namespace headlens::simd {

/// Rows that look at the same keys: queries first, first + 1, … of one head; or query `first` of `count` heads.
struct RowBlock {
  Index b, g;  ///< batch, and the key/value head
  Index h, first, count;
  Index head_step = 0;  ///< from row to row; 0: the query goes on instead

  RowBlock Part(Index from, Index rows) const {
    const RowIndex start = at(from);
    return {b, g, start.h, start.t, rows, head_step};
  }
  RowIndex at(Index i) const { return {b, h + i * head_step, head_step == 0 ? first + i : first}; }

  template <class T>
  T* begin(const View<T, 4>& view) const {
    return view.at(b, h, first);
  }
  /// From one row of the block to the next.
  template <class T>
  Index stride(const View<T, 4>& view) const {
    return head_step == 0 ? view.strides[2] : head_step * view.strides[1];
  }
};

/// Rows [begin, end) of one head's keys or values.
inline HeadRows RowsOf(const KeyValueView& view, Index b, Index g, KeyRange rows) {
  return {view.dtype, view.at(b, g, rows.begin), view.strides[2], rows.end - rows.begin, view.shape[3]};
}

/// Keys and values of one head as gemm's B, for many rows; null where few rows make do with them as they are.
struct PackedHead {
  const float* k = nullptr;
  const float* v = nullptr;
};

/// One row of a block: which keys its masks' ranges leave, and which cells are computed. `cells` is that of key 0.
struct Row {
  RowIndex at;
  KeyRange visible, computed;
  float* cells;

  float* begin() const { return cells + computed.begin; }
  Index count() const { return computed.end - computed.begin; }
};

/// Floats from row to row of a block of scores, for `keys` of them: an odd number of cache lines, so that rows do not
/// share the cache's sets.
inline Index ScoreStride(Index keys) {
  constexpr Index kLine = kAlignment / sizeof(float);
  return ((keys + kLine - 1) / kLine | 1) * kLine;
}

inline KeyRange Union(KeyRange a, KeyRange b) {
  if (a.begin >= a.end) return b;
  if (b.begin >= b.end) return a;
  return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

inline KeyRange Intersection(KeyRange a, KeyRange b) {
  const KeyRange both{a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
  return both.begin < both.end ? both : KeyRange{};
}

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_ROWS_H_
