// SPDX-License-Identifier: Apache-2.0
/// The command `headlens explain --model DIR --text TEXT --layer N --head N --query N …`, which says why a head looks
/// where it looks, and what it copies.
#include <iostream>
#include <limits>
#include <memory>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/explanations.h"
#include "cli/files.h"

namespace headlens::cli {
namespace {

struct ExplainOptions : RunOptions {
  ExplainedPlace place;
  std::string what = "scores";
  std::optional<Index> top;
  bool json = false;
};

/// Throws InputError where options do not fit each other or the model and its input.
void CheckPlace(const ExplainOptions& options, const ModelInfo& info, const RunInput& input) {
  const ExplainedPlace& place = options.place;
  ExpectAttention(place.part, info);
  const bool of_encoder = place.part == AttentionPart::kEncoder;
  ExpectBelow("--layer", place.layer, of_encoder ? info.encoder_layers : info.layers);
  ExpectBelow("--head", place.head, of_encoder ? info.encoder_heads : info.heads);
  const Index source = std::ssize(input.source_tokens.ids), queries = of_encoder ? source : input.length(),
              keys = place.part == AttentionPart::kDecoder ? input.length() : source;
  const auto only_for = [&](const char* option, const std::optional<Index>& value, Index end, bool fits,
                            const char* needed) {
    if (value && !fits) throw InputError(NeedsError(ErrorCode::kOption, option, {"--what ", needed}));
    if (value) ExpectBelow(option, *value, end);
  };
  const bool of_scores = options.what == "scores", of_text = options.what == "sources";
  only_for("--query", place.query, queries, !of_text, "scores or output");
  only_for("--key", place.key, keys, of_scores, "scores");
  only_for("--against", place.against, keys, of_scores, "scores");
  if (!of_text && !place.query)
    throw InputError(MissingError(ErrorCode::kOption, "--query", "the position of a token, counted from 0"));
}

void Show(const auto& explanation, const ExplainOptions& options, const RunInput& input) {
  const ExplainedPlace& place = options.place;
  if (!options.json) return Print(explanation, place, NamesOf(input, place.part), options.top);
  JsonObject json = JsonOf(input);
  if (!input.source_tokens.ids.empty()) json.Add("attention", NameOf(place.part));
  json.Add("layer", place.layer);
  json.Add("head", place.head);
  if (place.query) json.Add("query", *place.query);
  if (place.key) json.Add("key", *place.key);
  if (place.against) json.Add("against", *place.against);
  AddTo(json, explanation);
  std::cout << json.text() << "\n";
}

void ShowScores(const ModelAttention& attention, const ExplainOptions& options, const RunInput& input) {
  const auto& [layer, head, query, key, against, part] = options.place;
  if (!key) return Show(ExplainRow(attention, layer, head, *query, part), options, input);
  const MapCell cell{layer, head, *query, *key, part};
  Show(against ? ExplainCell(attention, cell, *against) : ExplainCell(attention, cell), options, input);
}

void Explain(const ExplainOptions& options) {
  const Progress progress;
  ModelRun run(options);
  const ExplainedPlace& place = options.place;
  CheckPlace(options, run.info(), run.input());
  run.Load(progress);
  AttendOptions keep;
  keep.keep_parts = true;
  const ModelAttention attention = run.Attend(keep);
  progress.Show("");
  Blaming("--what", [&] {
    if (options.what == "scores") ShowScores(attention, options, run.input());
    if (options.what == "output")
      Show(ExplainOutput(attention, place.layer, place.head, *place.query, place.part), options, run.input());
    if (options.what == "sources")
      Show(SourcesOf(attention, place.layer, place.head, place.part), options, run.input());
  });
}

void AddPlace(CLI::App& command, ExplainOptions& options) {
  ExplainedPlace& place = options.place;
  command.add_option("--layer", place.layer, "The head's layer, counted from 0")->required()->type_name("N");
  command.add_option("--head", place.head, "The head's number in its layer, counted from 0")
      ->required()
      ->type_name("N");
  AddAttentionOption(command, place.part);
  command.add_option("--query", place.query, "The position of the token that looks, counted from 0")->type_name("N");
  CLI::Option* key = command.add_option("--key", place.key,
                                        "The position of the token that it looks at; without, all scores of the query");
  key->type_name("N");
  command
      .add_option("--against", place.against,
                  "With --key: the position of another key, whose score, terms and steps are subtracted")
      ->type_name("N")
      ->needs(key);
}

}  // namespace

void AddExplain(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explain", "Say why a head looks where it looks, and what it copies, by the parts of streams");
  const auto options = std::make_shared<ExplainOptions>();
  AddPlace(*command, *options);
  command
      ->add_option("--what", options->what,
                   "scores, of a query for one key or for all; output, what the head copies for the query; or sources, "
                   "what its queries and keys are made of and what it copies, over the whole text")
      ->check(CLI::IsMember({"scores", "output", "sources"}))
      ->type_name("WHAT");
  command
      ->add_option(
          "--top", options->top,
          "Only this many terms, the largest, which are 12 otherwise; of a query's keys those with the largest "
          "weights")
      ->check(CLI::Range(Index{1}, std::numeric_limits<Index>::max(), "at least 1"))
      ->type_name("N");
  command->add_flag("--json", options->json, "As JSON, with all terms");
  AddRunOptions(*command, *options);
  command->footer(
      "A score is an exact sum over parts of the two tokens' residual streams: the token, its position, what each\n"
      "earlier head (head LAYER.HEAD) and feed-forward network wrote, biases, and the shifts of norms. In the decoder "
      "of\n"
      "an encoder–decoder, heads that look at the source write parts, too (cross LAYER.HEAD). Norms are frozen at "
      "their\n"
      "actual statistics.");
  command->callback([options] { Explain(*options); });
}

}  // namespace headlens::cli
