// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_NATIVE_TOKENIZER_BYTE_LETTERS_H_
#define HEADLENS_NATIVE_TOKENIZER_BYTE_LETTERS_H_

#include <optional>
#include <string>
#include <string_view>

namespace headlens::tokenizer {

/// Each byte as one printable character, as GPT-2 writes its vocabulary: itself if it is printable in Latin-1, else the
/// next from U+0100.
std::string ByteLetters(std::string_view bytes);

/// The bytes of such a text; none when a character stands for no byte.
std::optional<std::string> BytesOfLetters(std::string_view letters);

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_BYTE_LETTERS_H_
