// SPDX-License-Identifier: Apache-2.0
#include "headlens/head_finder.h"

#include <algorithm>
#include <set>

#include "base/sorting.h"
#include "base/words.h"
#include "heads/head_probe.h"

namespace headlens {
namespace {

/// A metric of Metrics() or of ModelMetrics(); the other pointer is null.
struct NamedMetric {
  const Metric* of_map = nullptr;
  const ModelMetric* of_model = nullptr;
};

NamedMetric FindAnyMetric(std::string_view name) {
  for (const ModelMetric& metric : ModelMetrics())
    if (metric.name == name) return {nullptr, &metric};
  for (const Metric& metric : Metrics())
    if (metric.name == name) return {&metric, nullptr};
  const Phrase known = {JoinedNames(Metrics(), &Metric::name), ", ", JoinedNames(ModelMetrics(), &ModelMetric::name)};
  throw Error(ErrorCode::kOption, "`metrics`", Quoted(name), known,
              {"no metric is called ", Quoted(name), "; there are ", known});
}

std::vector<NamedMetric> FindMetrics(std::span<const std::string> names) {
  if (names.empty()) throw OptionError("`metrics`", "[]", "at least one name");
  std::vector<NamedMetric> metrics;
  for (const std::string& name : names) metrics.push_back(FindAnyMetric(name));
  return metrics;
}

/// The text whose heads are being scored.
class Text {
 public:
  Text(const HeadSource& source, const FinderOptions& options, TextHeads given, bool needs_maps)
      : heads_(std::move(given)), windows_(source.windows), probe_(heads_), special_(SpecialMarks(options)) {
    info_.causal = source.causal;
    info_.padded_queries = heads_.padding;
    const bool is_square = heads_.keys == 0;
    info_.padded_keys = is_square ? heads_.padding : heads_.padded_keys;
    info_.tokens = heads_.tokens;
    info_.special = special_;
    info_.repeat = FindRepeat(heads_.tokens);
    info_.grid = heads_.grid;
    if (needs_maps) weights_ = Tensor({heads_.length, is_square ? heads_.length : heads_.keys});
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  void Score(const std::vector<NamedMetric>& metrics, ScoredHead& head) {
    std::optional<HeadMap> map;
    if (weights_) {
      heads_.map(head.layer, head.head, weights_->view<2>());
      info_.window = windows_.empty() ? 0 : windows_[static_cast<std::size_t>(head.layer)];
      map.emplace(weights_->view<2>(), info_);
    }
    probe_.Seek(head.layer, head.head);
    std::vector<MetricValue> values;  // a metric may throw, so no value is added before all are computed
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      const auto [of_map, of_model] = metrics[m];
      const bool is_known = of_model && of_model->of_weights && head.scores[m].texts > 0;
      values.push_back(is_known ? MetricValue() : of_map ? of_map->function(*map) : of_model->function(probe_));
    }
    for (std::size_t m = 0; m < metrics.size(); ++m) Add(values[m], head.scores[m]);
  }

 private:
  static void Add(const MetricValue& value, HeadScore& score) {
    if (!value.value) return;
    score.mean = score.mean.value_or(0.0) + *value.value;
    score.texts += 1;
    score.n_valid += value.n_valid;
  }

  std::vector<std::uint8_t> SpecialMarks(const FinderOptions& options) const {
    const std::set<std::int32_t> special(options.special_tokens.begin(), options.special_tokens.end());
    std::vector<std::uint8_t> marks;
    if (special.empty()) return marks;
    for (const std::int32_t token : heads_.tokens) marks.push_back(special.contains(token));
    return marks;
  }

  TextHeads heads_;
  std::vector<Index> windows_;
  HeadProbe probe_;  // reads heads_
  std::vector<std::uint8_t> special_;
  MapInfo info_;
  std::optional<Tensor> weights_;
};

}  // namespace

struct HeadFinder::State {
  HeadSource source;
  FinderOptions options;
  std::vector<NamedMetric> metrics;
  std::vector<ScoredHead> heads;  // sums instead of means while texts are added
  std::size_t next = 0;           // the index of the next head in `heads`
  std::optional<Text> text;
};

HeadFinder::HeadFinder(const HeadSource& source, FinderOptions options)
    : state_(new State{source, std::move(options), {}, {}, 0, {}}) {
  state_->metrics = FindMetrics(state_->options.metrics);
  for (Index layer = 0; layer < source.layers; ++layer)
    for (Index head = 0; head < source.heads; ++head)
      state_->heads.push_back({layer, head, std::vector<HeadScore>(state_->metrics.size())});
}

HeadFinder::~HeadFinder() = default;
HeadFinder::HeadFinder(HeadFinder&&) noexcept = default;
HeadFinder& HeadFinder::operator=(HeadFinder&&) noexcept = default;

void HeadFinder::Begin(TextHeads text) {
  State& state = *state_;
  const bool needs_maps =
      std::any_of(state.metrics.begin(), state.metrics.end(), [](const NamedMetric& metric) { return metric.of_map; });
  state.next = 0;
  state.text.reset();
  state.text.emplace(state.source, state.options, std::move(text), needs_maps);
}

bool HeadFinder::Next() {
  State& state = *state_;
  if (!state.text || state.next == state.heads.size()) return false;
  state.text->Score(state.metrics, state.heads[state.next]);
  if (++state.next == state.heads.size()) state.text.reset();
  return true;
}

Index HeadFinder::heads_done() const { return static_cast<Index>(state_->next); }

std::vector<ScoredHead> HeadFinder::Heads() const {
  std::vector<ScoredHead> heads = state_->heads;
  for (ScoredHead& head : heads)
    for (HeadScore& score : head.scores)
      if (score.mean) *score.mean /= static_cast<double>(score.texts);
  return heads;
}

std::optional<std::vector<ScoredHead>> ScoreHeads(const HeadSource& source, const FinderOptions& options,
                                                  const ProgressCallback& progress) {
  HeadFinder finder(source, options);
  const double all = static_cast<double>(source.texts) * static_cast<double>(source.layers * source.heads);
  const auto report = [&](Index text) {
    const Index done = text * source.layers * source.heads + finder.heads_done();
    return !progress || progress(static_cast<double>(done) / all);
  };
  for (Index text = 0; text < source.texts; ++text) {
    try {
      finder.Begin(source.attend(text));
      while (finder.Next())
        if (!report(text)) return std::nullopt;
    } catch (const Error& error) {
      throw error.In({"text ", text + 1});
    }
  }
  return finder.Heads();
}

void RankHeads(std::span<ScoredHead> heads, std::size_t metric, bool ascending) {
  for (const ScoredHead& head : heads) {
    if (metric >= head.scores.size()) {
      throw ValueError("the metric to rank by", metric, {"one of the ", head.scores.size(), " that were asked for"});
    }
  }
  Permute(heads, Order(heads.size(), [&](std::size_t i, std::size_t j) {
            const std::optional<double>&x = heads[i].scores[metric].mean, &y = heads[j].scores[metric].mean;
            if (!x || !y) return x.has_value() && !y.has_value();
            return ascending ? *x < *y : *x > *y;
          }));
}

}  // namespace headlens
