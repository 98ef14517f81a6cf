// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_BYTE_LETTERS_H_
#define HEADLENS_NATIVE_TOKENIZER_BYTE_LETTERS_H_

#include <optional>
#include <string>
#include <string_view>

namespace headlens::tokenizer {

/// Writes each byte as one printable character, as in GPT-2's vocabulary: the Latin-1 character of the byte if it is
/// printable, and otherwise the next unused one from U+0100 on.
std::string ByteLetters(std::string_view bytes);

/// The bytes of a text that ByteLetters wrote, or nothing when it contains another character.
std::optional<std::string> BytesOfLetters(std::string_view letters);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_BYTE_LETTERS_H_
