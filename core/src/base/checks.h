// SPDX-License-Identifier: Apache-2.0
/// Checks of sizes and numbers. Each throws an Error that names the argument it checked.
#ifndef HEADLENS_SRC_BASE_CHECKS_H_
#define HEADLENS_SRC_BASE_CHECKS_H_

#include <array>
#include <cmath>
#include <string_view>

#include "base/views.h"
#include "headlens/tensor.h"

namespace headlens {

inline void ExpectSizes(std::string_view what, const Shape& got, const Shape& expected) {
  if (got != expected) throw ShapeError(Fragment::OfLibrary(what), got, expected);
}

/// "`what` holds NaN at (0, 2), expected `expected`"
inline Error HoldsError(const Fragment& what, const Fragment& value, const Shape& at, const Fragment& expected) {
  return Wrong(ErrorCode::kValue, what, "holds", {value, " at ", at}, expected);
}

/// Throws kValue when a tensor other than query, key or value holds a NaN or an infinity.
template <std::size_t Rank>
void ExpectFinite(std::string_view what, const View<const float, Rank>& view) {
  std::array<Index, Rank> at{};
  Index count = 1;
  for (const Index size : view.shape) count *= size;
  for (Index i = 0; i < count; ++i) {
    Index rest = i, offset = 0;
    for (std::size_t dim = Rank; dim-- > 0; rest /= view.shape[dim]) {
      at[dim] = rest % view.shape[dim];
      offset += at[dim] * view.strides[dim];
    }
    if (std::isfinite(view.data[offset])) continue;
    throw HoldsError(Fragment::OfLibrary(what), double{view.data[offset]}, Shape(at.begin(), at.end()),
                     "finite numbers");
  }
}

/// Throws kValue unless `value` is positive and can be divided by: its reciprocal must be finite, too.
inline void ExpectPositive(std::string_view what, float value) {
  if (value > 0.0f && std::isfinite(value) && std::isfinite(1.0f / value)) return;
  throw ValueError(Fragment::OfLibrary(what), double{value}, "a positive number");
}

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_CHECKS_H_
