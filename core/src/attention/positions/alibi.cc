// SPDX-License-Identifier: Apache-2.0
/// Attention with linear biases.
#include <cmath>

#include "attention/positions/bias_rule.h"
#include "base/checks.h"
#include "by_name/inputs.h"
#include "by_name/options.h"
#include "headlens/position_tables.h"

namespace headlens {

std::vector<float> AlibiSlopes(Index heads) {
  if (heads < 0) throw Error(ErrorCode::kShape, "there cannot be " + std::to_string(heads) + " heads");
  Index power = 1;
  while (2 * power <= heads) power *= 2;
  const auto slope = [](Index i, Index n) {
    return static_cast<float>(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(n)));
  };
  std::vector<float> slopes;
  for (Index i = 1; i <= std::min(power, heads); ++i) slopes.push_back(slope(i, power));
  for (Index i = 1; static_cast<Index>(slopes.size()) < heads; i += 2) slopes.push_back(slope(i, 2 * power));
  return slopes;
}

extern const BiasRule kAlibi = {
    .tensor = "alibi_slopes",
    .present = [](const PositionBias& bias) { return static_cast<bool>(bias.alibi_slopes); },
    .validate =
        [](const PositionBias& bias, Index heads) {
          ExpectSizes("alibi_slopes", SizesOf(bias.alibi_slopes), {heads});
          ExpectFinite("alibi_slopes", bias.alibi_slopes);
        },
    .at = [](const PositionBias& bias, Index h,
             Index distance) { return -double{bias.alibi_slopes(h)} * std::abs(static_cast<double>(distance)); },
    .read =
        [](BiasReader& in, PositionBias& bias) {
          const Given* slopes = in.args.Find("alibi_slopes");
          if (in.options.Flag("alibi", false)) {
            if (slopes)
              throw Error(ErrorCode::kOption, "alibi chooses the slopes, and alibi_slopes gives others: leave one out");
            bias.alibi_slopes = DenseView(in.args.Keep(AlibiSlopes(in.heads)), std::array{in.heads});
          } else if (slopes) {
            ExpectSizes("alibi_slopes", slopes->shape, {in.heads});
            bias.alibi_slopes = DenseView(in.args.Floats("alibi_slopes", *slopes), std::array{in.heads});
          }
        },
};

}  // namespace headlens
