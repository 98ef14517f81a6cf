// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include "cli/files.h"

namespace headlens::cli {

std::vector<CLI::Option*> AddTextOptions(CLI::App& command, TextOptions& options) {
  CLI::Option* text = command.add_option("--text", options.text, "Text, for the model's own tokenizer.json");
  CLI::Option* file = command.add_option("--text-file", options.file, "File with the text, as UTF-8");
  text->type_name("TEXT");
  file->type_name("FILE")->excludes(text);
  return {text, file};
}

tokenizer::Tokenizer LoadTokenizer(const std::string& model) {
  const std::string path = model + "/tokenizer.json";
  return Blaming(path, [&] { return tokenizer::Tokenizer(File(path).text()); });
}

TextTokens TokensOf(const tokenizer::Tokenizer& tokenizer, std::string_view text) {
  TextTokens tokens{tokenizer.Encode(text), {}};
  tokens.pieces = tokenizer.Pieces(tokens.ids);
  return tokens;
}

TextTokens Tokenize(const std::string& model, const TextOptions& options) {
  const tokenizer::Tokenizer tokenizer = LoadTokenizer(model);
  if (options.text) return Blaming("--text", [&] { return TokensOf(tokenizer, *options.text); });
  const File file(options.file);
  return Blaming(options.file, [&] { return TokensOf(tokenizer, file.text()); });
}

}  // namespace headlens::cli
