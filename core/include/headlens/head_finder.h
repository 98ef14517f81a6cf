// SPDX-License-Identifier: Apache-2.0
/// Finds the heads of a model that do a certain thing: scores every head by any metrics over any number of texts.
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

/// The effect of running a text without one of its heads.
struct Ablation {
  /// ‖hidden − hidden without the head‖ / ‖hidden‖, where hidden is the residual stream after the last layer. Padding
  /// does not count.
  std::optional<double> output_change;
  /// Loss without the head minus loss with it, in nats per token. It is computed by the call.
  std::function<std::optional<double>()> loss_change;
};

/// One text or image in a model: its tokens and the functions that answer questions about its heads. A metric that
/// needs a missing part has no value.
struct TextHeads {
  Index length = 0;                                ///< T
  Index keys = 0;                                  ///< S; 0: the keys are the queries' tokens
  std::span<const std::int32_t> tokens = {};       ///< [S]
  std::span<const std::uint8_t> padding = {};      ///< [T]
  std::span<const std::uint8_t> padded_keys = {};  ///< [S]; when `keys` is 0, `padding` counts
  PatchGrid grid = {};
  /// Fills the weights [T, S] of one head.
  std::function<void(Index layer, Index head, View<float, 2> weights)> map = {};
  /// The importance of each head of a layer for the output of the layer's attention, over the tokens that are not
  /// padding.
  std::function<std::vector<HeadImportance>(Index layer)> importance = {};
  std::function<Ablation(Index layer, Index head)> ablate = {};
  /// Copying score of the head's full OV circuit (circuits.h). It depends on the model, not on the text.
  std::function<std::optional<double>(Index layer, Index head)> copying = {};
};

/// The sizes of a model, and the texts over which its heads are scored.
struct HeadSource {
  Index layers = 0;
  Index heads = 0;  ///< in each layer
  Index texts = 0;
  bool causal = false;
  std::vector<Index> windows = {};  ///< [layers], each as in MapInfo; empty: no limits
  /// Runs the model on one of the texts. The result is not used after the next call.
  std::function<TextHeads(Index text)> attend = {};
};

/// The heads of one of a model's attentions on texts or images. The inputs are borrowed, and the model is shared.
/// Throws kUnsupported for a part that the model does not have.
HeadSource HeadsOf(const Model& model, std::span<const ModelInput> inputs,
                   AttentionPart part = AttentionPart::kDecoder);
/// Runs the model on one text or image, which is borrowed. Throws as HeadsOf. Heads of a cross-attention have no
/// importance for their layer's output, and no copying score.
TextHeads TextHeadsOf(const Model& model, const ModelInput& input, AttentionPart part = AttentionPart::kDecoder);

/// The head of a text that metrics of models look at when its map is not enough. Every number is computed only once.
class HeadProbe;

/// A metric of a head that needs more than the head's map.
struct ModelMetric {
  std::string_view name;
  std::string_view formula;
  std::string_view source;
  MetricValue (*function)(HeadProbe& probe);
  bool of_weights = false;  ///< depends on weights alone, so it is computed for the first text only
};

/// All such metrics. "output_change", "output_change_normalized", "norm_share" and "output_cosine" use the head's
/// contribution to its layer's output. "ablation_output" and "ablation_loss" run the model again for each head.
/// "copying" uses weights alone, and takes vocabulary × width² operations once.
std::span<const ModelMetric> ModelMetrics();

struct FinderOptions {
  /// Names of Metrics() and ModelMetrics().
  std::vector<std::string> metrics = {"induction_text",     "previous", "duplicate_text",
                                      "entropy_normalized", "distance", "sink"};
  std::vector<std::int32_t> special_tokens = {};  ///< ids of tokens that count as special
};

/// One metric of one head over all texts.
struct HeadScore {
  std::optional<double> mean;  ///< over the texts where the metric has a value; each counts the same (macro average)
  Index texts = 0;             ///< the number of those texts
  Index n_valid = 0;           ///< the number of rows (or other terms) in all of them together
};

struct ScoredHead {
  Index layer = 0;
  Index head = 0;
  std::vector<HeadScore> scores;  ///< in the order of FinderOptions::metrics
};

/// Scores all heads of a model, text by text and head by head, so the caller may stop after each head. At most one map
/// [T, S] is in memory at a time, and none is computed when no metric needs it. A text of the form [s][s] or [one
/// token][s][s] is used as the repeated sequence that some metrics need.
class HeadFinder {
 public:
  /// Uses only the parts of `source` that all texts have in common. Throws kOption for an unknown metric, or when there
  /// is none.
  HeadFinder(const HeadSource& source, FinderOptions options);
  ~HeadFinder();
  HeadFinder(HeadFinder&&) noexcept;
  HeadFinder& operator=(HeadFinder&&) noexcept;

  /// Starts a text. Heads of the text before that have not been scored are skipped.
  void Begin(TextHeads text);
  /// Scores the next head of the text and returns true, or returns false when none is left. Passes on every exception
  /// of the text's functions.
  bool Next();
  /// The number of the text's heads that have been scored.
  Index heads_done() const;
  /// All heads in order of layer and head, with their means over everything scored so far.
  std::vector<ScoredHead> Heads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs a HeadFinder over all texts of a source. Returns nothing when `progress`, which is called after each head,
/// returned false. Throws as HeadFinder does, with the text's number (from 1) before the message.
std::optional<std::vector<ScoredHead>> ScoreHeads(const HeadSource& source, const FinderOptions& options,
                                                  const ProgressCallback& progress = {});

/// Sorts by metric number `metric`, the largest mean first (the smallest when `ascending`). Equal heads keep their
/// order, and heads without a value come last.
void RankHeads(std::span<ScoredHead> heads, std::size_t metric, bool ascending = false);

}  // namespace headlens

#endif  // HEADLENS_HEAD_FINDER_H_
