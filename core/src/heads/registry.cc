// SPDX-License-Identifier: Apache-2.0
/// The table of metrics. A new metric needs a function in its theme's file, its declaration in themes.h, and a line
/// here.
#include "base/words.h"
#include "heads/maps.h"
#include "heads/themes.h"

namespace headlens {
namespace {

using namespace metrics;

template <Index kWidth>
MetricValue LocalityWithin(const HeadMap& map) {
  return Locality(map, kWidth);
}

template <HeadPattern kPattern, bool kAbsolute>
MetricValue Detected(const HeadMap& map) {
  return DetectHead(map, kPattern, {.absolute = kAbsolute});
}

constexpr std::string_view kTransformerLens = "TransformerLens, exploratory analysis demo";
constexpr std::string_view kDetectHead = "TransformerLens, head_detector.py";
constexpr std::string_view kHeadVis = "Anthropic HeadVis and Neuronpedia, compute-head-metrics.py";
constexpr std::string_view kClark = "Clark et al. 2019, arXiv 1906.04341";
constexpr std::string_view kGu = "Gu et al. 2024, arXiv 2410.10781";
constexpr std::string_view kOurs = "headlens";

// name, needs, formula, source, function
constexpr Metric kMetrics[] = {
    {"self", kNeedsNothing, "mean_i A[i,i], rows that may look there", kClark, Self},
    {"previous", kNeedsNothing, "mean_{i>=1} A[i,i-1], rows that may look there", kTransformerLens, Previous},
    {"next", kNeedsNothing, "mean_i A[i,i+1], rows that may look there", kClark, Next},
    {"duplicate", kNeedsRepeat, "mean over the second copy of A[i,i-n], rows that may look there", kTransformerLens,
     Duplicate},
    {"duplicate_text", kNeedsTokens, "sum A*D / sum A, D[i,j] = 1[t_i = t_j, j < i]", kDetectHead,
     Detected<HeadPattern::kDuplicate, false>},
    {"duplicate_abs", kNeedsTokens, "1 - 1/T sum |A-D|, D[i,j] = 1[t_i = t_j, j < i]", kDetectHead,
     Detected<HeadPattern::kDuplicate, true>},
    {"previous_match", kNeedsNothing, "sum A*D / sum A, D[i,i-1] = 1", kDetectHead,
     Detected<HeadPattern::kPrevious, false>},
    {"previous_abs", kNeedsNothing, "1 - 1/T sum |A-D|, D[i,i-1] = 1", kDetectHead,
     Detected<HeadPattern::kPrevious, true>},
    {"induction", kNeedsRepeat, "mean over the second copy of A[i,i-(n-1)], rows that may look there",
     "Olsson et al. 2022, arXiv 2209.11895", Induction},
    {"induction_diagonal", kNeedsRepeat, "mean_{i>=n-1} A[i,i-(n-1)], the whole diagonal, rows that may look there",
     kTransformerLens, InductionDiagonal},
    {"induction_text", kNeedsTokens,
     "mean over queries whose token came before, at p+1 < i, of sum_p A[i,p+1] where that is at least 0.01", kHeadVis,
     [](const HeadMap& map) { return InductionInText(map, true); }},
    {"induction_text_loose", kNeedsTokens, "induction_text, p+1 = i (the query itself) counted too", kHeadVis,
     [](const HeadMap& map) { return InductionInText(map, false); }},
    {"induction_match", kNeedsTokens, "sum A*D / sum A, D[i,j] = 1[t_i = t_{j-1}, j <= i]", kDetectHead,
     Detected<HeadPattern::kInduction, false>},
    {"induction_abs", kNeedsTokens, "1 - 1/T sum |A-D|, D[i,j] = 1[t_i = t_{j-1}, j <= i]", kDetectHead,
     Detected<HeadPattern::kInduction, true>},

    {"entropy", kNeedsNothing, "mean_i H_i, H_i = -sum_j A[i,j] ln A[i,j] (nats)", kClark, Entropy},
    {"entropy_smoothed", kNeedsNothing, "entropy of 0.9999 A + 0.0001/S", kClark, SmoothedEntropy},
    {"entropy_uniform", kNeedsNothing, "mean_i ln n_i: the entropy of a head with equal weights", kClark,
     UniformEntropy},
    {"entropy_normalized", kNeedsNothing, "mean over n_i > 1 of H_i / ln n_i", kOurs, NormalizedEntropy},
    {"perplexity", kNeedsNothing, "mean_i exp(H_i): the effective number of keys", kOurs, Perplexity},
    {"confidence", kNeedsNothing, "mean_i max_j A[i,j], special columns left out",
     "Voita et al. 2019, arXiv 1905.09418", Confidence},
    {"sharpness", kNeedsNothing, "mean_i max_j A[i,j]", kOurs, Sharpness},

    {"distance", kNeedsNothing, "D = mean_i sum_j A[i,j] |i-j|", kHeadVis, Distance},
    {"distance_variance", kNeedsNothing, "mean_i sum_j A[i,j] (i-j)^2 - D^2", kHeadVis, DistanceVariance},
    {"offset", kNeedsNothing, "mean_i sum_j A[i,j] (j-i): below 0 looks back, above 0 ahead", kOurs, Offset},
    {"patch_distance", kNeedsGrid, "patch_size * mean_i sum_j A[i,j] ||(r_i,c_i)-(r_j,c_j)||, patches only",
     "Dosovitskiy et al. 2021, arXiv 2010.11929, fig. 7; Keras \"Probing ViTs\"", PatchDistance},
    {"locality_0", kNeedsNothing, "mean_i sum_{|i-j|<=0} A[i,j]", kHeadVis, LocalityWithin<0>},
    {"locality_1", kNeedsNothing, "mean_i sum_{|i-j|<=1} A[i,j]", kHeadVis, LocalityWithin<1>},
    {"locality_2", kNeedsNothing, "mean_i sum_{|i-j|<=2} A[i,j]", kHeadVis, LocalityWithin<2>},
    {"locality_4", kNeedsNothing, "mean_i sum_{|i-j|<=4} A[i,j]", kHeadVis, LocalityWithin<4>},
    {"locality_8", kNeedsNothing, "mean_i sum_{|i-j|<=8} A[i,j]", kHeadVis, LocalityWithin<8>},
    {"locality_16", kNeedsNothing, "mean_i sum_{|i-j|<=16} A[i,j]", kHeadVis, LocalityWithin<16>},
    {"locality_32", kNeedsNothing, "mean_i sum_{|i-j|<=32} A[i,j]", kHeadVis, LocalityWithin<32>},
    {"locality_64", kNeedsNothing, "mean_i sum_{|i-j|<=64} A[i,j]", kHeadVis, LocalityWithin<64>},
    {"locality_128", kNeedsNothing, "mean_i sum_{|i-j|<=128} A[i,j]", kHeadVis, LocalityWithin<128>},
    {"locality_256", kNeedsNothing, "mean_i sum_{|i-j|<=256} A[i,j]", kHeadVis, LocalityWithin<256>},
    {"locality_512", kNeedsNothing, "mean_i sum_{|i-j|<=512} A[i,j]", kHeadVis, LocalityWithin<512>},
    {"locality_1024", kNeedsNothing, "mean_i sum_{|i-j|<=1024} A[i,j]", kHeadVis, LocalityWithin<1024>},
    {"locality_2048", kNeedsNothing, "mean_i sum_{|i-j|<=2048} A[i,j]", kHeadVis, LocalityWithin<2048>},
    {"locality_4096", kNeedsNothing, "mean_i sum_{|i-j|<=4096} A[i,j]", kHeadVis, LocalityWithin<4096>},

    {"special", kNeedsSpecial, "mean_i sum_{j special} A[i,j]", kClark, Special},
    {"special_from_special", kNeedsSpecial, "mean over special queries of sum_{j special} A[i,j]", kClark,
     [](const HeadMap& map) { return SpecialFrom(map, true); }},
    {"special_from_rest", kNeedsSpecial, "mean over the other queries of sum_{j special} A[i,j]", kClark,
     [](const HeadMap& map) { return SpecialFrom(map, false); }},
    {"sink", kNeedsNothing, "alpha_1 = mean_i A[i,1], rows that may look there: the weight of the first key", kGu,
     [](const HeadMap& map) { return SinkScore(map, 1); }},
    {"sink_rate", kNeedsNothing, "1[alpha_1 > 0.3]; its mean over heads and texts is the sink metric", kGu, SinkRate},
    {"position", kNeedsNothing,
     "max_k mean_i 1[argmax_j A[i,j] = k]: the share of rows whose largest weight is at the same key", kOurs,
     FixedPosition},
    {"position_key", kNeedsNothing, "the key k of \"position\", counted from 0, the first of equals", kOurs,
     FixedPositionKey},
};

}  // namespace

std::span<const Metric> Metrics() { return kMetrics; }

const Metric& FindMetric(std::string_view name) {
  for (const Metric& metric : kMetrics)
    if (metric.name == name) return metric;
  const Phrase known = JoinedNames(kMetrics, &Metric::name);
  throw Error(ErrorCode::kOption, "`metrics`", Quoted(name), known,
              {"no metric is called ", Quoted(name), "; there are ", known});
}

std::vector<std::vector<MetricValue>> HeadMetrics(View<const float, 3> weights, const MapInfo& info,
                                                  std::span<const std::string_view> names) {
  metrics::ExpectElements("`weights`", weights);
  std::vector<const Metric*> chosen;
  for (const std::string_view name : names) chosen.push_back(&FindMetric(name));
  if (names.empty())
    for (const Metric& metric : kMetrics) chosen.push_back(&metric);
  std::vector<std::vector<MetricValue>> values;
  for (Index h = 0; h < weights.shape[0]; ++h) {
    const HeadMap map(Slice(weights, h), info);
    values.emplace_back();
    for (const Metric* metric : chosen) values.back().push_back(metric->function(map));
  }
  return values;
}

}  // namespace headlens
