// SPDX-License-Identifier: Apache-2.0
/// Checks of masks that have one cell for each query and key.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_CELLS_H_
#define HEADLENS_SRC_ATTENTION_MASKS_CELLS_H_

#include <cmath>
#include <limits>

#include "attention/masks/mask_rule.h"
#include "base/checks.h"

namespace headlens {

template <class T>
void ExpectCellSizes(const AttentionProblem& p, const View<const T, 4>& mask) {
  const Shape expected = {p.q.shape[0], p.q.shape[1], p.q.shape[2], MaskableKeys(p)};
  if (SizesOf(mask) == expected) return;
  throw ShapeError("`attn_mask`", SizesOf(mask), {expected, ": (batch, heads, queries, keys)"});
}

/// Returns true for a number that a mask may hold that is added to scores.
inline bool IsAddable(float value) { return !std::isnan(value) && value != std::numeric_limits<float>::infinity(); }

inline constexpr char kAddable[] = "finite numbers or -inf";

/// Throws kValue where such a mask holds another. Dimensions of stride 0 are looked at once.
inline void ExpectAddable(const View<const float, 4>& mask) {
  const auto size = [&](std::size_t dim) {
    return mask.strides[dim] ? mask.shape[dim] : std::min<Index>(mask.shape[dim], 1);
  };
  for (Index b = 0; b < size(0); ++b)
    for (Index h = 0; h < size(1); ++h)
      for (Index t = 0; t < size(2); ++t)
        for (Index s = 0; s < size(3); ++s) {
          const float value = mask(b, h, t, s);
          if (!IsAddable(value)) throw HoldsError("`attn_mask`", double{value}, {b, h, t, s}, kAddable);
        }
}

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_CELLS_H_
