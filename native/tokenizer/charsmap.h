// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_CHARSMAP_H_
#define HEADLENS_NATIVE_TOKENIZER_CHARSMAP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/fields.h"

namespace headlens::tokenizer {

/// SentencePiece's table of texts and their replacements. Its bytes are the size of a trie, the trie as a double array
/// (https://github.com/s-yata/darts-clone), and the replacements, each of which ends in a zero byte.
class Charsmap {
 public:
  /// Reads the Base64 of tokenizer.json. Throws Error(kFormat) unless every step through the trie stays inside it, and
  /// every replacement inside the text.
  explicit Charsmap(const JsonField& field);

  /// The replacement of the shortest beginning of `text` that has one. The rest of `text` does not count: Hugging
  /// Face's library looks up a grapheme as a whole, and replaces all of it.
  std::optional<std::string_view> Find(std::string_view text) const;

 private:
  void Check(const JsonField& field) const;

  std::vector<std::uint32_t> trie_;
  std::string replacements_;
};

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_CHARSMAP_H_
