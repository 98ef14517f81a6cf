// SPDX-License-Identifier: Apache-2.0
/// Functions on views: their parts, and copies.
#ifndef HEADLENS_SRC_BASE_VIEWS_H_
#define HEADLENS_SRC_BASE_VIEWS_H_

#include <algorithm>

#include "headlens/tensor.h"

namespace headlens {

template <class AnyView>
Shape SizesOf(const AnyView& view) {
  return Shape(view.shape.begin(), view.shape.end());
}

/// The part of a view at index `i` of the outermost dimension.
template <template <class, std::size_t> class AnyView, class T, std::size_t Rank>
AnyView<T, Rank - 1> Slice(const AnyView<T, Rank>& view, Index i) {
  AnyView<T, Rank - 1> slice;
  slice.data = view.at(i);
  std::copy(view.shape.begin() + 1, view.shape.end(), slice.shape.begin());
  std::copy(view.strides.begin() + 1, view.strides.end(), slice.strides.begin());
  return slice;
}

/// Rows [first, first + count) of a matrix.
template <template <class, std::size_t> class AnyView, class T>
AnyView<T, 2> Rows(const AnyView<T, 2>& matrix, Index first, Index count) {
  return {matrix.at(first), {count, matrix.shape[1]}, matrix.strides};
}

/// All elements of a matrix whose rows lie one after the other.
template <template <class, std::size_t> class AnyView, class T>
AnyView<T, 1> Elements(const AnyView<T, 2>& dense) {
  return {dense.data, {dense.shape[0] * dense.shape[1]}, {1}};
}

/// The same view with a batch dimension of size 1 in front.
template <template <class, std::size_t> class AnyView, class T>
AnyView<T, 4> BatchOfOne(const AnyView<T, 3>& x) {
  return {x.data, {1, x.shape[0], x.shape[1], x.shape[2]}, {0, x.strides[0], x.strides[1], x.strides[2]}};
}

/// Returns true when some size is 0. Loops over the other sizes would then do nothing, and could take long.
template <class AnyView>
bool HasNoElements(const AnyView& view) {
  return std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end();
}

/// Copies elements between views of equal sizes, converting them to float.
template <class T, std::size_t Rank>
void Copy(const View<T, Rank>& from, const View<float, Rank>& to) {
  if (HasNoElements(from)) return;
  for (Index i = 0; i < from.shape[0]; ++i) {
    if constexpr (Rank > 1) {
      Copy(Slice(from, i), Slice(to, i));
    } else {
      to(i) = from(i);
    }
  }
}

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_VIEWS_H_
