// SPDX-License-Identifier: Apache-2.0
#include "cli/output_tokens.h"

#include <charconv>
#include <filesystem>

#include "base/words.h"
#include "cli/commands.h"
#include "cli/show.h"
#include "cli/text.h"
#include "headlens/folder.h"

namespace headlens::cli {

OutputTokens::OutputTokens(const std::string& folder, const ModelInfo& info)
    : are_labels_(info.image_size > 0),
      has_target_(info.encoder_layers > 0),
      count_(info.logits),
      labels_(info.labels) {
  std::error_code unreadable;
  if (!are_labels_ && std::filesystem::exists(folder + "/" + kTokenizerFile, unreadable))
    tokenizer_.emplace(LoadTokenizer(folder));
}

/// The first token of a text may lose its space, so that the one that is wanted stands second.
std::string OutputTokens::PieceOf(std::int32_t token) const {
  if (!labels_.empty()) return labels_[static_cast<std::size_t>(token)];
  const std::int32_t twice[] = {token, token};
  return (has_target_ ? tokenizer_->target() : *tokenizer_).Pieces(twice)[1];
}

std::string OutputTokens::NameOf(std::int32_t token) const {
  if (!HasNames()) return std::to_string(token);
  return are_labels_ ? Shown(PieceOf(token)) : ShownToken(PieceOf(token));
}

Cells OutputTokens::CellsOf(std::int32_t token) const {
  if (!HasNames()) return {std::to_string(token)};
  return {std::to_string(token), NameOf(token)};
}

Cells OutputTokens::Titles() const {
  if (are_labels_) return HasNames() ? Cells{"label", "name"} : Cells{"label"};
  return tokenizer_ ? Cells{"id", "token"} : Cells{"id"};
}

JsonObject OutputTokens::JsonOf(std::int32_t token) const {
  JsonObject json;
  json.Add(are_labels_ ? "label" : "token", token);
  if (HasNames()) json.Add(are_labels_ ? "name" : "piece", PieceOf(token));
  return json;
}

std::int32_t OutputTokens::Find(const char* option, const std::string& text) const {
  std::int32_t token = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), token);
  if (failed == std::errc{} && end == text.data() + text.size()) {
    if (token >= 0 && token < count_) return token;
    throw InputError(ValueError(option, token, {"0 to ", count_ - 1}));
  }
  if (!HasNames()) {
    throw InputError(
        ValueError(option, Quoted(text), {"a number from 0 to ", count_ - 1, ", since there are no texts"}));
  }
  Index found = 0;
  for (std::int32_t other = 0; other < count_; ++other) {
    if (PieceOf(other) != text) continue;
    token = other;
    ++found;
  }
  if (found == 1) return token;
  const Phrase expected = {are_labels_ ? "the name of " : "the text of ",
                           found > 0     ? "only one"
                           : are_labels_ ? "a label"
                                         : "a token, with its space if it begins with one",
                           ", or a number from 0 to ", count_ - 1};
  throw InputError(ValueError(option, Quoted(text), expected));
}

}  // namespace headlens::cli
