// SPDX-License-Identifier: Apache-2.0
/// Checks of masks that have one cell for each query and key.
#ifndef HEADLENS_SRC_ATTENTION_MASKS_CELLS_H_
#define HEADLENS_SRC_ATTENTION_MASKS_CELLS_H_

#include <cmath>
#include <limits>
#include <string>

#include "attention/masks/mask_rule.h"
#include "base/views.h"

namespace headlens {

template <class T>
void ExpectCellSizes(const AttentionProblem& p, const View<const T, 4>& mask) {
  const Shape expected = {p.q.shape[0], p.q.shape[1], p.q.shape[2], MaskableKeys(p)};
  if (SizesOf(mask) == expected) return;
  throw Error(ErrorCode::kShape, "attn_mask has shape " + ToString(SizesOf(mask)) + ", expected " + ToString(expected) +
                                     " (batch, heads, queries, keys)");
}

/// Throws kValue when a mask that is added to the scores holds NaN or +∞. A broadcast dimension is read only once.
inline void ExpectAddable(const std::string& name, const View<const float, 4>& mask) {
  const auto size = [&](std::size_t dim) {
    return mask.strides[dim] ? mask.shape[dim] : std::min<Index>(mask.shape[dim], 1);
  };
  for (Index b = 0; b < size(0); ++b)
    for (Index h = 0; h < size(1); ++h)
      for (Index t = 0; t < size(2); ++t)
        for (Index s = 0; s < size(3); ++s) {
          const float value = mask(b, h, t, s);
          if (!std::isnan(value) && value != std::numeric_limits<float>::infinity()) continue;
          throw Error(ErrorCode::kValue, name + " holds " + std::string(std::isnan(value) ? "NaN" : "+inf") + " at " +
                                             ToString(Shape{b, h, t, s}) + "; expected finite numbers or -inf");
        }
}

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_MASKS_CELLS_H_
