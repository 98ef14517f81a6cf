// SPDX-License-Identifier: Apache-2.0
/// headlens tokens --model DIR --text TEXT: what a model's tokenizer makes of a text.
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/text.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {

void AddTokens(CLI::App& app) {
  struct Options {
    std::string model;
    TextOptions text;
  };
  CLI::App* command =
      app.add_subcommand("tokens", "Print a text's tokens as JSON: {\"tokens\": [ids], \"pieces\": [what each shows]}");
  const auto options = std::make_shared<Options>();
  command->add_option("--model", options->model, "Folder with tokenizer.json, as Hugging Face has it")
      ->required()
      ->type_name("DIR");
  AddTextOptions(*command, options->text);
  command->callback([options] {
    if (!options->text.IsGiven()) throw InputError("--text or --text-file is required");
    const TextTokens tokens = Tokenize(options->model, options->text);
    const nlohmann::ordered_json json = {{"tokens", tokens.ids}, {"pieces", tokens.pieces}};
    std::cout << json.dump() << '\n';
  });
}

}  // namespace headlens::cli
