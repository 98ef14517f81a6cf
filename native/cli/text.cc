// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

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

CLI::Option* AddAttentionOption(CLI::App& command, AttentionPart& part) {
  static const std::map<std::string, AttentionPart> kParts = {
      {"decoder", AttentionPart::kDecoder}, {"encoder", AttentionPart::kEncoder}, {"cross", AttentionPart::kCross}};
  return command.add_option("--attention", part, "Of an encoder–decoder: decoder, encoder or cross")
      ->transform(CLI::CheckedTransformer(kParts).description(""))
      ->type_name("PART");
}

const char* NameOf(AttentionPart part) {
  if (part == AttentionPart::kDecoder) return "decoder";
  return part == AttentionPart::kEncoder ? "encoder" : "cross";
}

void ExpectAttention(AttentionPart part, const ModelInfo& info) {
  if (part != AttentionPart::kDecoder && info.encoder_layers == 0)
    throw InputError(OptionError("--attention", NameOf(part), "an encoder–decoder"));
}

CLI::Option* AddPairOptions(CLI::App& command, PairOptions& options) {
  CLI::Option* source = command.add_option("--source", options.source,
                                           "For an encoder–decoder (T5, Marian): the text that its encoder reads");
  CLI::Option* ids = AddIdsOption(command, "--source-tokens", options.source_tokens, "The same as ids, as 1,2,3");
  CLI::Option* target = command.add_option(
      "--target", options.target, "The text that its decoder reads, after its start token; --tokens has it as ids");
  source->type_name("TEXT")->excludes(ids);
  return target->type_name("TEXT");
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

namespace {

/// Adds the pieces of `ids`, and returns both. Throws InputError for no ids.
TextTokens WithPieces(const char* option, const tokenizer::Tokenizer* tokenizer, Ids ids) {
  if (ids.empty()) throw InputError(Wrong(ErrorCode::kValue, option, "has", "no tokens", "at least one"));
  TextTokens tokens{std::move(ids), {}};
  if (tokenizer) tokens.pieces = tokenizer->Pieces(tokens.ids);
  return tokens;
}

}  // namespace

PairTokens ReadPair(const std::string& model, const PairOptions& options, Ids target, const ModelInfo& info) {
  if (!options.source && options.source_tokens.empty())
    throw InputError(MissingError(ErrorCode::kOption, "--source or --source-tokens", "what the encoder reads"));
  if (!options.target && target.empty())
    throw InputError(MissingError(ErrorCode::kOption, "--target or --tokens", "what the decoder reads"));
  std::optional<tokenizer::Tokenizer> tokenizer;
  if (options.source || options.target) tokenizer.emplace(LoadTokenizer(model));
  Ids source = options.source_tokens;
  if (options.source) source = Blaming("--source", [&] { return tokenizer->Encode(*options.source); });
  if (options.target) {
    const auto encode = [&] { return tokenizer->target().Encode(*options.target, /*with_special_tokens=*/false); };
    target = Blaming("--target", encode);
    target.insert(target.begin(), static_cast<std::int32_t>(info.start_token));
  }
  return {WithPieces("--source", tokenizer ? &*tokenizer : nullptr, std::move(source)),
          WithPieces("--target", tokenizer ? &tokenizer->target() : nullptr, std::move(target))};
}

void ExpectNoPair(const PairOptions& options) {
  if (!options.IsGiven()) return;
  const char* option = options.source ? "--source" : options.target ? "--target" : "--source-tokens";
  throw InputError(OptionError(option, Quoted(options.source.value_or(options.target.value_or("ids"))),
                               "none: only an encoder–decoder reads a source and a target"));
}

TextTokens Tokenize(const std::string& model, const TextOptions& options) {
  const tokenizer::Tokenizer tokenizer = LoadTokenizer(model);
  if (options.text) return Blaming("--text", [&] { return TokensOf(tokenizer, *options.text); });
  const File file(options.file);
  return Blaming(options.file, [&] { return TokensOf(tokenizer, file.text()); });
}

}  // namespace headlens::cli
