// SPDX-License-Identifier: Apache-2.0
/// The command `headlens tokens --model DIR --text TEXT`, which prints the tokens of a text.
#include <iostream>
#include <memory>
#include <string>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/model_folder.h"
#include "cli/show.h"
#include "cli/text.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {

namespace {

struct Options {
  std::string model;
  TextOptions text;
  bool lines = false;
};

void Print(const TextTokens& tokens) {
  std::cout << ShownJson(nlohmann::ordered_json{{"tokens", tokens.ids}, {"pieces", tokens.pieces}}.dump()) << '\n';
}

/// Prints the tokens of each line of the standard input, which is a JSON string.
void PrintLines(const tokenizer::Tokenizer& tokenizer) {
  std::string line;
  for (int number = 1; std::getline(std::cin, line); ++number) {
    const std::string name = "line " + std::to_string(number) + " of the standard input";
    const nlohmann::json text = ParseJson(line);
    if (!text.is_string()) throw InputError(Wrong(ErrorCode::kFormat, name, "is", Quoted(line), "a JSON string"));
    Print(Blaming(name, [&] { return TokensOf(tokenizer, text.get_ref<const std::string&>()); }));
  }
}

void Run(const Options& options) {
  if (options.lines) return PrintLines(LoadTokenizer(options.model));
  if (!options.text.IsGiven())
    throw InputError(MissingError(ErrorCode::kOption, "--text, --text-file or --json-lines", "a text"));
  Print(Tokenize(options.model, options.text));
}

}  // namespace

void AddTokens(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("tokens", "Print a text's tokens as JSON: {\"tokens\": [ids], \"pieces\": [what each shows]}");
  const auto options = std::make_shared<Options>();
  AddModelOption(*command, options->model)->required();
  CLI::Option* lines = command->add_flag("--json-lines", options->lines,
                                         "Texts as JSON strings, one a line, from the standard input; a line for each");
  for (CLI::Option* text : AddTextOptions(*command, options->text)) text->excludes(lines);
  command->callback([options] { Run(*options); });
}

}  // namespace headlens::cli
