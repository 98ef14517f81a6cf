// SPDX-License-Identifier: Apache-2.0
/// A sliding window around each query.
#include <algorithm>

#include "attention/masks/mask_rule.h"

namespace headlens {
namespace {

constexpr Field<Mask> kWindowFields[] = {
    field::Count<&Mask::window_left>(
        "window_left", 0, "The number of positions that a query may look back. When absent, there is no limit."),
    field::Count<&Mask::window_right>(
        "window_right", 0, "The number of positions that a query may look ahead. When absent, there is no limit."),
};

}  // namespace

extern const MaskRule kWindow = {
    .fields = kWindowFields,
    .group = MaskGroup::kLocality,
    .present = [](const Mask& mask) { return mask.window_left >= 0 || mask.window_right >= 0; },
    .range =
        [](const AttentionProblem& p, Index, Index t) {
          const auto& [left, right] = std::pair(p.mask.window_left, p.mask.window_right);
          const Index own = QueryPosition(p, t) - p.key_offset, keys = MaskableKeys(p);
          // Compares before it adds, because a window may be so wide that the sum would overflow.
          return KeyRange{left < 0 || left >= own ? 0 : own - left,
                          right < 0 || right >= keys - own ? keys : std::max<Index>(own + right + 1, 0)};
        },
};

}  // namespace headlens
