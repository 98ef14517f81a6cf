// SPDX-License-Identifier: Apache-2.0
/// One learned bias per head and distance, the outermost for all beyond (Shaw et al. 2018, as a scalar bias).
#include <algorithm>

#include "attention/positions/bias_rule.h"
#include "base/checks.h"
#include "by_name/inputs.h"
#include "by_name/options.h"

namespace headlens {

extern const BiasRule kRelativeBias = {
    .tensor = "relative_bias",
    .present = [](const PositionBias& bias) { return static_cast<bool>(bias.relative); },
    .validate =
        [](const PositionBias& bias, Index heads) {
          const Index entries = bias.relative.shape[1];
          if (bias.relative.shape[0] != heads || entries % 2 == 0) {
            throw Error(ErrorCode::kShape, "relative_bias has shape " + ToString(SizesOf(bias.relative)) +
                                               ", expected (" + std::to_string(heads) +
                                               " heads, an odd number of distances)");
          }
          ExpectFinite("relative_bias", bias.relative);
        },
    .at =
        [](const PositionBias& bias, Index h, Index distance) {
          const Index reach = bias.relative.shape[1] / 2;
          return double{bias.relative(h, reach + std::clamp(-distance, -reach, reach))};
        },
    .read =
        [](BiasReader& in, PositionBias& bias) {
          const Given* input = in.args.Find("relative_bias");
          if (!input) return;
          const Shape& shape = input->shape;
          if (shape.size() != 2 || (shape[0] != in.heads && shape[0] != 1)) {
            throw Error(ErrorCode::kShape, "relative_bias has shape " + ToString(shape) + ", expected (" +
                                               std::to_string(in.heads) + " heads or 1, an odd number of distances)");
          }
          bias.relative = {
              in.args.Floats("relative_bias", *input), {in.heads, shape[1]}, {shape[0] == 1 ? 0 : shape[1], 1}};
        },
};

}  // namespace headlens
