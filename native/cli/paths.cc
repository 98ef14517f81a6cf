// SPDX-License-Identifier: Apache-2.0
/// The command `headlens paths --model DIR --text TEXT`, which finds paths of two heads: a later head reads what an
/// earlier one wrote.
#include "headlens/paths.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <utility>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/explanations.h"
#include "cli/files.h"
#include "cli/model_run.h"
#include "cli/table.h"

namespace headlens::cli {
namespace {

constexpr char kInduction[] = "induction";

struct PathsOptions : RunOptions {
  std::optional<Index> layer, head, top;
  std::string rank = "share";
  bool json = false;

  std::size_t Shown(std::size_t count) const {
    return std::min(count, static_cast<std::size_t>(top.value_or(kShownTerms)));
  }
};

/// Throws InputError where options do not fit the model.
void CheckLater(const PathsOptions& options, const ModelInfo& info) {
  if (info.layers < 2) {
    throw InputError(Wrong(ErrorCode::kUnsupported, options.model, "has", {info.layers, " layer"},
                           "at least 2: a path leads from one to a later one"));
  }
  if (!options.layer) return;
  ExpectBelow("--layer", *options.layer, info.layers);
  ExpectBelow("--head", *options.head, info.heads);
  if (*options.layer == 0) {
    throw InputError(
        ValueError("--layer", Index{0}, {"1 to ", info.layers - 1, ": heads of the first layer read no other head"}));
  }
}

std::vector<HeadPath> FindPaths(const PathsOptions& options, const ModelAttention& attention,
                                const Progress& progress) {
  std::optional<HeadPlace> later;
  if (options.layer) later = {*options.layer, *options.head};
  PathFinder finder(attention, later);
  do {
    progress.Show("paths: " + std::to_string(finder.heads_done()) + " of " + std::to_string(finder.heads()) + " heads");
  } while (finder.Next());
  return {finder.paths().begin(), finder.paths().end()};
}

std::string NameOfPlace(const HeadPlace& place) {
  return std::to_string(place.layer) + "." + std::to_string(place.head);
}

const char* InputOf(Composition kind) {
  if (kind == Composition::kQuery) return "query";
  return kind == Composition::kKey ? "key" : "value";
}

std::string NumberOr(const std::optional<double>& number, const char* none) {
  return number ? Fixed(*number, 4) : none;
}

void PrintTitle(std::size_t paths, const PathsOptions& options, const RunInput& input) {
  std::cout << paths << " paths of two heads";
  if (options.layer) std::cout << " to " << NameOfHead(*options.layer, *options.head) << ",";
  std::cout << " over " << input.length() << " tokens\n\n";
}

void PrintPaths(const std::vector<HeadPath>& paths, const PathsOptions& options, const RunInput& input) {
  PrintTitle(paths.size(), options, input);
  std::vector<Cells> rows = {{"share", "weights", "from", "to", "input"}};
  for (const HeadPath& path : std::span(paths).first(options.Shown(paths.size()))) {
    rows.push_back({NumberOr(path.share, "-"), NumberOr(path.weights, "-"), NameOfPlace(path.earlier),
                    NameOfPlace(path.later), InputOf(path.kind)});
  }
  PrintColumns(rows, "rrrrl");
}

void PrintPaths(const std::vector<InductionPath>& paths, const PathsOptions& options, const RunInput& input) {
  PrintTitle(paths.size(), options, input);
  std::vector<Cells> rows = {{"score", "previous", "induction", "share", "from", "to"}};
  for (const InductionPath& path : std::span(paths).first(options.Shown(paths.size()))) {
    rows.push_back({Fixed(path.score, 4), Fixed(path.previous, 4), Fixed(path.induction, 4),
                    NumberOr(path.path.share, "-"), NameOfPlace(path.path.earlier), NameOfPlace(path.path.later)});
  }
  PrintColumns(rows, "rrrrrr");
}

nlohmann::ordered_json PlaceToJson(const HeadPlace& place) { return {{"layer", place.layer}, {"head", place.head}}; }

JsonObject PathToJson(const HeadPath& path) {
  JsonObject json;
  json.Add("from", PlaceToJson(path.earlier));
  json.Add("to", PlaceToJson(path.later));
  json.Add("input", InputOf(path.kind));
  json.AddNumber("share", static_cast<float>(path.share.value_or(NAN)));
  if (path.weights) json.AddNumber("weights", static_cast<float>(*path.weights));
  return json;
}

JsonObject PathToJson(const InductionPath& path) {
  JsonObject json = PathToJson(path.path);
  json.AddNumber("previous", static_cast<float>(path.previous));
  json.AddNumber("induction", static_cast<float>(path.induction));
  json.AddNumber("score", static_cast<float>(path.score));
  return json;
}

void ShowPaths(const auto& paths, const PathsOptions& options, const RunInput& input) {
  if (!options.json) return PrintPaths(paths, options, input);
  JsonObject json = JsonOf(input);
  std::vector<JsonObject> list;
  for (const auto& path : paths) list.push_back(PathToJson(path));
  json.AddObjects("paths", list);
  std::cout << json.text() << "\n";
}

void ShowInduction(const ModelAttention& attention, const std::vector<HeadPath>& paths, const PathsOptions& options,
                   const RunInput& input, const Progress& progress) {
  const auto show = [&progress](double done) {
    progress.Show("induction: " + std::to_string(static_cast<int>(100 * done)) + " % of all heads");
    return true;
  };
  const std::vector<InductionPath> found =
      Blaming("--rank", [&] { return FindInductionPaths(attention, paths, show).value(); });
  progress.Show("");
  if (found.empty())
    throw InputError(OptionError("--rank", kInduction, "share, since no token of the text comes again"));
  ShowPaths(found, options, input);
}

void ShowShares(const Model& model, std::vector<HeadPath> paths, const PathsOptions& options, const RunInput& input,
                const Progress& progress) {
  RankPaths(paths);
  progress.Show("comparing weights");
  AddCompositionScores(model, std::span(paths).first(options.Shown(paths.size())));
  progress.Show("");
  ShowPaths(paths, options, input);
}

void Paths(const PathsOptions& options) {
  const Progress progress;
  ModelRun run(options);
  CheckLater(options, run.info());
  run.Load(progress);
  AttendOptions keep;
  keep.keep_parts = true;
  const ModelAttention attention = run.Attend(keep);
  std::vector<HeadPath> paths =
      Blaming("the changes of the run", [&] { return FindPaths(options, attention, progress); });
  if (options.rank == kInduction) return ShowInduction(attention, paths, options, run.input(), progress);
  ShowShares(run.model(), std::move(paths), options, run.input(), progress);
}

void AddPathsOptions(CLI::App& command, PathsOptions& options) {
  CLI::Option* layer =
      command.add_option("--layer", options.layer, "With --head: only paths to this head; its layer, counted from 0");
  CLI::Option* head = command.add_option("--head", options.head, "The head's number in its layer, counted from 0");
  layer->type_name("N")->needs(head);
  head->type_name("N")->needs(layer);
  command
      .add_option("--rank", options.rank,
                  "share, of what the later head reads; or induction, from a head that looks at the previous token to "
                  "one that finds what followed the same token earlier")
      ->check(CLI::IsMember({"share", kInduction}))
      ->type_name("BY");
  command.add_option("--top", options.top, "Only this many paths, the first, which are 12 otherwise")
      ->check(CLI::Range(Index{1}, std::numeric_limits<Index>::max(), "at least 1"))
      ->type_name("N");
  command.add_flag("--json", options.json, "As JSON, with all paths, of which the first have the score of the weights");
}

}  // namespace

void AddPaths(CLI::App& app) {
  CLI::App* command = app.add_subcommand("paths", "Find pairs of heads where one reads what the other wrote");
  const auto options = std::make_shared<PathsOptions>();
  AddPathsOptions(*command, *options);
  AddRunOptions(*command, *options);
  command->footer(
      "A share is the earlier head's part of what makes the later one's queries or keys look, or of what it copies,\n"
      "on this text. Parts may cancel, so that it may be negative or above 1. The score of the weights is the\n"
      "composition of the two heads without any text, from 0 to 1. An induction path is ranked by the product of\n"
      "previous (how much the earlier head looks at the token before), induction and the share.");
  command->callback([options] { Paths(*options); });
}

}  // namespace headlens::cli
