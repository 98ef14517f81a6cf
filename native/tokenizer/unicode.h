// SPDX-License-Identifier: Apache-2.0
/// UTF-8 and what Unicode says of its characters. The tables are utf8proc's.
#ifndef HEADLENS_NATIVE_TOKENIZER_UNICODE_H_
#define HEADLENS_NATIVE_TOKENIZER_UNICODE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace headlens::tokenizer {

/// A character and the bytes that it takes. Bytes that are no character: U+FFFD, one byte, and `valid` is false.
struct Character {
  char32_t code = 0;
  std::size_t size = 1;
  bool valid = true;
};

/// The character at `text[at]`; `at` must lie inside.
Character CharacterAt(std::string_view text, std::size_t at);

void AppendUtf8(std::string& text, char32_t code);

/// The text as UTF-8: the longest beginnings of characters that bytes cut short show U+FFFD, as the WHATWG's decoders
/// do.
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

bool IsWhitespace(char32_t code);   ///< White_Space
bool IsNumber(char32_t code);       ///< Nd, Nl, No
bool IsPunctuation(char32_t code);  ///< P, or one of ASCII's
bool IsMark(char32_t code);         ///< M
bool IsNonspacing(char32_t code);   ///< Mn
bool IsOther(char32_t code);        ///< Cc, Cf, Co
bool IsPrintable(char32_t code);    ///< neither C nor Zl nor Zp

enum class NormalForm { kC, kD, kKC, kKD };

/// One of Unicode's normal forms, in time O(n log n) whatever the text.
std::string Normalized(std::string_view text, NormalForm form);

/// Each character by itself: no final sigma, no language.
std::string Lowercase(std::string_view text);

std::size_t LeadingWhitespace(std::string_view text);   ///< in bytes
std::size_t TrailingWhitespace(std::string_view text);  ///< in bytes

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_UNICODE_H_
