// SPDX-License-Identifier: Apache-2.0
/// The tokens that a model's logits are of.
#ifndef HEADLENS_NATIVE_CLI_OUTPUT_TOKENS_H_
#define HEADLENS_NATIVE_CLI_OUTPUT_TOKENS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/json_text.h"
#include "cli/table.h"
#include "headlens/model.h"
#include "tokenizer/tokenizer.h"

namespace headlens::cli {

/// Names the columns of logits: tokens by their text where the folder has a tokenizer.json, and labels of pictures as
/// config.json does, or by their numbers.
class OutputTokens {
 public:
  /// Throws InputError.
  OutputTokens(const std::string& folder, const ModelInfo& info);

  /// The text of a token, or the number where it is not known; safe to show.
  std::string NameOf(std::int32_t token) const;
  /// The cells of a token in a table: its number, and its text if known; and the titles of their columns.
  Cells CellsOf(std::int32_t token) const;
  Cells Titles() const;
  /// Begins the JSON of a token: "token", and its "piece" if known; or "label", and its "name" if known.
  JsonObject JsonOf(std::int32_t token) const;

  /// The column of a token that is given by its text or its number. Throws InputError, naming the option, when there is
  /// none, or more than one.
  std::int32_t Find(const char* option, const std::string& text) const;

 private:
  bool HasNames() const { return tokenizer_ || !labels_.empty(); }
  std::string PieceOf(std::int32_t token) const;

  bool are_labels_;
  bool has_target_;  ///< of an encoder–decoder, whose logits are of tokens of the target
  Index count_;
  std::vector<std::string> labels_;
  std::optional<tokenizer::Tokenizer> tokenizer_;
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_OUTPUT_TOKENS_H_
