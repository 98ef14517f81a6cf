// SPDX-License-Identifier: Apache-2.0
/// The tensors of an attention problem as dense arrays, ready to be copied to a device.
#ifndef HEADLENS_NATIVE_GPU_PACKING_H_
#define HEADLENS_NATIVE_GPU_PACKING_H_

#include <span>
#include <vector>

#include "gpu/attention_plan.h"

namespace headlens::gpu {

/// A copy of [rows, columns] elements without the strides of the view.
template <class T>
std::vector<T> Dense(const View<const T, 2>& view) {
  std::vector<T> dense;
  dense.reserve(static_cast<std::size_t>(ElementCount({view.shape[0], view.shape[1]})));
  for (Index i = 0; i < view.shape[0]; ++i)
    for (Index j = 0; j < view.shape[1]; ++j) dense.push_back(view(i, j));
  return dense;
}

/// A copy of a view with one dimension.
template <class T>
std::vector<T> Dense(const View<const T, 1>& view) {
  return Dense(View<const T, 2>{view.data, {1, view.shape[0]}, {0, view.strides[0]}});
}

/// A part of a mask, dense, and how its elements are addressed.
template <class T>
struct MaskCells {
  std::vector<T> values;
  CellStrides strides;
};

/// The part of a mask [B, H, T, S] that these rows of the pass look at. A dimension that the mask is broadcast over has
/// one element.
template <class T>
MaskCells<T> CellsOf(const View<const T, 4>& view, const Pass& pass, const QueryRange& rows) {
  const bool by_head = view.strides[0] != 0 || view.strides[1] != 0;
  const Index heads = by_head ? pass.head_count() : 1;
  const Index count = view.strides[2] != 0 ? rows.count : 1, keys = view.strides[3] != 0 ? view.shape[3] : 1;
  std::vector<T> dense(static_cast<std::size_t>(ElementCount({heads, count, keys})));
  T* to = dense.data();
  for (Index z = 0; z < heads; ++z) {
    const Head& head = pass.heads[static_cast<std::size_t>(z)];
    for (Index i = 0; i < count; ++i)
      for (Index s = 0; s < keys; ++s) *to++ = view(head.b, head.h, rows.first + i, s);
  }
  return {std::move(dense),
          {by_head ? count * keys : 0, view.strides[2] != 0 ? keys : 0, view.strides[3] != 0 ? 1 : 0}};
}

/// [groups, S, width]: rows of the keys or values of a pass, dense.
std::vector<float> PackKeys(const View<const float, 4>& view, const Pass& pass);

/// [heads, rows, width]: rows of the queries of a pass, dense.
std::vector<float> PackQueries(const View<const float, 4>& view, const Pass& pass, const QueryRange& rows);

/// [heads, T + S]: the position biases of each head of a pass by distance, the farthest key back first; appended keys
/// are left out. Empty where the problem has no biases.
std::vector<float> PackBiases(const AttentionProblem& problem, const Pass& pass);

/// [heads]: the factor of each head of a pass. The problem has a head mask.
std::vector<float> PackHeadMask(const AttentionProblem& problem, const Pass& pass);

}  // namespace headlens::gpu

#endif  // HEADLENS_NATIVE_GPU_PACKING_H_
