// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <algorithm>
#include <charconv>

#include "base/words.h"
#include "cli/files.h"
#include "cli/model_folder.h"
#include "headlens/folder.h"

namespace headlens::cli {

std::vector<CLI::Option*> AddTextOptions(CLI::App& command, TextOptions& options) {
  CLI::Option* text = command.add_option("--text", options.text, "Text, for the model's own tokenizer.json");
  CLI::Option* file = command.add_option("--text-file", options.file, "File with the text, as UTF-8");
  text->type_name("TEXT");
  file->type_name("FILE")->excludes(text);
  return {text, file};
}

std::vector<std::int32_t> ParseNumbers(const std::string& place, std::string_view text, const char* expected) {
  static constexpr std::string_view kSpace = " \t", kApart = ", \t";
  const auto skip_space = [text](std::size_t at) { return std::min(text.find_first_not_of(kSpace, at), text.size()); };
  std::vector<std::int32_t> numbers;
  for (std::size_t at = skip_space(0);; at = skip_space(at + 1)) {
    const std::size_t end = std::min(text.find_first_of(kApart, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    std::int32_t number = 0;
    const auto [rest, failed] = std::from_chars(word.begin(), word.end(), number);
    if (failed != std::errc{} || rest != word.end()) {
      throw InputError(Wrong(ErrorCode::kValue, place, "has", Quoted(word), expected));
    }
    numbers.push_back(number);
    at = skip_space(end);
    if (at == text.size()) return numbers;
    if (text[at] != ',') --at;
  }
}

CLI::Option* AddIdsOption(CLI::App& command, const std::string& name, Ids& ids, const std::string& description) {
  const auto parse = [name, &ids](const std::string& text) { ids = ParseIds(name, text); };
  return command.add_option_function<std::string>(name, parse, description)->type_name("IDS");
}

tokenizer::Tokenizer LoadTokenizer(const std::string& model) {
  const std::string path = ExpectedFile(model, kTokenizerFile);
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
