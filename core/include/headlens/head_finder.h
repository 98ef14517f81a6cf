// SPDX-License-Identifier: Apache-2.0
/// Which heads of a model do what: every head scored by any metrics over any number of texts.
#ifndef HEADLENS_HEAD_FINDER_H_
#define HEADLENS_HEAD_FINDER_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headlens/attribution.h"
#include "headlens/metrics.h"
#include "headlens/model.h"

namespace headlens {

/// A text run without one of its heads.
struct Ablation {
  /// ‖hidden − hidden without the head‖ / ‖hidden‖, hidden the stream after the last layer. Padding does not count.
  std::optional<double> output_change;
  /// Loss without the head minus loss, in nats a token; computed when it is called.
  std::function<std::optional<double>()> loss_change;
};

/// One text (or image) in a model: its tokens, and what is asked of its heads. What is absent has no value.
struct TextHeads {
  Index length = 0;                            ///< T
  std::span<const std::int32_t> tokens = {};   ///< [T]
  std::span<const std::uint8_t> padding = {};  ///< [T]
  PatchGrid grid = {};
  /// Fills the weights [T, T] of one head.
  std::function<void(Index layer, Index head, View<float, 2> weights)> map = {};
  /// What each head of a layer adds to the output of the layer's attention, over the tokens that are no padding.
  std::function<std::vector<HeadImportance>(Index layer)> importance = {};
  std::function<Ablation(Index layer, Index head)> ablate = {};
  /// Copying score of the head's full OV circuit (circuits.h); a matter of the model, not of the text.
  std::function<std::optional<double>(Index layer, Index head)> copying = {};
};

/// Where heads come from.
struct HeadSource {
  Index layers = 0;
  Index heads = 0;  ///< of each layer
  Index texts = 0;
  bool causal = false;
  Index window = 0;  ///< as in MapInfo
  /// Runs the model on one of the texts. What it returns is used before the next is asked for.
  std::function<TextHeads(Index text)> attend = {};
};

/// The heads of a model on texts or images, which are borrowed; the model is shared.
HeadSource HeadsOf(const Model& model, std::span<const ModelInput> inputs);
/// The heads of one text or image, which is borrowed: runs the model.
TextHeads TextHeadsOf(const Model& model, const ModelInput& input);

/// A head of a text in a model, for metrics that need more than its map. What is asked for twice is computed once.
class HeadProbe;

/// One number of one head in a model.
struct ModelMetric {
  std::string_view name;
  std::string_view formula;
  std::string_view source;
  MetricValue (*function)(HeadProbe& probe);
  bool of_weights = false;  ///< the same for all texts: computed for the first
};

/// Those that need more than a map: "output_change", "output_change_normalized", "norm_share", "output_cosine" from
/// what a head adds to its layer's output; "ablation_output", "ablation_loss", which run the model again for each head;
/// and "copying", out of weights alone, which takes vocabulary × width² operations once.
std::span<const ModelMetric> ModelMetrics();

struct FinderOptions {
  /// Names, as in Metrics() and ModelMetrics().
  std::vector<std::string> metrics = {"induction_text",     "previous", "duplicate_text",
                                      "entropy_normalized", "distance", "sink"};
  std::vector<std::int32_t> special_tokens = {};  ///< ids that count as special
};

/// A metric of a head over all texts.
struct HeadScore {
  std::optional<double> mean;  ///< over the texts where the metric has a value, each counting alike (macro average)
  Index texts = 0;             ///< how many those are
  Index n_valid = 0;           ///< rows (or other terms) of all of them together
};

struct ScoredHead {
  Index layer = 0;
  Index head = 0;
  std::vector<HeadScore> scores;  ///< in the order of the metrics asked for
};

/// Scores all heads of a model, text by text and head by head, so that the caller may stop or look after each. Never
/// more than one map is in memory: [T, T] floats of the text; none is computed when no metric needs it. A text of the
/// form [s][s], or [one token][s][s], is the repeated sequence of the metrics that need one.
class HeadFinder {
 public:
  /// Of `source` only what all texts have in common is used. Throws kOption for an unknown metric or none.
  HeadFinder(const HeadSource& source, FinderOptions options);
  ~HeadFinder();
  HeadFinder(HeadFinder&&) noexcept;
  HeadFinder& operator=(HeadFinder&&) noexcept;

  /// Starts a text, whose heads are then the next ones; what was left of the one before is not scored.
  void Begin(TextHeads text);
  /// Scores the next head of the text; false when there is none. Throws whatever the text's functions throw.
  bool Next();
  /// Of the text's heads, how many are scored.
  Index heads_done() const;
  /// All heads, by layer and head, with their means over what has been scored so far.
  std::vector<ScoredHead> Heads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// HeadFinder over all texts of a source. Nothing when `progress`, called after each head, stopped it. Throws as it
/// does, the text's number (from 1) before the message.
std::optional<std::vector<ScoredHead>> ScoreHeads(const HeadSource& source, const FinderOptions& options,
                                                  const ProgressCallback& progress = {});

/// Sorts by metric number `metric`, the largest mean first (the smallest when `ascending`); equal ones stay in order,
/// heads without a value come last.
void RankHeads(std::span<ScoredHead> heads, std::size_t metric, bool ascending = false);

}  // namespace headlens

#endif  // HEADLENS_HEAD_FINDER_H_
