// SPDX-License-Identifier: Apache-2.0
/// ALiBi: attention with linear biases (Press et al. 2022).
#include <cmath>

#include "attention/positions/bias_rule.h"
#include "base/checks.h"
#include "headlens/position_tables.h"

namespace headlens {

std::vector<float> AlibiSlopes(Index heads) {
  if (heads < 0) throw Wrong(ErrorCode::kShape, "`heads`", "is", heads, "0 or more");
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

namespace {

constexpr Field<PositionBias> kAlibiFields[] = {
    field::Made<&PositionBias::alibi_slopes>(
        FieldType::kFlag, "alibi", "alibi_slopes",
        [](double value, Index heads) { return value != 0.0 ? AlibiSlopes(heads) : std::vector<float>(); },
        "Adds −slope · distance with the slopes of Press et al. 2022; see `engine.alibi_slopes`."),
    field::Finite(field::Floats<&PositionBias::alibi_slopes>("alibi_slopes", "H", "", "Other slopes to use instead.")),
};

}  // namespace

extern const BiasRule kAlibi = {
    .fields = kAlibiFields,
    .present = [](const PositionBias& bias) { return static_cast<bool>(bias.alibi_slopes); },
    .validate =
        [](const PositionBias& bias, Index heads) {
          ExpectSizes("`alibi_slopes`", SizesOf(bias.alibi_slopes), {heads});
          ExpectFinite("`alibi_slopes`", bias.alibi_slopes);
        },
    .at = [](const PositionBias& bias, Index h,
             Index distance) { return -double{bias.alibi_slopes(h)} * std::abs(static_cast<double>(distance)); },
};

}  // namespace headlens
