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
  AddModelOption(command, options.model)->required();
  CLI::Option* tokens = command.add_option("--tokens", options.tokens, "Ids of the tokens, as 1,2,3");
  CLI::Option* image = command.add_option("--image", options.image, "PNG picture, for models that read pictures");
  tokens->type_name("IDS")->excludes(image);
  image->type_name("FILE");
  for (CLI::Option* text : AddTextOptions(command, options.text)) text->excludes(tokens)->excludes(image);
  AddPairOptions(command, options.pair)->excludes(tokens);
  AddChangeOptions(command, options.changes);
  AddBackendOptions(command, options.backend);
}

std::vector<std::string> RunInput::Names() const { return TokenNames(length(), pieces, ids, patches); }
std::vector<std::string> RunInput::SourceNames() const {
  return TokenNames(std::ssize(source_tokens.ids), source_tokens.pieces, source_tokens.ids, {});
}

namespace {

std::string SourceOf(const RunOptions& options) {
  if (options.pair.IsGiven()) return "the source and the target";
  if (options.text.IsGiven()) return "the text";
  return options.image.empty() ? "--tokens" : "--image";
}

/// Adds the tokens of a text to an input, which must not stay empty.
void AddText(RunInput& input, TextTokens tokens) {
  input.ids = std::move(tokens.ids);
  input.pieces = std::move(tokens.pieces);
  if (input.ids.empty()) throw InputError(Wrong(ErrorCode::kValue, input.source, "has", "no tokens", "at least one"));
}

/// Reads the ids, the text or the picture that the options give.
RunInput ReadInput(const RunOptions& options, const ModelInfo& info) {
  RunInput input;
  input.source = SourceOf(options);
  if (info.encoder_layers == 0) ExpectNoPair(options.pair);
  ExpectImage(info.image_size > 0, options.image);
  if (info.image_size > 0) {
    input.image = ReadImage(options.model, options.image, info);
    const Shape& shape = input.image.shape();
    input.patches = {info.prefix, shape[1] / info.patch_size, shape[2] / info.patch_size};
    return input;
  }
  if (options.tokens) input.ids = ParseIds("--tokens", *options.tokens);
  if (info.encoder_layers > 0) {
    if (options.text.IsGiven())
      throw InputError(OptionError(options.text.text ? "--text" : "--text-file", "given", kPairWanted));
    PairTokens pair = ReadPair(options.model, options.pair, std::move(input.ids), info);
    input.source_tokens = std::move(pair.source);
    AddText(input, std::move(pair.target));
    return input;
  }
  if (options.text.IsGiven()) AddText(input, Tokenize(options.model, options.text));
  if (input.ids.empty()) {
    throw InputError(MissingError(ErrorCode::kOption, "--text, --text-file or --tokens",
                                  "the text, or the ids of its tokens, as 1,2,3"));
  }
  return input;
}

std::optional<RunInput> ReadOtherInput(const RunOptions& options, const std::optional<std::string>& text,
                                       const ModelInfo& info) {
  constexpr char kOption[] = "--with-text";
  if (!text) return std::nullopt;
  if (info.image_size > 0) throw InputError(OptionError(kOption, Quoted(*text), "none: the model reads pictures"));
  if (info.encoder_layers > 0) throw InputError(OptionError(kOption, Quoted(*text), kPairWanted));
  RunInput input;
  input.source = kOption;
  AddText(input, Blaming(kOption, [&] { return TokensOf(LoadTokenizer(options.model), *text); }));
  return input;
}

}  // namespace

ModelRun::ModelRun(const RunOptions& options, const std::optional<std::string>& with_text)
    : options_(options),
      config_(ReadConfig(options.model)),
      input_(ReadInput(options, config_.info())),
      other_input_(ReadOtherInput(options, with_text, config_.info())),
      changes_(options.changes, options.model, config_.info(), changed_input().length()) {}

void ModelRun::Load(const Progress& progress) {
  progress.Show("reading " + options_.model);
  backends_.emplace(options_.backend);
  model_.emplace(LoadModelFolder(options_.model, config_, backends_->chosen()));
  progress.Show("running the model");
  changes_.TakeOutputs(*model_);
}

ModelAttention ModelRun::Attend(const AttendOptions& keep) const {
  return Attend(changed_input(), changes_.AddedTo(keep));
}

ModelAttention ModelRun::AttendUnchanged(const AttendOptions& keep) const { return Attend(input_, keep); }

ModelAttention ModelRun::Attend(const RunInput& input, const AttendOptions& options) const {
  ModelInput model_input;
  model_input.ids = input.ids;
  model_input.source = input.source_tokens.ids;
  if (input.is_image()) model_input.image = input.image.view<3>();
  return Blaming(input.source, [&] { return model_->Attend(model_input, options); });
}

}  // namespace headlens::cli
