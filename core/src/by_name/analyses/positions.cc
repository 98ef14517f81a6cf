// SPDX-License-Identifier: Apache-2.0
/// The tables behind positions.
#include "by_name/analyses/call.h"
#include "headlens/position_tables.h"

namespace headlens {

/// Options length, width, offset → [length, width].
void AnswerSinusoidalPositions(AnalysisCall& call) {
  const Index length = call.NeedCount("length", 0), width = call.NeedCount("width", 1),
              offset = call.options.Count("offset", 0, 0);
  call.options.RejectUnknown();
  call.Answer(SinusoidalPositions(length, width, offset));
}

/// Option heads → [heads].
void AnswerAlibiSlopes(AnalysisCall& call) {
  const Index heads = call.NeedCount("heads", 1);
  call.options.RejectUnknown();
  constexpr Index kMost = 1 << 16;  // far beyond any model, and far below what would be slow
  if (heads > kMost)
    throw Error(ErrorCode::kValue, "heads is " + std::to_string(heads) + ", expected 1 to " + std::to_string(kMost));
  const std::vector<float> slopes = AlibiSlopes(heads);
  call.Answer(Tensor({heads}, slopes));
}

/// Options distance, buckets, bidirectional, max_distance → { bucket }.
void AnswerT5Bucket(AnalysisCall& call) {
  constexpr Index kFar = Index{1} << 31;
  const Index distance = call.NeedCount("distance", -kFar), buckets = call.options.Count("buckets", 32, 1),
              max_distance = call.options.Count("max_distance", 128, 1);
  const bool bidirectional = call.options.Flag("bidirectional", true);
  call.options.RejectUnknown();
  const Index least = bidirectional ? 4 : 2, exact = buckets / least;
  if (buckets < least || max_distance <= exact) {
    throw Error(ErrorCode::kValue, "buckets is " + std::to_string(buckets) + " and max_distance " +
                                       std::to_string(max_distance) + ", expected at least " + std::to_string(least) +
                                       " buckets and a distance above the " + std::to_string(exact) +
                                       " that have a bucket of their own");
  }
  call.values["bucket"] = T5Bucket(distance, buckets, bidirectional, max_distance);
}

}  // namespace headlens
