// SPDX-License-Identifier: Apache-2.0
/// The functions of the metrics, by theme. The table in registry.cc gives their names, formulas and sources.
#ifndef HEADLENS_SRC_HEADS_THEMES_H_
#define HEADLENS_SRC_HEADS_THEMES_H_

#include "headlens/metrics.h"

namespace headlens::metrics {

// patterns.cc: looking at a certain key.
MetricValue Self(const HeadMap& map);
MetricValue Previous(const HeadMap& map);
MetricValue Next(const HeadMap& map);
MetricValue Duplicate(const HeadMap& map);
MetricValue Induction(const HeadMap& map);
MetricValue InductionDiagonal(const HeadMap& map);
/// When `strict`, the query itself does not count as the token after an earlier occurrence.
MetricValue InductionInText(const HeadMap& map, bool strict);

// entropy.cc: looking at few keys or at many.
MetricValue Entropy(const HeadMap& map);
MetricValue SmoothedEntropy(const HeadMap& map);
MetricValue UniformEntropy(const HeadMap& map);
MetricValue NormalizedEntropy(const HeadMap& map);
MetricValue Perplexity(const HeadMap& map);
MetricValue Confidence(const HeadMap& map);
MetricValue Sharpness(const HeadMap& map);

// distances.cc: looking near or far.
MetricValue Distance(const HeadMap& map);
MetricValue DistanceVariance(const HeadMap& map);
MetricValue Offset(const HeadMap& map);
MetricValue PatchDistance(const HeadMap& map);

// sinks.cc: looking at tokens without a meaning of their own.
MetricValue Special(const HeadMap& map);
MetricValue SpecialFrom(const HeadMap& map, bool special_queries);
MetricValue SinkRate(const HeadMap& map);
MetricValue FixedPosition(const HeadMap& map);
MetricValue FixedPositionKey(const HeadMap& map);

}  // namespace headlens::metrics

#endif  // HEADLENS_SRC_HEADS_THEMES_H_
