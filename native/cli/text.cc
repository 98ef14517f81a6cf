// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include "cli/files.h"
#include "tokenizer/tokenizer.h"

namespace headlens::cli {

std::vector<CLI::Option*> AddTextOptions(CLI::App& command, TextOptions& options) {
  CLI::Option* text = command.add_option("--text", options.text, "Text, for the model's own tokenizer.json");
  CLI::Option* file = command.add_option("--text-file", options.file, "File with the text, as UTF-8");
  text->type_name("TEXT");
  file->type_name("FILE")->excludes(text);
  return {text, file};
}

TextTokens Tokenize(const std::string& model, const TextOptions& options) {
  const std::string path = model + "/tokenizer.json";
  const auto tokenizer = Blaming(path, [&] { return tokenizer::Tokenizer(File(path).text()); });
  const std::string name = options.text ? "--text" : options.file;
  const std::string text = options.text ? *options.text : std::string(File(options.file).text());
  return Blaming(name, [&] {
    TextTokens tokens{tokenizer.Encode(text), {}};
    tokens.pieces = tokenizer.Pieces(tokens.ids);
    return tokens;
  });
}

}  // namespace headlens::cli
