// SPDX-License-Identifier: Apache-2.0
/// The command `headlens compare --model DIR --text TEXT (--with-text TEXT | --ablate LAYER.HEAD …)`, which says what
/// differs between two runs of a model.
#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/comparisons.h"
#include "cli/files.h"
#include "cli/table.h"

namespace headlens::cli {
namespace {

struct CompareOptions : RunOptions {
  std::optional<std::string> with_text;
  std::optional<Index> position, layer, head, top;
  bool json = false;
};

/// Throws InputError where options do not fit each other or the model and its input.
void CheckComparison(const CompareOptions& options, const ModelRun& run) {
  if (options.layer) ExpectBelow("--layer", *options.layer, run.info().layers);
  if (options.head) ExpectBelow("--head", *options.head, run.info().heads);
  const bool is_image = run.input().is_image();  // whose classifier has the logits of CLS alone
  if (options.position) ExpectBelow("--position", *options.position, is_image ? 1 : run.input().length());
}

/// Two runs, and what is found in them.
struct Comparison {
  const CompareOptions& options;
  const ModelRun& run;
  const ModelAttention a, b;
  Compared compared = {};
};

/// The pair whose predictions are shown.
TokenPair PlaceOf(const Comparison& runs) {
  const std::vector<TokenPair>& pairs = runs.compared.pairs;
  if (!runs.options.position) {
    const std::vector<float> sizes(runs.compared.divergences.begin(), runs.compared.divergences.end());
    return pairs[static_cast<std::size_t>(LargestOf(sizes, 1)[0])];
  }
  const Index position = *runs.options.position;
  const auto pair = std::ranges::find(pairs, position, &TokenPair::a);
  if (pair == pairs.end())
    throw InputError(ValueError("--position", position, "the position of a token that the second run has as well"));
  return *pair;
}

void AddPrediction(Comparison& runs) {
  Compared& compared = runs.compared;
  compared.divergences = PredictionDivergences(runs.a, runs.b, compared.pairs);
  if (compared.pairs.empty() && !runs.options.position) return;
  const TokenPair at = PlaceOf(runs);
  compared.prediction = {at, Prediction(runs.a.Logits(at.a, at.a + 1)), Prediction(runs.b.Logits(at.b, at.b + 1)),
                         LogProbabilityChanges(runs.a, runs.b, at)};
}

/// The weight of a head that changes most.
CellChange LargestChange(const Comparison& runs, const HeadNumber& head) {
  constexpr Index kRows = 64;  // of the difference in memory at a time
  const std::vector<TokenPair>& pairs = runs.compared.pairs;
  const auto count = static_cast<Index>(pairs.size());
  std::vector<CellChange> cells;
  std::vector<float> changes;
  for (Index first = 0; first < count; first += kRows) {
    const Tensor rows = MapDifference({runs.a, head.layer, head.head}, {runs.b, head.layer, head.head}, pairs, first,
                                      std::min(first + kRows, count));
    const Index place = LargestOf(rows.values(), 1)[0];
    changes.push_back(rows.values()[static_cast<std::size_t>(place)]);
    const auto query = static_cast<std::size_t>(first + place / count), key = static_cast<std::size_t>(place % count);
    cells.push_back({head, pairs[query], pairs[key], changes.back()});
  }
  return cells[static_cast<std::size_t>(LargestOf(changes, 1)[0])];
}

void AddMaps(Comparison& runs, const Progress& progress) {
  const ModelInfo& info = runs.run.info();
  Compared& compared = runs.compared;
  if (runs.options.layer) {
    const HeadNumber head{*runs.options.layer, *runs.options.head};
    compared.head = head;
    compared.difference =
        MapDifference({runs.a, head.layer, head.head}, {runs.b, head.layer, head.head}, compared.pairs);
    return;
  }
  if (compared.pairs.empty()) return;
  for (Index layer = 0; layer < info.layers; ++layer)
    for (Index head = 0; head < info.heads; ++head) {
      progress.Show("comparing the maps of head " + std::to_string(layer) + "." + std::to_string(head));
      compared.heads.push_back(LargestChange(runs, {layer, head}));
    }
}

void Compare(const CompareOptions& options) {
  if (!options.with_text && !options.changes.AreGiven()) {
    throw InputError(
        MissingError(ErrorCode::kOption, "--with-text", "a second text, or a change of the run, such as --ablate"));
  }
  const Progress progress;
  ModelRun run(options, options.with_text);
  CheckComparison(options, run);
  run.Load(progress);
  const OutputTokens tokens(options.model, run.info());
  Comparison runs{options, run, run.AttendUnchanged({}), run.Attend(AttendOptions())};
  runs.compared.pairs = AlignTokens(runs.a, runs.b);
  if (run.info().logits > 0 || options.position) Blaming(options.model, [&] { AddPrediction(runs); });
  AddMaps(runs, progress);
  progress.Show("");
  if (!options.json) return Print(runs.compared, run.input(), run.changed_input(), tokens, options.top);
  std::cout << ToJson(runs.compared, run.input(), run.changed_input(), tokens, options.top).text() << "\n";
}

void AddCompareOptions(CLI::App& command, CompareOptions& options) {
  command
      .add_option("--with-text", options.with_text,
                  "The text of the second run, which has the changes, too; the same as in the first otherwise")
      ->type_name("TEXT");
  command
      .add_option("--position", options.position,
                  "The position of a token in the first run, counted from 0, whose predictions are compared token by "
                  "token; otherwise the one where they diverge most")
      ->type_name("N");
  CLI::Option* layer =
      command.add_option("--layer", options.layer, "With --head: the weights of this head that change most");
  CLI::Option* head = command.add_option("--head", options.head, "The head's number in its layer, counted from 0");
  layer->type_name("N")->needs(head);
  head->type_name("N")->needs(layer);
  command
      .add_option("--top", options.top,
                  "Only this many pairs of tokens and heads, those that differ most, of which all are shown otherwise; "
                  "and this many predicted tokens (10 otherwise) and weights (12 otherwise)")
      ->check(CLI::Range(Index{1}, std::numeric_limits<Index>::max(), "at least 1"))
      ->type_name("N");
  command.add_flag("--json", options.json, "As JSON, with all pairs, and all heads or all weights");
}

}  // namespace

void AddCompare(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compare", "Say what differs between two texts, or between a run with changes and one without");
  const auto options = std::make_shared<CompareOptions>();
  AddCompareOptions(*command, *options);
  AddRunOptions(*command, *options);
  command->footer(
      "Tokens of the two runs are paired as a longest common subsequence. A divergence is that of Kullback and\n"
      "Leibler, from the predictions of the first run at a token to those of the second, in nats. Changes are the\n"
      "second run's numbers less the first one's.");
  command->callback([options] { Compare(*options); });
}

}  // namespace headlens::cli
