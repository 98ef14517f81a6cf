// SPDX-License-Identifier: Apache-2.0
/// The predictions of a model, as a table for people and as JSON.
#ifndef HEADLENS_NATIVE_CLI_PREDICTIONS_H_
#define HEADLENS_NATIVE_CLI_PREDICTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/model_run.h"
#include "cli/output_tokens.h"
#include "headlens/explanation.h"

namespace headlens::cli {

/// The tokens that tables and JSON show unless told otherwise.
inline constexpr Index kShownTokens = 10;

/// The logits of one position, and their softmax.
struct Prediction {
  explicit Prediction(const Tensor& row);

  /// The probability of a token.
  double Of(std::int32_t token) const { return probabilities[static_cast<std::size_t>(token)]; }

  std::vector<float> logits;
  std::vector<double> probabilities;
};

struct Predicted {
  Index position;
  Prediction now;
  std::optional<Prediction> before = {};  ///< without the changes of the run
  std::vector<Prediction> lens = {};      ///< before each layer, and after the last; empty when not asked for
  std::vector<std::int32_t> tokens = {};  ///< those of `contributions`
  std::optional<LogitExplanation> contributions = {};
  std::optional<HeadNumber> head = {};
  AttentionPart part = AttentionPart::kDecoder;  ///< of that head
  std::vector<float> head_logits = {};           ///< that head's part of the logits
};

/// Prints a table with the `top` largest tokens and parts.
void Print(const Predicted& predicted, const RunInput& input, const OutputTokens& tokens, std::optional<Index> top);

/// The same as JSON, with all parts.
JsonObject ToJson(const Predicted& predicted, const RunInput& input, const OutputTokens& tokens,
                  std::optional<Index> top);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_PREDICTIONS_H_
