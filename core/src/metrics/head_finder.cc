// SPDX-License-Identifier: Apache-2.0
#include "headlens/head_finder.h"

#include <algorithm>
#include <unordered_set>

#include "metrics/head_probe.h"

namespace headlens {
namespace {

/// A metric of either table.
struct NamedMetric {
  const Metric* of_map = nullptr;
  const ModelMetric* of_model = nullptr;
};

NamedMetric FindAnyMetric(std::string_view name) {
  std::string more;
  for (const ModelMetric& metric : ModelMetrics()) {
    if (metric.name == name) return {nullptr, &metric};
    more += ", " + std::string(metric.name);
  }
  try {
    return {&FindMetric(name), nullptr};
  } catch (const Error& error) {
    throw Error(error.code(), error.what() + more);
  }
}

/// Sums over texts, turned into means at the end.
class Scores {
 public:
  Scores(const HeadSource& source, const FinderOptions& options) : source_(source), options_(options) {
    if (options.metrics.empty()) throw Error(ErrorCode::kOption, "no metric is asked for");
    for (const std::string& name : options.metrics) {
      metrics_.push_back(FindAnyMetric(name));
      needs_maps_ = needs_maps_ || metrics_.back().of_map;
    }
    for (Index layer = 0; layer < source.layers; ++layer)
      for (Index head = 0; head < source.heads; ++head)
        heads_.push_back({layer, head, std::vector<HeadScore>(metrics_.size())});
  }

  /// False when it was stopped.
  bool AddText(Index text) {
    const TextHeads text_heads = source_.attend(text);
    const std::vector<std::uint8_t> special = SpecialMarks(text_heads.tokens);
    const MapInfo info = InfoOf(text_heads, special);
    const Tensor weights({needs_maps_ ? text_heads.length : 0, text_heads.length});
    HeadProbe probe(text_heads);
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      ScoredHead& head = heads_[i];
      std::optional<HeadMap> map;
      if (needs_maps_) {
        text_heads.map(head.layer, head.head, weights.view<2>());
        map.emplace(weights.view<2>(), info);
      }
      probe.Seek(head.layer, head.head);
      AddHead(map, probe, head);
      if (!Report(text, i + 1)) return false;
    }
    return true;
  }

  std::vector<ScoredHead> Means() && {
    for (ScoredHead& head : heads_)
      for (HeadScore& score : head.scores)
        if (score.mean) *score.mean /= static_cast<double>(score.texts);
    return std::move(heads_);
  }

 private:
  std::vector<std::uint8_t> SpecialMarks(std::span<const std::int32_t> tokens) const {
    const std::unordered_set<std::int32_t> special(options_.special_tokens.begin(), options_.special_tokens.end());
    std::vector<std::uint8_t> marks;
    if (special.empty()) return marks;
    for (const std::int32_t token : tokens) marks.push_back(special.contains(token));
    return marks;
  }

  MapInfo InfoOf(const TextHeads& text, std::span<const std::uint8_t> special) const {
    MapInfo info;
    info.causal = source_.causal;
    info.window = source_.window;
    info.padded_queries = info.padded_keys = text.padding;
    info.tokens = text.tokens;
    info.special = special;
    info.repeat = FindRepeat(text.tokens);
    info.grid = text.grid;
    return info;
  }

  void AddHead(const std::optional<HeadMap>& map, HeadProbe& probe, ScoredHead& head) const {
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      const MetricValue value =
          metrics_[m].of_map ? metrics_[m].of_map->function(*map) : metrics_[m].of_model->function(probe);
      if (!value.value) continue;
      HeadScore& score = head.scores[m];
      score.mean = score.mean.value_or(0.0) + *value.value;
      score.texts += 1;
      score.n_valid += value.n_valid;
    }
  }

  bool Report(Index text, std::size_t heads_done) const {
    if (!options_.progress) return true;
    const double part = static_cast<double>(heads_done) / static_cast<double>(heads_.size());
    return options_.progress((static_cast<double>(text) + part) / static_cast<double>(source_.texts));
  }

  const HeadSource& source_;
  const FinderOptions& options_;
  std::vector<NamedMetric> metrics_;
  bool needs_maps_ = false;
  std::vector<ScoredHead> heads_;
};

}  // namespace

std::optional<std::vector<ScoredHead>> ScoreHeads(const HeadSource& source, const FinderOptions& options) {
  Scores scores(source, options);
  for (Index text = 0; text < source.texts; ++text) {
    try {
      if (!scores.AddText(text)) return std::nullopt;
    } catch (const Error& error) {
      throw Error(error.code(), "text " + std::to_string(text + 1) + ": " + error.what());
    }
  }
  return std::move(scores).Means();
}

void RankHeads(std::span<ScoredHead> heads, std::size_t metric, bool ascending) {
  for (const ScoredHead& head : heads) {
    if (metric >= head.scores.size()) {
      throw Error(ErrorCode::kValue, "metric " + std::to_string(metric) + " was not asked for: there are " +
                                         std::to_string(head.scores.size()));
    }
  }
  std::stable_sort(heads.begin(), heads.end(), [&](const ScoredHead& a, const ScoredHead& b) {
    const std::optional<double>&x = a.scores[metric].mean, &y = b.scores[metric].mean;
    if (!x || !y) return x.has_value() && !y.has_value();
    return ascending ? *x < *y : *x > *y;
  });
}

}  // namespace headlens
