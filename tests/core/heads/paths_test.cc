// SPDX-License-Identifier: Apache-2.0
/// Paths of two heads, against explanations and weights; and the induction circuit of the built-in model.
#include "headlens/paths.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headlens/metrics.h"
#include "support.h"

namespace headlens::testing {
namespace {

/// `[one token][s][s]` with s of 32 different tokens.
std::vector<std::int32_t> RepeatedText() {
  std::vector<std::int32_t> ids = {1};
  Random random(3);
  while (ids.size() < 33) {
    const auto id = static_cast<std::int32_t>(300 + random.Below(1700));
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  ids.insert(ids.end(), ids.begin() + 1, ids.begin() + 33);
  return ids;
}

AttendOptions WithParts() {
  AttendOptions options;
  options.keep_parts = true;
  return options;
}

std::vector<HeadPath> AllPaths(const ModelAttention& attention) {
  PathFinder finder(attention);
  while (finder.Next()) continue;
  CHECK(finder.heads_done() == finder.heads());
  return {finder.paths().begin(), finder.paths().end()};
}

/// Checks the paths into one head by one of its inputs against the sums over all parts.
void CheckShares(std::span<const HeadPath> paths, const HeadPlace& later, Composition kind,
                 const std::vector<StreamPart>& parts, const std::vector<double>& sums) {
  const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  std::size_t next = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind != PartKind::kHead) continue;
    REQUIRE(next < paths.size());
    const HeadPath& path = paths[next++];
    CHECK(path.earlier == HeadPlace{parts[i].layer, parts[i].head});
    CHECK(path.later == later);
    CHECK(path.kind == kind);
    CHECK(path.share.value() == doctest::Approx(sums[i] / all));
    CHECK(!path.weights);
  }
  CHECK(next == paths.size());
}

TEST_CASE("paths have the shares of the earlier heads in what the later ones read") {
  for (const char* name : {"gpt2", "llama", "bert"}) {
    CAPTURE(name);
    const Model model = LoadFolder(GoldenFolder(name));
    const std::vector<std::int32_t> ids = {5, 9, 5, 9, 7, 1};
    ModelInput input;
    input.ids = ids;
    const ModelAttention attention = model.Attend(input, WithParts());
    const ModelInfo& info = model.info();
    const std::vector<HeadPath> paths = AllPaths(attention);
    CHECK(paths.size() == static_cast<std::size_t>(3 * info.heads * info.heads * info.layers * (info.layers - 1) / 2));
    const HeadPlace later{info.layers - 1, 1};
    PathFinder finder(attention, later);
    CHECK(finder.Next());
    CHECK(!finder.Next());
    const HeadSources sources = SourcesOf(attention, later.layer, later.head);
    const auto earlier = static_cast<std::size_t>(later.layer * info.heads);
    CheckShares(finder.paths().subspan(0, earlier), later, Composition::kQuery, sources.query_parts, sources.query);
    CheckShares(finder.paths().subspan(earlier, earlier), later, Composition::kKey, sources.key_parts, sources.key);
    CheckShares(finder.paths().subspan(2 * earlier), later, Composition::kValue, sources.value_parts, sources.value);
    PathFinder first(attention, HeadPlace{0, 0});
    CHECK(first.Next());
    CHECK(first.paths().empty());
  }
}

TEST_CASE("paths are ranked by their shares, and have the composition of the weights") {
  std::vector<HeadPath> paths;
  for (Index head = 0; head < 4; ++head) paths.push_back({{0, head}, {1, 2}, Composition::kKey});
  paths[0].share = -0.5;
  paths[2].share = paths[3].share = 2.0;
  RankPaths(paths);
  std::string order;
  for (const HeadPath& path : paths) order += std::to_string(path.earlier.head);
  CHECK(order == "2301");
  const Model model = LoadFolder(GoldenFolder("llama"));  // with grouped heads and a norm before them
  const auto layer = [&](Index of) {
    return std::array{model.Weights(of, Projection::kQuery), model.Weights(of, Projection::kKey),
                      model.Weights(of, Projection::kValue), model.Weights(of, Projection::kOutput)};
  };
  const auto first = layer(0), second = layer(1);
  const auto weights = [&](const auto& of, Index number) {
    LayerWeights all{of[0].template view<2>(), of[1].template view<2>(), of[2].template view<2>(),
                     of[3].template view<2>(), model.info().heads,       model.info().kv_heads};
    all.norm = model.AttentionNorm(number)->values();
    return all;
  };
  paths[1].kind = Composition::kQuery;
  paths[2].kind = Composition::kValue;
  AddCompositionScores(model, paths);
  for (const HeadPath& path : paths) {
    CHECK(path.weights.value() ==
          CompositionScore(path.kind, HeadOf(weights(first, 0), path.earlier.head), HeadOf(weights(second, 1), 2)));
  }
}

/// The head's score for induction in the run.
double InductionOf(const ModelAttention& attention, std::span<const std::int32_t> ids, const HeadPlace& head) {
  const Tensor map({attention.length(), attention.length()});
  attention.Map(head.layer, head.head, {}, map.view<2>());
  MapInfo info;
  info.causal = true;
  info.tokens = ids;
  return FindMetric("induction_text").function(HeadMap(map.view<2>(), info)).value.value();
}

/// The loss of induction of a head in a run without another head.
double LossWithout(const ModelAttention& attention, const ModelInfo& info, std::span<const std::int32_t> ids,
                   const HeadPlace& silenced, const HeadPlace& head) {
  const Tensor mask({info.layers, info.heads});
  std::ranges::fill(mask.values(), 1.0f);
  mask.view<2>()(silenced.layer, silenced.head) = 0.0f;
  AttendOptions options = WithParts();
  options.head_mask = mask.view<2>();
  return InductionOf(attention, ids, head) - InductionOf(attention.Again(options), ids, head);
}

TEST_CASE("the best induction path of the built-in model is its induction circuit") {
  const Model model = BuiltInModel();
  const std::vector<std::int32_t> ids = RepeatedText();
  ModelInput input;
  input.ids = ids;
  const ModelAttention attention = model.Attend(input, WithParts());
  const std::vector<HeadPath> paths = AllPaths(attention);
  const std::vector<InductionPath> found = FindInductionPaths(attention, paths).value();
  REQUIRE(!found.empty());
  for (std::size_t i = 1; i < found.size(); ++i) CHECK(found[i - 1].score >= found[i].score);
  const InductionPath& best = found.front();
  const HeadPlace &earlier = best.path.earlier, later = best.path.later;
  CAPTURE(earlier.layer);
  CAPTURE(earlier.head);
  CAPTURE(later.layer);
  CAPTURE(later.head);
  CAPTURE(best.path.share.value());
  CHECK(best.path.kind == Composition::kKey);
  CHECK(best.previous > 0.6);
  CHECK(best.induction > 0.5);
  CHECK(best.induction == doctest::Approx(InductionOf(attention, ids, later)));
  CHECK(best.score == doctest::Approx(best.previous * best.induction * best.path.share.value()));
  double average = 0.0;
  const auto earlier_heads = static_cast<double>(later.layer * model.info().heads);
  for (Index layer = 0; layer < later.layer; ++layer)
    for (Index head = 0; head < model.info().heads; ++head)
      average += LossWithout(attention, model.info(), ids, {layer, head}, later) / earlier_heads;
  const double loss = LossWithout(attention, model.info(), ids, earlier, later);
  CAPTURE(loss);
  CAPTURE(average);
  CHECK(loss > 0.3);
  CHECK(loss > 3 * std::abs(average));
}

TEST_CASE("induction paths can be stopped, and are refused where they mean nothing") {
  const Model model = LoadFolder(GoldenFolder("gpt2"));
  const std::vector<std::int32_t> ids = {1, 2, 3, 4, 5};
  ModelInput input;
  input.ids = ids;
  const ModelAttention attention = model.Attend(input, WithParts());
  const std::vector<HeadPath> paths = AllPaths(attention);
  CHECK(FindInductionPaths(attention, paths).value().empty());  // no token comes again
  CHECK(!FindInductionPaths(attention, paths, [](double) { return false; }));
  std::vector<HeadPath> wrong = {{{0, 0}, {7, 0}}};
  Refused(ErrorCode::kValue, "layer is 7", [&] { FindInductionPaths(attention, wrong); });
  Refused(ErrorCode::kValue, "layer is 7", [&] { AddCompositionScores(model, wrong); });
  wrong = {{{0, 9}, {1, 0}}};
  Refused(ErrorCode::kValue, "the head is 9", [&] { AddCompositionScores(model, wrong); });
  Refused(ErrorCode::kValue, "head is -1", [&] { PathFinder(attention, HeadPlace{1, -1}); });
  const ModelAttention bare = model.Attend(ids);
  Refused(ErrorCode::kOption, "keep_parts", [&] { PathFinder{bare}; });
}

}  // namespace
}  // namespace headlens::testing
