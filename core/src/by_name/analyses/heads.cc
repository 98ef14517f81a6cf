// SPDX-License-Identifier: Apache-2.0
/// Analyses of single heads, and comparisons of heads.
#include "by_name/analyses/maps.h"
#include "headlens/attribution.h"
#include "headlens/head_finder.h"

namespace headlens {
namespace {

using nlohmann::json;

template <class AnyMetric>
json Described(const AnyMetric& metric, json needs) {
  return {{"name", metric.name}, {"needs", std::move(needs)}, {"formula", metric.formula}, {"source", metric.source}};
}

struct MetricsQuestion {
  template <class Take>
  void Fields(const Take&) {}

  /// Metrics that need a model are for head finders only.
  void Answer(AnalysisCall& call) const {
    json list = json::array();
    for (const Metric& metric : Metrics()) {
      json needs = json::array();
      for (const auto& [flag, name] : {std::pair(kNeedsTokens, "tokens"), std::pair(kNeedsRepeat, "repeat"),
                                       std::pair(kNeedsSpecial, "special"), std::pair(kNeedsGrid, "patches")}) {
        if (metric.needs & flag) needs.push_back(name);
      }
      list.push_back(Described(metric, std::move(needs)));
    }
    for (const ModelMetric& metric : ModelMetrics()) list.push_back(Described(metric, {"model"}));
    call.values["metrics"] = std::move(list);
  }
};

struct ChosenMetrics {
  std::optional<std::vector<std::string>> names;
};
constexpr Field<ChosenMetrics> kChosen[] = {
    field::Names<&ChosenMetrics::names>("metrics", "The metrics to compute. When absent, all are computed."),
};

/// Answers { heads: [{ name: `kNumber` of the metric's value }] }.
template <json (*kNumber)(const MetricValue& value)>
struct HeadMetricsQuestion : KnownMaps {
  ChosenMetrics chosen;

  template <class Take>
  void Fields(const Take& take) {
    KnownMaps::Fields(take);
    take(Part::kOption, kChosen, chosen);
  }

  void Answer(AnalysisCall& call) const {
    std::vector<std::string_view> names;
    if (chosen.names) {
      names.assign(chosen.names->begin(), chosen.names->end());
    } else {
      for (const Metric& metric : Metrics()) names.push_back(metric.name);
    }
    if (names.empty()) throw OptionError("`metrics`", "[]", "at least one name");
    json heads = json::array();
    for (const std::vector<MetricValue>& values : HeadMetrics(weights, Info(), names)) {
      json head = json::object();
      for (std::size_t i = 0; i < names.size(); ++i) head[std::string(names[i])] = kNumber(values[i]);
      heads.push_back(std::move(head));
    }
    call.values["heads"] = std::move(heads);
  }
};

json NumberOf(const MetricValue& value) { return ToJson(value.value); }
json CountOf(const MetricValue& value) { return value.n_valid; }

struct Smoothing {
  double smoothing = 0.001;
};
constexpr Field<Smoothing> kSmoothing[] = {
    field::Number<&Smoothing::smoothing>("smoothing", "Weights are first smoothed to (1 − smoothing)·A + smoothing/S."),
};

struct SimilarityQuestion : KnownMaps, Smoothing {
  template <class Take>
  void Fields(const Take& take) {
    KnownMaps::Fields(take);
    take(Part::kOption, kSmoothing, *this);
  }

  void Answer(AnalysisCall& call) const { call.Answer(JensenShannon(weights, Info(), smoothing)); }
};

struct Contributions {
  View<const float, 3> contributions;
  View<const float, 2> output;
};
constexpr Field<Contributions> kContributions[] = {
    field::Required(field::Finite(field::TextFloats<&Contributions::contributions>(
        "contributions", "H,T,D",
        "The part of the output that each head adds, as in the stage `head_contributions`."))),
    field::Finite(field::TextFloats<&Contributions::output>("output", "T,D",
                                                            "The layer's output; by default the contributions' sum.")),
};

struct ImportanceQuestion : Contributions {
  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, kContributions, *this);
  }

  void Answer(AnalysisCall& call) const {
    json heads = json::array();
    for (const HeadImportance& head : ImportanceOfHeads(contributions, output)) {
      heads.push_back({{"output_change", ToJson(head.output_change)},
                       {"norm_share", ToJson(head.norm_share)},
                       {"cosine", ToJson(head.cosine)}});
    }
    call.values["heads"] = std::move(heads);
  }
};

struct PruningQuestion : Contributions {
  template <class Take>
  void Fields(const Take& take) {
    take(Part::kArgument, kContributions, *this);
  }

  void Answer(AnalysisCall& call) const {
    json steps = json::array();
    for (const PruningStep& step : PruningCurve(contributions, output))
      steps.push_back({{"head", step.head}, {"change", step.change}});
    call.values["steps"] = std::move(steps);
  }
};

}  // namespace

extern const AnalysisKind kMetricsAnalysis = MakeAnalysis<MetricsQuestion>(
    "metrics", "All metrics with their formulas and sources: { metrics: [{ name, needs, formula, source }] }.");

extern const AnalysisKind kHeadMetricsAnalysis = MakeAnalysis<HeadMetricsQuestion<NumberOf>>(
    "head_metrics", "Metrics of each head, with null for those that are not defined: { heads: [{ name: value }] }.",
    "head_metrics_options");

extern const AnalysisKind kHeadMetricCountsAnalysis = MakeAnalysis<HeadMetricsQuestion<CountOf>>(
    "head_metric_counts",
    "The number of rows (or other terms) of which each of those values is the mean, 0 where there is none: "
    "{ heads: [{ name: count }] }.",
    "head_metrics_options");

extern const AnalysisKind kHeadSimilarityAnalysis = MakeAnalysis<SimilarityQuestion>(
    "head_similarity", "Jensen–Shannon divergences between heads, in nats, summed over rows (Clark et al. 2019) [H,H].",
    "head_similarity_options");

extern const AnalysisKind kHeadImportanceAnalysis = MakeAnalysis<ImportanceQuestion>(
    "head_importance",
    "The part of each head in a layer's output (Michel et al. 2019, by exact ablation): "
    "{ heads: [{ output_change, norm_share, cosine }] }.");

extern const AnalysisKind kPruningCurveAnalysis =
    MakeAnalysis<PruningQuestion>("pruning_curve",
                                  "Greedy pruning: each step removes the head without which the output changes least: "
                                  "{ steps: [{ head, change }] }.");

}  // namespace headlens
