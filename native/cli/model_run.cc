// SPDX-License-Identifier: Apache-2.0
#include "cli/model_run.h"

#include <utility>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/maps.h"
#include "cli/model_folder.h"

namespace headlens::cli {

void AddRunOptions(CLI::App& command, RunOptions& options) {
  command
      .add_option("--model", options.model,
                  "Folder as Hugging Face has it: config.json, model.safetensors or its shards, tokenizer.json")
      ->required()
      ->type_name("DIR");
  CLI::Option* tokens = command.add_option("--tokens", options.tokens, "Ids of the tokens, as 1,2,3");
  CLI::Option* image = command.add_option("--image", options.image, "PNG picture, for models that read pictures");
  tokens->type_name("IDS")->excludes(image);
  image->type_name("FILE");
  for (CLI::Option* text : AddTextOptions(command, options.text)) text->excludes(tokens)->excludes(image);
  AddChangeOptions(command, options.changes);
  AddBackendOptions(command, options.backend);
}

std::vector<std::string> RunInput::Names() const { return TokenNames(length(), pieces, ids, patches); }

namespace {

std::string SourceOf(const RunOptions& options) {
  if (options.text.IsGiven()) return "the text";
  return options.image.empty() ? "--tokens" : "--image";
}

/// Reads the ids, the text or the picture that the options give.
RunInput ReadInput(const RunOptions& options, const ModelInfo& info) {
  RunInput input;
  input.source = SourceOf(options);
  ExpectImage(info.image_size > 0, options.image);
  if (info.image_size > 0) {
    input.patches = info.image_size / info.patch_size;
    input.image = ReadImage(options.model, options.image, info);
    return input;
  }
  if (options.tokens) input.ids = ParseIds("--tokens", *options.tokens);
  if (options.text.IsGiven()) {
    TextTokens tokens = Tokenize(options.model, options.text);
    input.ids = std::move(tokens.ids);
    input.pieces = std::move(tokens.pieces);
    if (input.ids.empty()) throw InputError(Wrong(ErrorCode::kValue, "the text", "has", "no tokens", "at least one"));
  }
  if (input.ids.empty()) {
    throw InputError(MissingError(ErrorCode::kOption, "--text, --text-file or --tokens",
                                  "the text, or the ids of its tokens, as 1,2,3"));
  }
  return input;
}

}  // namespace

ModelRun::ModelRun(const RunOptions& options)
    : options_(options),
      config_(ReadConfig(options.model)),
      input_(ReadInput(options, config_.info())),
      changes_(options.changes, options.model, config_.info(), input_.length()) {}

void ModelRun::Load(const Progress& progress) {
  progress.Show("reading " + options_.model);
  backends_.emplace(options_.backend);
  model_.emplace(LoadModelFolder(options_.model, config_, backends_->chosen()));
  progress.Show("running the model");
  changes_.TakeOutputs(*model_);
}

ModelAttention ModelRun::Attend(const AttendOptions& keep) const { return AttendUnchanged(changes_.AddedTo(keep)); }

ModelAttention ModelRun::AttendUnchanged(const AttendOptions& keep) const {
  ModelInput input;
  input.ids = input_.ids;
  if (input_.image.size() > 0) input.image = input_.image.view<3>();
  return Blaming(input_.source, [&] { return model_->Attend(input, keep); });
}

}  // namespace headlens::cli
