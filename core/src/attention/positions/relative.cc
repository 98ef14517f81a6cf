// SPDX-License-Identifier: Apache-2.0
/// One learned bias for each head and distance; distances beyond the table use its outermost entry (Shaw et al. 2018,
/// with a scalar bias).
#include <algorithm>

#include "attention/positions/bias_rule.h"
#include "base/checks.h"

namespace headlens {
namespace {

constexpr Field<PositionBias> kRelativeFields[] = {
    field::Finite(field::Floats<&PositionBias::relative>(
        "relative_bias", "H,2R+1", "1,2R+1",
        "A bias for each distance: entry R + query position − key position is added, the distance clipped to ±R.")),
};

}  // namespace

extern const BiasRule kRelativeBias = {
    .fields = kRelativeFields,
    .present = [](const PositionBias& bias) { return static_cast<bool>(bias.relative); },
    .validate =
        [](const PositionBias& bias, Index heads) {
          const Index entries = bias.relative.shape[1];
          if (bias.relative.shape[0] != heads || entries % 2 == 0) {
            throw ShapeError("`relative_bias`", SizesOf(bias.relative),
                             {"(", heads, ", R), with an odd number R of distances"});
          }
          ExpectFinite("`relative_bias`", bias.relative);
        },
    .at =
        [](const PositionBias& bias, Index h, Index distance) {
          const Index reach = bias.relative.shape[1] / 2;
          return double{bias.relative(h, reach + std::clamp(-distance, -reach, reach))};
        },
};

}  // namespace headlens
