// SPDX-License-Identifier: Apache-2.0
/// The command `headlens heads --model DIR (--text-file FILE | --tokens IDS | --image FILE...)`, which ranks the heads
/// of a model by metrics.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>

#include "base/words.h"
#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/model_folder.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "headlens/head_finder.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {
namespace {

struct HeadsOptions {
  std::string model, text_file, tokens_file;
  std::vector<std::string> images;
  Ids tokens, special;
  PairOptions pair;
  AttentionPart attention = AttentionPart::kDecoder;
  std::vector<std::string> metrics = FinderOptions().metrics;
  bool ascending = false;
  std::size_t top = 0;  // 0: all heads
  std::string format = "table";
  BackendOptions backend;
};

/// Calls `use` for each line of a file that is not blank, without its line end.
template <class Use>
void ForEachLine(std::string_view text, const Use& use) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content.find_first_not_of(" \t") != std::string_view::npos) use(line, content);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Reads the lines of a file, and turns each into ids with `to_ids(place, line)`.
template <class ToIds>
std::vector<Ids> ReadLines(const std::string& path, const ToIds& to_ids) {
  std::vector<Ids> texts;
  const File file(path);
  ForEachLine(file.text(), [&](std::size_t line, std::string_view content) {
    texts.push_back(to_ids(path + ", line " + std::to_string(line), content));
  });
  if (texts.empty()) throw InputError(Wrong(ErrorCode::kFormat, path, "holds", "no texts", "one a line"));
  return texts;
}

std::vector<Ids> ReadTexts(const HeadsOptions& options) {
  if (!options.images.empty()) return {};
  if (!options.tokens.empty()) return {options.tokens};
  if (!options.tokens_file.empty()) return ReadLines(options.tokens_file, ParseIds);
  if (options.text_file.empty()) {
    throw InputError(MissingError(ErrorCode::kOption, "--text-file, --tokens-file or --tokens",
                                  "texts, one a line, or the ids of their tokens; or --image"));
  }
  const tokenizer::Tokenizer tokenizer = LoadTokenizer(options.model);
  return ReadLines(options.text_file, [&](const std::string& place, std::string_view line) {
    return Blaming(place, [&] { return tokenizer.Encode(line); });
  });
}

/// The source and the target for an encoder–decoder, and nothing for another model. Throws InputError where one is
/// given what only the other reads.
PairTokens ReadOnlyPair(const HeadsOptions& options, const ModelInfo& info) {
  if (info.encoder_layers == 0) {
    ExpectNoPair(options.pair);
    return {};
  }
  for (const auto& [option, file] :
       {std::pair("--text-file", options.text_file), {"--tokens-file", options.tokens_file}})
    if (!file.empty()) throw InputError(OptionError(option, Quoted(file), kPairWanted));
  return ReadPair(options.model, options.pair, options.tokens, info);
}

/// Reads the pictures for a model that reads pictures. Otherwise throws InputError, before the model's weights are
/// read.
std::vector<Tensor> ReadImages(const HeadsOptions& options, const ModelInfo& info) {
  ExpectImage(info.image_size > 0, options.images.empty() ? "" : options.images.front());
  std::vector<Tensor> images;
  for (const std::string& path : options.images) images.push_back(ReadImage(options.model, path, info));
  return images;
}

/// The option or file that gave the texts, for error messages.
std::string NameOfTexts(const HeadsOptions& options) {
  if (!options.images.empty()) return "--image";
  if (options.pair.IsGiven()) return "the source and the target";
  if (!options.tokens.empty()) return "--tokens";
  return options.tokens_file.empty() ? options.text_file : options.tokens_file;
}

/// Throws InputError, saying why, when the metric that ranks the heads has no value for any of them.
void CheckRanked(const std::vector<ScoredHead>& heads, const HeadsOptions& options) {
  const std::string& metric = options.metrics[0];
  for (const ScoredHead& head : heads)
    if (head.scores[0].mean) return;
  const std::string texts = options.images.empty() ? "texts" : "images";
  std::string needs = "these " + texts + " have no such places";
  for (const Metric& known : Metrics()) {
    if (known.name != metric) continue;
    if (known.needs & kNeedsRepeat) needs = "it needs texts of the form [s][s], or one token and [s][s]";
    if (known.needs & kNeedsSpecial) needs = "it needs --special";
    if (known.needs & kNeedsGrid) needs = "it needs images";
  }
  for (const ModelMetric& known : ModelMetrics())
    if (known.name == metric) needs = "this model has none of these " + texts;
  throw InputError(OptionError("--metric", metric, {"one that has a value for some head: ", needs}));
}

std::vector<ScoredHead> FindHeads(const HeadsOptions& options, const ModelConfig& config,
                                  const std::vector<ModelInput>& inputs) {
  const Progress progress;
  progress.Show("reading " + options.model);
  const BackendSet backends(options.backend);
  const Model model = LoadModelFolder(options.model, config, backends.chosen());
  const FinderOptions finder{.metrics = options.metrics, .special_tokens = options.special};
  int percent = -1;
  const auto show = [&](double done) {
    if (const int now = static_cast<int>(100 * done); now != percent) {
      percent = now;
      progress.Show("heads: " + std::to_string(percent) + " % of " + std::to_string(inputs.size()) +
                    (options.images.empty() ? " texts" : " images"));
    }
    return true;
  };
  std::vector<ScoredHead> heads = Blaming(NameOfTexts(options), [&] {
    return ScoreHeads(HeadsOf(model, inputs, options.attention), finder, show).value();
  });
  CheckRanked(heads, options);
  RankHeads(heads, 0, options.ascending);
  if (options.top > 0 && options.top < heads.size()) heads.resize(options.top);
  return heads;
}

std::string Formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void PrintTable(const std::vector<ScoredHead>& heads, const std::vector<std::string>& metrics) {
  const auto padded = [](const std::string& text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
  };
  std::cout << "layer  head";
  for (const std::string& metric : metrics) std::cout << "  " << padded(metric, 8);
  std::cout << "\n";
  for (const ScoredHead& head : heads) {
    std::cout << padded(std::to_string(head.layer), 5) << padded(std::to_string(head.head), 6);
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      const std::optional<double> mean = head.scores[m].mean;
      std::cout << "  " << padded(mean ? Formatted("%.4f", *mean) : "-", std::max<std::size_t>(metrics[m].size(), 8));
    }
    std::cout << "\n";
  }
}

void PrintCsv(const std::vector<ScoredHead>& heads, const std::vector<std::string>& metrics) {
  std::cout << "layer,head";
  for (const std::string& metric : metrics) std::cout << "," << metric;
  std::cout << "\n";
  for (const ScoredHead& head : heads) {
    std::cout << head.layer << "," << head.head;
    for (const HeadScore& score : head.scores) std::cout << "," << (score.mean ? Formatted("%.9g", *score.mean) : "");
    std::cout << "\n";
  }
}

void PrintJson(const std::vector<ScoredHead>& heads, const HeadsOptions& options, std::size_t texts) {
  nlohmann::ordered_json result = {{"texts", texts}, {"metrics", options.metrics}};
  result["heads"] = nlohmann::ordered_json::array();
  for (const ScoredHead& head : heads) {
    nlohmann::ordered_json scores = nlohmann::ordered_json::object();
    for (std::size_t m = 0; m < options.metrics.size(); ++m) {
      const HeadScore& score = head.scores[m];
      scores[options.metrics[m]] = {{"mean", nullptr}, {"texts", score.texts}, {"n_valid", score.n_valid}};
      if (score.mean) scores[options.metrics[m]]["mean"] = *score.mean;
    }
    result["heads"].push_back({{"layer", head.layer}, {"head", head.head}, {"scores", scores}});
  }
  std::cout << result.dump() << "\n";
}

void Heads(const HeadsOptions& options) {
  Blaming("--metric", [&] { HeadFinder({}, {.metrics = options.metrics}); });  // names first: models take long to read
  const ModelConfig config = ReadConfig(options.model);
  const ModelInfo& info = config.info();
  const std::vector<Tensor> images = ReadImages(options, info);
  const PairTokens pair = ReadOnlyPair(options, info);
  const std::vector<Ids> texts = info.encoder_layers > 0 ? std::vector<Ids>{pair.target.ids} : ReadTexts(options);
  std::vector<ModelInput> inputs;
  for (const Ids& ids : texts) inputs.push_back({.ids = ids, .source = pair.source.ids});
  for (const Tensor& image : images) inputs.push_back({.image = image.view<3>()});
  const std::vector<ScoredHead> heads = FindHeads(options, config, inputs);
  if (options.format == "table") PrintTable(heads, options.metrics);
  if (options.format == "csv") PrintCsv(heads, options.metrics);
  if (options.format == "json") PrintJson(heads, options, inputs.size());
}

/// The names, formulas and sources of all metrics, for --help.
std::string ListOfMetrics() {
  constexpr std::size_t kColumn = 28;
  std::string list = "Metrics:\n";
  const auto add = [&list](const auto& metric) {
    const std::string name = "  " + std::string(metric.name);
    list += name + std::string(kColumn - std::min(name.size(), kColumn - 1), ' ') + std::string(metric.formula) + "\n" +
            std::string(kColumn, ' ') + "(" + std::string(metric.source) + ")\n";
  };
  for (const Metric& metric : Metrics()) add(metric);
  for (const ModelMetric& metric : ModelMetrics()) add(metric);
  return list;
}

}  // namespace

void AddHeads(CLI::App& app) {
  CLI::App* command = app.add_subcommand("heads", "Rank a model's heads by what they do");
  const auto options = std::make_shared<HeadsOptions>();
  command->add_option("--model", options->model, "Folder of a model, as Hugging Face has them")
      ->required()
      ->type_name("DIR");
  CLI::Option* text_file =
      command->add_option("--text-file", options->text_file, "File with a text in each line, as UTF-8");
  text_file->type_name("FILE");
  CLI::Option* tokens = AddIdsOption(*command, "--tokens", options->tokens, "Ids of one text's tokens, as 1,2,3");
  tokens->excludes(text_file);
  CLI::Option* tokens_file =
      command->add_option("--tokens-file", options->tokens_file, "File with the ids of a text's tokens in each line");
  tokens_file->type_name("FILE")->excludes(tokens)->excludes(text_file);
  AddPairOptions(*command, options->pair)->excludes(tokens);
  AddAttentionOption(*command, options->attention);
  command->add_option("--image", options->images, "PNG pictures, for models that read pictures")
      ->type_name("FILE")
      ->excludes(tokens)
      ->excludes(text_file)
      ->excludes(tokens_file);
  command
      ->add_option("--metric", options->metrics,
                   "Names of metrics, apart by commas: heads are ranked by the first, all are shown; see below")
      ->delimiter(',')
      ->type_size(1)
      ->allow_extra_args(false)
      ->type_name("NAMES");
  command->add_flag("--ascending", options->ascending, "The smallest values first");
  command->add_option("--top", options->top, "Only this many heads")
      ->check(CLI::Range(std::size_t{1}, std::numeric_limits<std::size_t>::max(), "at least 1"))
      ->type_name("N");
  AddIdsOption(*command, "--special", options->special, "Ids of tokens that count as special, as 0,1");
  command->add_option("--format", options->format, "table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->type_name("FORMAT");
  AddBackendOptions(*command, options->backend);
  command->footer(ListOfMetrics());
  command->callback([options] { Heads(*options); });
}

}  // namespace headlens::cli
