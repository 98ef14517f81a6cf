// SPDX-License-Identifier: Apache-2.0
/// A run of a model, as several commands need it: the model's folder, what the model reads, changes of the run, and the
/// backend.
#ifndef HEADLENS_NATIVE_CLI_MODEL_RUN_H_
#define HEADLENS_NATIVE_CLI_MODEL_RUN_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/backends.h"
#include "cli/patches.h"
#include "cli/progress.h"
#include "cli/run_changes.h"
#include "cli/text.h"
#include "headlens/model.h"

namespace headlens::cli {

struct RunOptions {
  std::string model, image;
  std::optional<std::string> tokens;  ///< ids
  TextOptions text;
  PairOptions pair;
  ChangeOptions changes;
  BackendOptions backend;
};

/// Adds all of them to a command that always runs a model.
void AddRunOptions(CLI::App& command, RunOptions& options);

/// The tokens or the picture that a model reads.
struct RunInput {
  Ids ids;
  std::vector<std::string> pieces;  ///< the text of each token; empty when not known
  TextTokens source_tokens;         ///< of an encoder–decoder, whose other tokens are its target's
  Patches patches;                  ///< of an image
  Tensor image;
  std::string source;  ///< the option that gave it, for error messages

  bool is_image() const { return image.size() > 0; }
  /// The number of tokens, or of patches and the tokens before them together.
  Index length() const { return is_image() ? patches.length() : static_cast<Index>(ids.size()); }
  /// The name of each, safe to show, and of each token of the source.
  std::vector<std::string> Names() const;
  std::vector<std::string> SourceNames() const;
};

class ModelRun {
 public:
  /// Reads the model's config and the input, and checks the changes, all of which is quick. Where `with_text` (the
  /// option --with-text) is given, the run with the changes reads it in the place of the input. Borrows the options.
  /// Throws InputError.
  explicit ModelRun(const RunOptions& options, const std::optional<std::string>& with_text = {});

  const ModelInfo& info() const { return model_ ? model_->info() : config_.info(); }
  const RunInput& input() const { return input_; }
  /// The input of the run with the changes.
  const RunInput& changed_input() const { return other_input_ ? *other_input_ : input_; }

  /// Reads the model's weights, and runs the other text of the changes when there is one. Throws InputError.
  void Load(const Progress& progress);
  /// The model. Needs Load.
  const Model& model() const { return *model_; }

  /// Runs the model with the changes and keeps what `keep` says. Needs Load. Throws InputError.
  ModelAttention Attend(const AttendOptions& keep) const;
  /// The same without the changes.
  ModelAttention AttendUnchanged(const AttendOptions& keep) const;

 private:
  ModelAttention Attend(const RunInput& input, const AttendOptions& options) const;

  const RunOptions& options_;
  const ModelConfig config_;
  RunInput input_;
  std::optional<RunInput> other_input_;
  RunChanges changes_;
  std::optional<const BackendSet> backends_;
  std::optional<const Model> model_;
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MODEL_RUN_H_
