// SPDX-License-Identifier: Apache-2.0
/// UTF-8, and the properties of Unicode's characters, from utf8proc's tables.
#ifndef HEADLENS_NATIVE_TOKENIZER_UNICODE_H_
#define HEADLENS_NATIVE_TOKENIZER_UNICODE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace headlens::tokenizer {

/// A character and its size in bytes. A byte that belongs to no character gives U+FFFD, size 1, and `valid` is false.
struct Character {
  char32_t code = 0;
  std::size_t size = 1;
  bool valid = true;
};

/// The character at `text[at]`, which must lie inside the text.
Character CharacterAt(std::string_view text, std::size_t at);

void AppendUtf8(std::string& text, char32_t code);

/// The text as valid UTF-8. Incomplete characters become U+FFFD, one for each longest part that could begin a
/// character, as in the WHATWG's decoders.
std::string ToValidUtf8(std::string_view bytes);

/// Calls `use(character, offset)` for each character of `text`.
template <class Use>
void ForEachCharacter(std::string_view text, const Use& use) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    use(character, at);
    at += character.size;
  }
}

/// Calls `use(grapheme)` for each character as readers see it, by Unicode's rules for extended grapheme clusters.
void ForEachGrapheme(std::string_view text, const std::function<void(std::string_view)>& use);

bool IsWhitespace(char32_t code);   ///< White_Space
bool IsNumber(char32_t code);       ///< Nd, Nl, No
bool IsPunctuation(char32_t code);  ///< P, or one of ASCII's
bool IsMark(char32_t code);         ///< M
bool IsNonspacing(char32_t code);   ///< Mn
bool IsOther(char32_t code);        ///< Cc, Cf, Co
bool IsPrintable(char32_t code);    ///< not C, Zl or Zp

enum class NormalForm { kC, kD, kKC, kKD };

/// The text in one of Unicode's normal forms, in time O(n log n) for any text.
std::string Normalized(std::string_view text, NormalForm form);

/// Lower case of each character on its own, without rules for final sigma or for languages.
std::string Lowercase(std::string_view text);

std::size_t LeadingWhitespace(std::string_view text);   ///< in bytes
std::size_t TrailingWhitespace(std::string_view text);  ///< in bytes

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_UNICODE_H_
