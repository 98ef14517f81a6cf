// SPDX-License-Identifier: Apache-2.0
/// Paths of two heads: a head of a later layer reads what a head of an earlier one wrote, with its queries, keys or
/// values (Q-, K- and V-composition; Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").
#ifndef HEADLENS_PATHS_H_
#define HEADLENS_PATHS_H_

#include <optional>
#include <span>
#include <vector>

#include "headlens/attribution.h"
#include "headlens/circuits.h"
#include "headlens/explanation.h"

namespace headlens {

/// A head of a model; of an encoder–decoder, one of the decoder's attention to itself.
struct HeadPlace {
  Index layer = 0, head = 0;

  bool operator==(const HeadPlace&) const = default;
};

struct HeadPath {
  HeadPlace earlier, later;
  Composition kind = Composition::kQuery;
  /// The earlier head's part of the later head's queries, keys or values on this text, HeadSources::query, key or value
  /// (explanation.h), divided by the sum over all parts. Parts may cancel, so that it may be negative or above 1. No
  /// value when that sum is 0 or not finite.
  std::optional<double> share = {};
  /// CompositionScore (circuits.h) of the two heads, from their weights alone; set by AddCompositionScores.
  std::optional<double> weights = {};
};

/// Finds the paths of a run, one later head at a time, so the caller may stop after each.
class PathFinder {
 public:
  /// Goes over all heads of all layers but the first, or over `later` alone; heads of the first layer are at the end of
  /// no path. Borrows `attention`, a run with AttendOptions::keep_parts. Throws kOption without, and kValue for a head
  /// that does not exist.
  explicit PathFinder(const ModelAttention& attention, const std::optional<HeadPlace>& later = {});

  /// Adds the paths to the next later head and returns true, or returns false when none is left. Throws as SourcesOf.
  bool Next();
  Index heads_done() const { return static_cast<Index>(next_); }
  /// The number of later heads.
  Index heads() const { return static_cast<Index>(later_.size()); }
  /// The paths found so far: of each later head those by queries, then by keys, then by values, each in order of the
  /// earlier head.
  std::span<const HeadPath> paths() const { return paths_; }

 private:
  const ModelAttention* attention_;
  std::vector<HeadPlace> later_;
  std::size_t next_ = 0;
  std::vector<HeadPath> paths_;
};

/// Sorts by share, the largest first. Equal ones keep their order, and those without a value come last.
void RankPaths(std::span<HeadPath> paths);

/// Sets the `weights` of each path. One takes about 7 · D · d² multiply-adds in fp64, so that a large model is best
/// asked for the first paths of a ranking. Throws kValue for heads that do not exist.
void AddCompositionScores(const Model& model, std::span<HeadPath> paths);

/// The two heads of an induction circuit: a previous-token head writes into each token which one came before, and an
/// induction head, whose keys read that, finds what followed the same token earlier (Elhage et al. 2021, "Induction
/// heads"; Olsson et al. 2022, arXiv 2209.11895).
struct InductionPath {
  HeadPath path;
  double previous = 0.0;   ///< the metric "previous" of the earlier head
  double induction = 0.0;  ///< the metric "induction_text" of the later head
  double score = 0.0;      ///< previous · induction · max(share, 0)
};

/// The scores of those of `paths` that run through keys, by the maps of the same run, the largest first. Paths with a
/// missing number are left out, so that there is none when the text repeats no token. Returns nothing when `progress`,
/// which is called after each head, returned false. Throws kUnsupported when the model reads images.
std::optional<std::vector<InductionPath>> FindInductionPaths(const ModelAttention& attention,
                                                             std::span<const HeadPath> paths,
                                                             const ProgressCallback& progress = {});

}  // namespace headlens

#endif  // HEADLENS_PATHS_H_
