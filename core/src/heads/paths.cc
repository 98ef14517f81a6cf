// SPDX-License-Identifier: Apache-2.0
#include "headlens/paths.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/sorting.h"
#include "headlens/head_finder.h"
#include "heads/unpacked_layer.h"
#include "models/run.h"

namespace headlens {

PathFinder::PathFinder(const ModelAttention& attention, const std::optional<HeadPlace>& later)
    : attention_(&attention) {
  const ModelInfo& info = attention.run().info();
  attention.run().RequireParts();
  if (later) {
    models::CheckLayer(info, later->layer, later->head);
    later_ = {*later};
    return;
  }
  for (Index layer = 1; layer < info.layers; ++layer)
    for (Index head = 0; head < info.heads; ++head) later_.push_back({layer, head});
}

namespace {

/// Adds the paths from those of the parts that are heads.
void AddPaths(const HeadPlace& later, Composition kind, const std::vector<StreamPart>& parts,
              const std::vector<double>& sums, std::vector<HeadPath>& paths) {
  const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind != PartKind::kHead) continue;
    HeadPath path{{parts[i].layer, parts[i].head}, later, kind};
    if (const double share = sums[i] / all; std::isfinite(share)) path.share = share;
    paths.push_back(path);
  }
}

}  // namespace

bool PathFinder::Next() {
  if (next_ == later_.size()) return false;
  const HeadPlace& later = later_[next_];
  const HeadSources sources = SourcesOf(*attention_, later.layer, later.head);
  AddPaths(later, Composition::kQuery, sources.query_parts, sources.query, paths_);
  AddPaths(later, Composition::kKey, sources.key_parts, sources.key, paths_);
  AddPaths(later, Composition::kValue, sources.value_parts, sources.value, paths_);
  ++next_;
  return true;
}

void RankPaths(std::span<HeadPath> paths) {
  Permute(paths, Order(paths.size(), [&](std::size_t i, std::size_t j) {
            const std::optional<double>&x = paths[i].share, &y = paths[j].share;
            return x && y ? *x > *y : x.has_value() && !y.has_value();
          }));
}

void AddCompositionScores(const Model& model, std::span<HeadPath> paths) {
  UnpackedLayer earlier(model), later(model);
  for (HeadPath& path : paths) {
    path.weights = CompositionScore(path.kind, HeadOf(earlier.At(path.earlier.layer), path.earlier.head),
                                    HeadOf(later.At(path.later.layer), path.later.head));
  }
}

namespace {

/// The heads of a run, with their maps alone.
HeadSource HeadsOfRun(const ModelAttention& attention) {
  const ModelInfo& info = attention.run().info();
  HeadSource source{info.layers, info.heads, 1, info.causal, info.windows};
  source.attend = [&attention](Index) {
    const ModelInput& input = attention.run().request->input();
    TextHeads heads;
    heads.length = attention.length();
    heads.tokens = input.ids;
    heads.padding = input.padding;
    heads.map = [&attention](Index layer, Index head, View<float, 2> weights) {
      attention.Map(layer, head, {}, weights);
    };
    return heads;
  };
  return source;
}

}  // namespace

std::optional<std::vector<InductionPath>> FindInductionPaths(const ModelAttention& attention,
                                                             std::span<const HeadPath> paths,
                                                             const ProgressCallback& progress) {
  const ModelInfo& info = attention.run().info();
  if (info.vocab_size == 0)
    throw Error(ErrorCode::kUnsupported, "induction is about tokens that come again, and this model reads images");
  for (const HeadPath& path : paths)
    for (const HeadPlace& place : {path.earlier, path.later}) models::CheckLayer(info, place.layer, place.head);
  const auto heads = ScoreHeads(HeadsOfRun(attention), {.metrics = {"previous", "induction_text"}}, progress);
  if (!heads) return std::nullopt;
  const auto scores = [&](const HeadPlace& place) -> const std::vector<HeadScore>& {
    return (*heads)[static_cast<std::size_t>(place.layer * info.heads + place.head)].scores;
  };
  std::vector<InductionPath> found;
  for (const HeadPath& path : paths) {
    const std::optional<double> previous = scores(path.earlier)[0].mean, induction = scores(path.later)[1].mean;
    if (path.kind != Composition::kKey || !path.share || !previous || !induction) continue;
    found.push_back({path, *previous, *induction, *previous * *induction * std::max(*path.share, 0.0)});
  }
  Permute(std::span(found),
          Order(found.size(), [&](std::size_t i, std::size_t j) { return found[i].score > found[j].score; }));
  return found;
}

}  // namespace headlens
