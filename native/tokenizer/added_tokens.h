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

/// A part of a text: an added token, or the text between two of them.
struct Section {
  std::string text;  ///< of an added token: none
  std::optional<Id> id;
  bool is_first;  ///< true at the beginning of the text
};

/// Tokens that are searched for in a text before anything else: special tokens and words that were added to a
/// vocabulary.
class AddedTokens {
 public:
  /// Reads "added_tokens" of tokenizer.json, which may be null. Throws Error.
  AddedTokens(const JsonField& field, const Vocabulary& vocabulary, const Normalizer& normalizer);

  /// Cuts a text at the tokens that it contains. `normalized` chooses the tokens that are searched for in the
  /// normalized text instead of the original.
  std::vector<Section> Split(const Section& text, bool normalized) const;
  /// Null when no added token has the id.
  const std::string* TokenOf(Id id) const;

 private:
  struct Token {
    std::string content;
    Id id;
    bool single_word, strip_left, strip_right;
  };
  /// A state of the automaton, with the next state for each byte. State 0 is the root, before any byte.
  struct State {
    std::map<char, std::size_t> next;
    const Token* token = nullptr;
  };
  using Trie = std::vector<State>;

  void Add(const JsonField& field, const Vocabulary& vocabulary, const Normalizer& normalizer, Steps& steps);
  static void Insert(Trie& trie, std::string_view content, const Token* token);

  std::map<Id, Token> tokens_;
  Trie written_ = Trie(1), normalized_ = Trie(1);
};

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_ADDED_TOKENS_H_
