// SPDX-License-Identifier: Apache-2.0
/// The command `headlens predict --model DIR --text TEXT`, which says what a model expects next, and by which of its
/// parts.
#include <iostream>
#include <limits>
#include <memory>
#include <utility>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/predictions.h"

namespace headlens::cli {
namespace {

struct PredictOptions : RunOptions {
  std::optional<Index> position, top;
  bool lens = false, compare = false, json = false;
  bool contributions = false;
  std::vector<std::string> tokens;  ///< of the contributions; empty: the most probable one
  std::string head;
  AttentionPart part = AttentionPart::kDecoder;  ///< of the head
};

Index PositionOf(const PredictOptions& options, const RunInput& input) {
  const Index rows = input.is_image() ? 1 : input.length();  // a classifier of images has the logits of CLS alone
  const Index position = options.position.value_or(rows - 1);
  ExpectBelow("--position", position, rows);
  return position;
}

void AddContributions(const PredictOptions& options, const ModelAttention& attention, const OutputTokens& tokens,
                      Predicted& predicted) {
  for (const std::string& text : options.tokens) predicted.tokens.push_back(tokens.Find("--contributions", text));
  if (predicted.tokens.empty()) predicted.tokens = {ExtremeLogits(predicted.now.logits, 1)[0].token};
  predicted.contributions =
      Blaming("--contributions", [&] { return Contributions(attention, predicted.position, predicted.tokens); });
}

void AddHead(const ModelAttention& attention, const HeadNumber& head, AttentionPart part, Predicted& predicted) {
  const Index row = predicted.position;
  const Tensor logits =
      Blaming("--head", [&] { return HeadLogits(attention, head.layer, head.head, row, row + 1, part); });
  predicted.head = head;
  predicted.part = part;
  predicted.head_logits.assign(logits.values().begin(), logits.values().end());
}

AttendOptions KeptFor(const PredictOptions& options) {
  AttendOptions keep;
  keep.keep_hidden = options.lens;
  keep.keep_parts = options.contributions || !options.head.empty();
  return keep;
}

void Predict(const PredictOptions& options) {
  if (options.compare && !options.changes.AreGiven())
    throw InputError(NeedsError(ErrorCode::kOption, "--compare", "a change of the run, such as --ablate"));
  const Progress progress;
  ModelRun run(options);
  const Index row = PositionOf(options, run.input());
  ExpectAttention(options.part, run.info());
  std::optional<HeadNumber> head;
  if (!options.head.empty()) head = ParseHead("--head", options.head, run.info());
  run.Load(progress);
  const OutputTokens tokens(options.model, run.info());
  const auto predict = [&](const ModelAttention& attention) {
    return Blaming(options.model, [&] { return Prediction(attention.Logits(row, row + 1)); });
  };
  const ModelAttention attention = run.Attend(KeptFor(options));
  Predicted predicted{row, predict(attention)};
  if (options.compare) predicted.before = predict(run.AttendUnchanged({}));
  for (Index layer = 0; options.lens && layer <= run.info().layers; ++layer)
    predicted.lens.emplace_back(LensLogits(attention, layer, row, row + 1));
  if (options.contributions) AddContributions(options, attention, tokens, predicted);
  if (head) AddHead(attention, *head, options.part, predicted);
  progress.Show("");
  if (!options.json) return Print(predicted, run.input(), tokens, options.top);
  std::cout << ToJson(predicted, run.input(), tokens, options.top).text() << "\n";
}

void AddPredictionOptions(CLI::App& command, PredictOptions& options) {
  command
      .add_option("--position", options.position,
                  "The position of the token, counted from 0, whose predictions are shown; the last one otherwise")
      ->type_name("N");
  command
      .add_option("--top", options.top,
                  "Only this many tokens (10 otherwise, and 3 for each layer of --lens) and parts (12 otherwise)")
      ->check(CLI::Range(Index{1}, std::numeric_limits<Index>::max(), "at least 1"))
      ->type_name("N");
  command.add_flag("--lens", options.lens,
                   "Also what the model would predict if a layer and all after it were not there (logit lens)");
  const auto explain = [&options](const std::vector<std::string>& tokens) {
    options.contributions = true;
    if (tokens != std::vector<std::string>{""}) options.tokens = tokens;  // CLI11 gives an empty text for none
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--contributions", explain,
          "Also what each part of the model adds to the logits of these tokens, given by their texts or numbers; of "
          "the most probable one otherwise")
      ->expected(0, std::numeric_limits<int>::max())
      ->type_name("TOKEN");
  CLI::Option* head = command.add_option("--head", options.head,
                                         "Also the tokens that this head makes likelier and less likely, as 3.7");
  head->type_name("LAYER.HEAD");
  AddAttentionOption(command, options.part)->needs(head);
  command.add_flag("--compare", options.compare, "Also the predictions without the changes of the run");
  command.add_flag("--json", options.json, "As JSON, with all parts");
}

}  // namespace

void AddPredict(CLI::App& app) {
  CLI::App* command = app.add_subcommand("predict", "Say what a model expects next, and which of its parts make it so");
  const auto options = std::make_shared<PredictOptions>();
  AddPredictionOptions(*command, *options);
  AddRunOptions(*command, *options);
  command->footer(
      "A logit is an exact sum over the parts of the last residual stream, with the final norm frozen at its actual\n"
      "statistics: what --contributions and --head show is what parts add directly, without the layers after them.");
  command->callback([options] { Predict(*options); });
}

}  // namespace headlens::cli
