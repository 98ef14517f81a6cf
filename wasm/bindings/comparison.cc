// SPDX-License-Identifier: Apache-2.0
/// The differences of two runs, and the paths of two heads in one.
#include "headlens/comparison.h"

#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "explanation.h"
#include "handles.h"
#include "headlens/paths.h"

namespace headlens {
namespace {

using SharedAttention = std::shared_ptr<const ModelAttention>;

class DifferenceHandle {
 public:
  DifferenceHandle(SharedAttention a, SharedAttention b)
      : a_(std::move(a)), b_(std::move(b)), pairs_(AlignTokens(*a_, *b_)) {
    if (HasEncoder(*a_) && HasEncoder(*b_)) source_pairs_ = AlignTokens(a_->Encoder(), b_->Encoder());
  }

  /// [pairs, 2]: the tokens of both runs, or those of their sources.
  val Pairs(bool of_source) const {
    const std::vector<TokenPair>& pairs = of_source ? source_pairs_ : pairs_;
    Tensor all({std::ssize(pairs), 2});
    float* to = all.data();
    for (const TokenPair& pair : pairs) {
      *to++ = static_cast<float>(pair.a);
      *to++ = static_cast<float>(pair.b);
    }
    return TensorToJs(all);
  }

  /// Parts are counted as AttentionPart is: 0 the decoder, 1 the encoder, 2 the cross-attention.
  val Map(int part, int layer, int head, int row_begin, int row_end) const {
    return Guard([&] {
      const auto of = static_cast<AttentionPart>(part);
      const std::vector<TokenPair>&queries = of == AttentionPart::kEncoder ? source_pairs_ : pairs_,
            &keys = of == AttentionPart::kDecoder ? pairs_ : source_pairs_;
      return TensorToJs(
          MapDifference({*a_, layer, head, of}, {*b_, layer, head, of}, queries, keys, row_begin, row_end));
    });
  }

  val Divergences() const {
    return Guard([&] {
      const std::vector<double> all = PredictionDivergences(*a_, *b_, pairs_);
      return TensorToJs(Tensor({std::ssize(all)}, std::vector<float>(all.begin(), all.end())));
    });
  }

  /// [4, count] of the tokens whose probability grew or fell most at one pair: tokens, changes of ln p, p of both runs.
  val Changes(int index, int count, bool largest) const {
    return Guard([&] {
      const bool is_image = b_->model().info().image_size > 0;
      const TokenPair pair = is_image ? TokenPair() : pairs_[static_cast<std::size_t>(index)];
      const auto probabilities = [](const ModelAttention& run, Index row) {
        return Probabilities(run.Logits(row, row + 1).values());
      };
      return ExtremesToJs(LogProbabilityChanges(*a_, *b_, pair),
                          {probabilities(*a_, pair.a), probabilities(*b_, pair.b)}, count, largest);
    });
  }

 private:
  static bool HasEncoder(const ModelAttention& run) { return run.model().info().encoder_layers > 0; }

  SharedAttention a_, b_;
  std::vector<TokenPair> pairs_, source_pairs_;
};

class PathFinderHandle {
 public:
  PathFinderHandle(SharedAttention attention, const std::optional<HeadPlace>& later)
      : attention_(std::move(attention)), finder_(*attention_, later) {}

  double Heads() const { return static_cast<double>(finder_.heads()); }

  val Next() {
    return Guard([&] { return val(finder_.Next()); });
  }

  /// [paths, 10] of the first ones by share or as induction paths: layer and head of the earlier and of the later head,
  /// the kind (0 query, 1 key, 2 value), share, weights, and of induction paths previous, induction and score. NaN
  /// stands for a number that there is not.
  val Paths(int count, bool induction) const {
    return Guard([&] {
      std::vector<InductionPath> found;
      if (induction) {
        found = FindInductionPaths(*attention_, finder_.paths()).value();
      } else {
        std::vector<HeadPath> paths(finder_.paths().begin(), finder_.paths().end());
        RankPaths(paths);
        constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
        for (const HeadPath& path : paths) found.push_back({path, kNone, kNone, kNone});
      }
      if (std::ssize(found) > count) found.erase(found.begin() + count, found.end());
      return PathsToJs(found);
    });
  }

 private:
  val PathsToJs(std::vector<InductionPath>& found) const {
    Tensor all({std::ssize(found), 10});
    float* to = all.data();
    const auto add = [&](double number) { *to++ = static_cast<float>(number); };
    for (InductionPath& one : found) {
      HeadPath& path = one.path;
      AddCompositionScores(attention_->model(), {&path, 1});
      for (const Index place : {path.earlier.layer, path.earlier.head, path.later.layer, path.later.head})
        add(static_cast<double>(place));
      add(static_cast<double>(path.kind));
      for (const auto& number : {path.share, path.weights})
        add(number.value_or(std::numeric_limits<double>::quiet_NaN()));
      for (const double number : {one.previous, one.induction, one.score}) add(number);
    }
    return TensorToJs(all);
  }

  SharedAttention attention_;
  PathFinder finder_;
};

EMSCRIPTEN_BINDINGS(comparison) {
  emscripten::class_<DifferenceHandle>("Difference")
      .function("pairs", &DifferenceHandle::Pairs)
      .function("map", &DifferenceHandle::Map)
      .function("divergences", &DifferenceHandle::Divergences)
      .function("changes", &DifferenceHandle::Changes);
  emscripten::class_<PathFinderHandle>("PathFinder")
      .function("heads", &PathFinderHandle::Heads)
      .function("next", &PathFinderHandle::Next)
      .function("paths", &PathFinderHandle::Paths);
}

}  // namespace

val DifferenceToJs(SharedAttention a, SharedAttention b) {
  return val(std::make_unique<DifferenceHandle>(std::move(a), std::move(b)));
}

val PathFinderToJs(SharedAttention attention, Index layer, Index head) {
  const std::optional<HeadPlace> later = layer < 0 ? std::nullopt : std::optional<HeadPlace>({layer, head});
  return val(std::make_unique<PathFinderHandle>(std::move(attention), later));
}

}  // namespace headlens
