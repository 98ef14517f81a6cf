// SPDX-License-Identifier: Apache-2.0
/// The relative positions of T5: a learned bias for each bucket of distances (Raffel et al. 2020).
#include <algorithm>
#include <cmath>

#include "attention/positions/bias_rule.h"
#include "base/checks.h"
#include "headlens/position_tables.h"

namespace headlens {

Index T5Bucket(Index distance, Index buckets, bool bidirectional, Index max_distance) {
  Index offset = 0, behind = std::max<Index>(-distance, 0);
  if (bidirectional) {
    buckets /= 2;
    if (distance > 0) offset = buckets;
    behind = std::abs(distance);
  }
  const Index exact = buckets / 2;
  if (behind < exact) return offset + behind;
  // In 32-bit floats, as the published models were trained: some distances lie exactly between two buckets.
  const float ratio = static_cast<float>(behind) / static_cast<float>(exact);
  const auto range = static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const float steps = std::log(ratio) / range * static_cast<float>(buckets - exact);
  return offset + std::min(exact + static_cast<Index>(steps), buckets - 1);
}

namespace {

constexpr Field<PositionBias> kT5Fields[] = {
    field::Finite(field::Floats<&PositionBias::t5>("t5_bias", "buckets,H", "",
                                                   "T5's relative_attention_bias.weight; see `engine.t5_bucket`.")),
    field::Needs("t5_bias", field::Flag<&PositionBias::t5_bidirectional>(
                                "t5_bidirectional", "Half of the buckets are for keys after the query.")),
    field::Needs("t5_bias", field::Count<&PositionBias::t5_max_distance>(
                                "t5_max_distance", 1, "This distance and all larger ones are in the last bucket.")),
};

}  // namespace

extern const BiasRule kT5Bias = {
    .fields = kT5Fields,
    .present = [](const PositionBias& bias) { return static_cast<bool>(bias.t5); },
    .validate =
        [](const PositionBias& bias, Index heads) {
          const Index buckets = bias.t5.shape[0], least = bias.t5_bidirectional ? 4 : 2;
          if (buckets < least || bias.t5.shape[1] != heads) {
            throw ShapeError("`t5_bias`", SizesOf(bias.t5),
                             {"(buckets, ", heads, "), with at least ", least, " buckets"});
          }
          const Index exact = buckets / least;
          if (bias.t5_max_distance <= exact) {
            throw ValueError("`t5_max_distance`", bias.t5_max_distance,
                             {"more than the ", exact, " distances that have a bucket of their own"});
          }
          ExpectFinite("`t5_bias`", bias.t5);
        },
    .at =
        [](const PositionBias& bias, Index h, Index distance) {
          return double{bias.t5(T5Bucket(distance, bias.t5.shape[0], bias.t5_bidirectional, bias.t5_max_distance), h)};
        },
};

}  // namespace headlens
