// SPDX-License-Identifier: Apache-2.0
/// Changes in a run of a model: the options that ask for them, and what they are for the core.
#ifndef HEADLENS_NATIVE_CLI_RUN_CHANGES_H_
#define HEADLENS_NATIVE_CLI_RUN_CHANGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/text.h"
#include "headlens/model.h"

namespace headlens::cli {

struct ChangeOptions {
  std::vector<std::string> ablated;  ///< heads, as LAYER.HEAD
  std::optional<float> temperature, sigmoid_bias;
  std::optional<Index> top_k;
  std::string normalizer;
  std::vector<std::int32_t> forbidden_diagonals;
  std::optional<std::string> replaced_tokens;  ///< positions
  std::optional<std::string> replacement;
  std::optional<Index> replaced_layer;
  std::vector<std::string> patches;  ///< LAYER.HEAD@POSITIONS
  std::optional<std::string> from_text;

  bool AreGiven() const;
};

/// Adds all of them to the command, and returns them.
std::vector<CLI::Option*> AddChangeOptions(CLI::App& command, ChangeOptions& options);

/// Throws InputError unless `value` is one of 0 to end − 1.
void ExpectBelow(const char* option, Index value, Index end);

struct HeadNumber {
  Index layer = 0, head = 0;
};

/// Parses LAYER.HEAD, such as 3.7. Throws InputError, naming the option, when the model has no such head.
HeadNumber ParseHead(const char* option, const std::string& text, const ModelInfo& info);

class RunChanges {
 public:
  /// Checks the options for an input of `length` tokens, before the weights in the folder `model` are read. Throws
  /// InputError.
  RunChanges(const ChangeOptions& options, const std::string& model, const ModelInfo& info, Index length);

  /// Runs the other text, if there is one, for the outputs that the patches take from it. Throws InputError.
  void TakeOutputs(const Model& model);

  /// The same options with the changes, borrowed from this object. Patches need TakeOutputs.
  AttendOptions AddedTo(AttendOptions options) const;

 private:
  void ReadPatches(const ChangeOptions& options, const std::string& model, const ModelInfo& info, Index length);

  AttendOptions options_;
  Tensor head_mask_;
  std::vector<std::int32_t> diagonals_, replaced_tokens_;
  Ids other_;                               // the tokens of the other text
  std::vector<std::int32_t> patch_places_;  // [N, 3]
  Tensor patch_outputs_;                    // [N, d]
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_RUN_CHANGES_H_
