// SPDX-License-Identifier: Apache-2.0
/// Checks of sizes and numbers. Each throws an Error that names the argument it checked.
#ifndef HEADLENS_SRC_BASE_CHECKS_H_
#define HEADLENS_SRC_BASE_CHECKS_H_

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/views.h"
#include "headlens/tensor.h"

namespace headlens {

inline void ExpectSizes(const char* what, const Shape& got, const Shape& expected) {
  if (got != expected) {
    throw Error(ErrorCode::kShape,
                std::string(what) + " has shape " + ToString(got) + ", expected " + ToString(expected));
  }
}

/// Throws kValue when a tensor other than query, key or value holds a NaN or an infinity.
template <std::size_t Rank>
void ExpectFinite(const char* what, const View<const float, Rank>& view) {
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
    throw Error(ErrorCode::kValue, std::string(what) + " holds " + std::to_string(view.data[offset]) + " at " +
                                       ToString(Shape(at.begin(), at.end())) + "; expected finite numbers");
  }
}

/// Throws kValue unless `value` is positive and can be divided by: its reciprocal must be finite, too.
inline void ExpectPositive(const char* what, float value) {
  if (value > 0.0f && std::isfinite(value) && std::isfinite(1.0f / value)) return;
  char got[32];
  std::snprintf(got, sizeof got, "%g", double{value});  // streams would bring 100 KB of locales into the wasm module
  throw Error(ErrorCode::kValue, std::string(what) + " is " + got + ", expected a positive number");
}

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_CHECKS_H_
