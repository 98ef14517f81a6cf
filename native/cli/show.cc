// SPDX-License-Identifier: Apache-2.0
#include "cli/show.h"

#include <array>
#include <cstdio>

#include "tokenizer/unicode.h"

namespace headlens::cli {
namespace {

std::string Formatted(const char* format, unsigned number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

/// `text` with every character that is not printable replaced by the result of `mark(character, byte)`.
template <class Mark>
std::string Marked(std::string_view text, std::string_view kept, const Mark& mark) {
  std::string shown;
  shown.reserve(text.size());
  tokenizer::ForEachCharacter(text, [&](const tokenizer::Character& character, std::size_t at) {
    const bool stays = character.valid && (tokenizer::IsPrintable(character.code) ||
                                           (character.size == 1 && kept.find(text[at]) != kept.npos));
    if (stays) {
      shown.append(text.substr(at, character.size));
    } else {
      shown += mark(character, static_cast<unsigned char>(text[at]));
    }
  });
  return shown;
}

}  // namespace

std::string Shown(std::string_view text, std::string_view kept) {
  return Marked(text, kept, [](const tokenizer::Character& character, unsigned byte) {
    return character.valid ? Formatted("⟨U+%04X⟩", character.code) : Formatted("⟨%02X⟩", byte);
  });
}

std::string ShownToken(std::string_view token) {
  constexpr int kLongest = 20;
  if (token.empty()) return "∅";
  std::string label;
  int characters = 0;
  const std::string shown = Shown(token);
  tokenizer::ForEachCharacter(shown, [&](const tokenizer::Character& character, std::size_t at) {
    if (++characters <= kLongest) label += shown[at] == ' ' ? "·" : shown.substr(at, character.size);
  });
  return characters > kLongest ? label + "…" : label;
}

std::string EscapedMarkup(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'') {
      escaped += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string ShownJson(std::string_view json) {
  return Marked(json, "\n", [](const tokenizer::Character& character, unsigned) {
    const unsigned code = character.code;
    if (code < 0x10000) return Formatted("\\u%04x", code);
    return Formatted("\\u%04x", 0xD7C0 + (code >> 10)) + Formatted("\\u%04x", 0xDC00 + (code & 0x3FF));
  });
}

std::string ShownCsv(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r\n";
  const std::size_t first = text.find_first_not_of('\'');
  std::string cell = first != text.npos && kFormula.find(text[first]) != kFormula.npos ? "\"'" : "\"";
  for (const char c : Shown(text, "\t\r\n")) cell.append(c == '"' ? 2 : 1, c);
  return cell + '"';
}

}  // namespace headlens::cli
