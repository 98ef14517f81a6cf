// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_letters.h"

#include <array>

#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

constexpr std::array<char16_t, 256> kLetters = [] {
  std::array<char16_t, 256> letters{};
  char16_t next = 256;
  for (char16_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    letters[byte] = is_printable ? byte : next++;
  }
  return letters;
}();

/// The byte of each letter, all of which are below U+0180; -1 for other characters.
constexpr std::array<int, 0x180> kBytes = [] {
  std::array<int, 0x180> bytes{};
  for (int& byte : bytes) byte = -1;
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[kLetters[byte]] = static_cast<int>(byte);
  return bytes;
}();

}  // namespace

std::string ByteLetters(std::string_view bytes) {
  std::string letters;
  letters.reserve(2 * bytes.size());
  for (const char byte : bytes) AppendUtf8(letters, kLetters[static_cast<unsigned char>(byte)]);
  return letters;
}

std::optional<std::string> BytesOfLetters(std::string_view letters) {
  std::string bytes;
  bool all = true;
  ForEachCharacter(letters, [&](const Character& character, std::size_t) {
    const int byte = character.code < kBytes.size() ? kBytes[character.code] : -1;
    all = all && byte >= 0;
    bytes += static_cast<char>(byte);
  });
  return all ? std::optional(bytes) : std::nullopt;
}

}  // namespace headlens::tokenizer
