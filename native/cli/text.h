// SPDX-License-Identifier: Apache-2.0
/// The text that a command works on, and its tokens.
#ifndef HEADLENS_NATIVE_CLI_TEXT_H_
#define HEADLENS_NATIVE_CLI_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "tokenizer/tokenizer.h"

namespace headlens::cli {

struct TextOptions {
  std::optional<std::string> text;
  std::string file;

  bool IsGiven() const { return text || !file.empty(); }
};

/// Adds "--text TEXT" and "--text-file FILE", of which one may be given, and returns them.
std::vector<CLI::Option*> AddTextOptions(CLI::App& command, TextOptions& options);

using Ids = std::vector<std::int32_t>;

/// Parses numbers that are separated by commas or spaces. Throws InputError, naming `place` and what is expected there,
/// for anything else or no number.
std::vector<std::int32_t> ParseNumbers(const std::string& place, std::string_view text, const char* expected);

inline Ids ParseIds(const std::string& place, std::string_view text) {
  return ParseNumbers(place, text, "ids of tokens, as 1,2,3");
}

/// Adds an option that takes ids, such as 1,2,3.
CLI::Option* AddIdsOption(CLI::App& command, const std::string& name, Ids& ids, const std::string& description);

struct TextTokens {
  Ids ids;
  std::vector<std::string> pieces;  ///< the text of each token
};

/// Reads `model`/tokenizer.json. Throws InputError.
tokenizer::Tokenizer LoadTokenizer(const std::string& model);

/// Throws Error as Tokenizer::Encode does.
TextTokens TokensOf(const tokenizer::Tokenizer& tokenizer, std::string_view text);

/// Turns the text into tokens with `model`/tokenizer.json. Throws InputError.
TextTokens Tokenize(const std::string& model, const TextOptions& options);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_TEXT_H_
