// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_ADDED_TOKENS_H_
#define HEADLENS_NATIVE_TOKENIZER_ADDED_TOKENS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/fields.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"

namespace headlens::tokenizer {

/// A part of a text: an added token, or what lies between two.
struct Section {
  std::string text;
  std::optional<Id> id;
  bool is_first;  ///< it begins where the text begins
};

/// Tokens that are found in a text before all else: special ones, and words that were added to a vocabulary.
class AddedTokens {
 public:
  /// From tokenizer.json's "added_tokens", which may be null. Throws Error.
  AddedTokens(const Field& field, const Vocabulary& vocabulary, const Normalizer& normalizer);

  /// Cuts a text at the tokens that stand in it as it was written, or as it is when normalized.
  std::vector<Section> Split(const Section& text, bool normalized) const;
  /// Null when no added token has the id.
  const std::string* TokenOf(Id id) const;

 private:
  struct Token {
    std::string content;
    Id id;
    bool single_word, strip_left, strip_right;
  };
  /// Next states by byte. State 0 is the root, of no byte read.
  struct State {
    std::map<char, std::size_t> next;
    const Token* token = nullptr;
  };
  using Trie = std::vector<State>;

  void Add(const Field& field, const Vocabulary& vocabulary, const Normalizer& normalizer, Steps& steps);
  static void Insert(Trie& trie, std::string_view content, const Token* token);

  std::map<Id, Token> tokens_;
  Trie written_ = Trie(1), normalized_ = Trie(1);
};

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_ADDED_TOKENS_H_
