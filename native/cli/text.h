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
#include "headlens/model.h"
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

/// Adds "--attention PART", the attention of an encoder–decoder whose heads are shown.
CLI::Option* AddAttentionOption(CLI::App& command, AttentionPart& part);
/// "decoder", "encoder" or "cross"
const char* NameOf(AttentionPart part);
/// Throws InputError for an attention of encoder–decoders when the model is another one.
void ExpectAttention(AttentionPart part, const ModelInfo& info);

/// The source of an encoder–decoder, and its target when that is a text: both as texts or as ids.
struct PairOptions {
  std::optional<std::string> source, target;
  Ids source_tokens;

  bool IsGiven() const { return source || target || !source_tokens.empty(); }
};

/// Adds "--source TEXT", "--source-tokens IDS" and "--target TEXT", and returns the last. The ids of a target are those
/// of "--tokens".
CLI::Option* AddPairOptions(CLI::App& command, PairOptions& options);

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

/// Says what an encoder–decoder expects instead of one text.
inline constexpr char kPairWanted[] = "none: the model reads a --source and a --target";

/// The tokens of an encoder–decoder's source and target. `target` holds the ids that were given, if any. Throws
/// InputError where one of the two is missing or has no tokens.
struct PairTokens {
  TextTokens source, target;
};
PairTokens ReadPair(const std::string& model, const PairOptions& options, Ids target, const ModelInfo& info);
/// Throws InputError for a pair that is given to a model without an encoder.
void ExpectNoPair(const PairOptions& options);

/// Turns the text into tokens with `model`/tokenizer.json. Throws InputError.
TextTokens Tokenize(const std::string& model, const TextOptions& options);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_TEXT_H_
