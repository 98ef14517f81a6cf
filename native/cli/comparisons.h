// SPDX-License-Identifier: Apache-2.0
/// Two runs of a model side by side, as tables for people and as JSON.
#ifndef HEADLENS_NATIVE_CLI_COMPARISONS_H_
#define HEADLENS_NATIVE_CLI_COMPARISONS_H_

#include <optional>
#include <vector>

#include "cli/model_run.h"
#include "cli/output_tokens.h"
#include "cli/predictions.h"
#include "headlens/comparison.h"

namespace headlens::cli {

/// A weight that differs between the runs.
struct CellChange {
  HeadNumber head;
  TokenPair query, key;
  float change = 0.0f;
};

/// The predictions of both runs at one token.
struct PredictionChange {
  TokenPair at;
  Prediction before, after;
  std::vector<float> log_changes;  ///< LogProbabilityChanges
};

struct Compared {
  std::vector<TokenPair> pairs;
  std::vector<double> divergences;             ///< of each pair, or of a picture; empty when the model has no logits
  std::optional<PredictionChange> prediction;  ///< none without logits or without a pair
  std::vector<CellChange> heads;               ///< the largest of each head, or empty when one head is asked for
  std::optional<HeadNumber> head;
  Tensor difference;  ///< MapDifference of that head
};

/// Prints tables of all tokens and heads, or with `top` of those that differ most, and of `top` cells and tokens that
/// are predicted. `first` and `second` are what the runs have read.
void Print(const Compared& compared, const RunInput& first, const RunInput& second, const OutputTokens& tokens,
           std::optional<Index> top);

/// The same as JSON, with all pairs, and with all heads or all cells.
JsonObject ToJson(const Compared& compared, const RunInput& first, const RunInput& second, const OutputTokens& tokens,
                  std::optional<Index> top);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_COMPARISONS_H_
