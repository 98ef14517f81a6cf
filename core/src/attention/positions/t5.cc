// SPDX-License-Identifier: Apache-2.0
/// The relative positions of T5: distances in buckets, a learned bias for each.
#include <algorithm>
#include <cmath>

#include "attention/positions/bias_rule.h"
#include "base/checks.h"
#include "by_name/inputs.h"
#include "by_name/options.h"
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
  // In float, as the published models were trained: some distances lie right between two buckets.
  const float ratio = static_cast<float>(behind) / static_cast<float>(exact);
  const auto range = static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const float steps = std::log(ratio) / range * static_cast<float>(buckets - exact);
  return offset + std::min(exact + static_cast<Index>(steps), buckets - 1);
}

extern const BiasRule kT5Bias = {
    .tensor = "t5_bias",
    .present = [](const PositionBias& bias) { return static_cast<bool>(bias.t5); },
    .validate =
        [](const PositionBias& bias, Index heads) {
          const Index buckets = bias.t5.shape[0], least = bias.t5_bidirectional ? 4 : 2;
          if (buckets < least || bias.t5.shape[1] != heads) {
            throw Error(ErrorCode::kShape, "t5_bias has shape " + ToString(SizesOf(bias.t5)) + ", expected (at least " +
                                               std::to_string(least) + " buckets, " + std::to_string(heads) +
                                               " heads)");
          }
          const Index exact = buckets / least;
          if (bias.t5_max_distance <= exact) {
            throw Error(ErrorCode::kValue, "t5_max_distance is " + std::to_string(bias.t5_max_distance) +
                                               ", expected more than the " + std::to_string(exact) +
                                               " distances that have a bucket of their own");
          }
          ExpectFinite("t5_bias", bias.t5);
        },
    .at =
        [](const PositionBias& bias, Index h, Index distance) {
          return double{bias.t5(T5Bucket(distance, bias.t5.shape[0], bias.t5_bidirectional, bias.t5_max_distance), h)};
        },
    .read =
        [](BiasReader& in, PositionBias& bias) {
          bias.t5_bidirectional = in.options.Flag("t5_bidirectional", true);
          bias.t5_max_distance = in.options.Count("t5_max_distance", 128, 1);
          const Given* input = in.args.Find("t5_bias");
          if (!input) {
            for (const char* name : {"t5_bidirectional", "t5_max_distance"}) {
              if (in.options.Has(name))
                throw Error(ErrorCode::kOption, std::string(name) + " needs the tensor t5_bias");
            }
            return;
          }
          if (input->shape.size() != 2) {
            throw Error(ErrorCode::kShape,
                        "t5_bias has shape " + ToString(input->shape) + ", expected (buckets, heads)");
          }
          bias.t5 = DenseView(in.args.Floats("t5_bias", *input), std::array{input->shape[0], input->shape[1]});
        },
};

}  // namespace headlens
