// SPDX-License-Identifier: Apache-2.0
/// Heads one by one, and beside each other.
#include "by_name/analyses/call.h"
#include "headlens/attribution.h"
#include "headlens/head_finder.h"

namespace headlens {

using nlohmann::json;

/// All metrics: { metrics: [{ name, needs, formula, source }] }; those that need a model are for head finders only.
void ListMetrics(AnalysisCall& call) {
  call.options.RejectUnknown();
  json list = json::array();
  for (const Metric& metric : Metrics()) {
    json needs = json::array();
    for (const auto& [flag, name] : {std::pair(kNeedsTokens, "tokens"), std::pair(kNeedsRepeat, "repeat"),
                                     std::pair(kNeedsSpecial, "special"), std::pair(kNeedsGrid, "patches")}) {
      if (metric.needs & flag) needs.push_back(name);
    }
    list.push_back({{"name", metric.name}, {"needs", needs}, {"formula", metric.formula}, {"source", metric.source}});
  }
  for (const ModelMetric& metric : ModelMetrics()) {
    list.push_back(
        {{"name", metric.name}, {"needs", {"model"}}, {"formula", metric.formula}, {"source", metric.source}});
  }
  call.values["metrics"] = std::move(list);
}

namespace {

/// { heads: [{ name: what `number` gives of a value }] }.
template <class Number>
void AnswerMetrics(AnalysisCall& call, const Number& number) {
  const View<const float, 3> weights = call.NeedMasked<3>("weights");
  const MapInfo info = call.Info();
  const bool all = !call.options.Has("metrics");
  const std::vector<std::string> wanted = call.options.Names("metrics");
  call.options.RejectUnknown();
  std::vector<std::string_view> names(wanted.begin(), wanted.end());
  if (all)
    for (const Metric& metric : Metrics()) names.push_back(metric.name);
  json heads = json::array();
  if (names.empty()) throw Error(ErrorCode::kOption, "metrics is [], expected at least one name");
  for (const std::vector<MetricValue>& values : HeadMetrics(weights, info, names)) {
    json head = json::object();
    for (std::size_t i = 0; i < names.size(); ++i) head[std::string(names[i])] = number(values[i]);
    heads.push_back(std::move(head));
  }
  call.values["heads"] = std::move(heads);
}

}  // namespace

/// weights [H, T, S]; option metrics: names, all when absent → { heads: [{ name: value }] }.
void AnswerHeadMetrics(AnalysisCall& call) {
  AnswerMetrics(call, [](const MetricValue& value) { return ToJson(value.value); });
}

/// The same question: how many rows (or other terms) each value is the mean of, 0 where there is none.
void AnswerHeadMetricCounts(AnalysisCall& call) {
  AnswerMetrics(call, [](const MetricValue& value) { return value.n_valid; });
}

/// weights [H, T, S]; option smoothing → [H, H], Jensen–Shannon divergences.
void AnswerHeadSimilarity(AnalysisCall& call) {
  const View<const float, 3> weights = call.NeedMasked<3>("weights");
  const MapInfo info = call.Info();
  const double smoothing = call.options.Number("smoothing", 0.001);
  call.options.RejectUnknown();
  call.Answer(JensenShannon(weights, info, smoothing));
}

/// contributions [H, T, D], output [T, D] → { heads: [{ output_change, norm_share, cosine }] }.
void AnswerHeadImportance(AnalysisCall& call) {
  call.options.RejectUnknown();
  json heads = json::array();
  for (const HeadImportance& head : ImportanceOfHeads(call.Need<3>("contributions"), call.Find<2>("output"))) {
    heads.push_back({{"output_change", ToJson(head.output_change)},
                     {"norm_share", ToJson(head.norm_share)},
                     {"cosine", ToJson(head.cosine)}});
  }
  call.values["heads"] = std::move(heads);
}

/// contributions [H, T, D], output [T, D] → { steps: [{ head, change }] }.
void AnswerPruningCurve(AnalysisCall& call) {
  call.options.RejectUnknown();
  json steps = json::array();
  for (const PruningStep& step : PruningCurve(call.Need<3>("contributions"), call.Find<2>("output")))
    steps.push_back({{"head", step.head}, {"change", step.change}});
  call.values["steps"] = std::move(steps);
}

}  // namespace headlens
