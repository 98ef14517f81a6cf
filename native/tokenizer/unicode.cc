// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

namespace headlens::tokenizer {
namespace {

utf8proc_category_t CategoryOf(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

/// The length in bytes of an incomplete or invalid character at `text[at]`, at least 1: the longest part that could
/// begin a character.
std::size_t BrokenSize(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
  const unsigned lead = byte(0);
  if (lead < 0xC2 || lead > 0xF4) return 1;
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The range of the second byte excludes overlong forms, surrogates, and everything above U+10FFFF.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 1;
  std::size_t good = 2;
  while (good < size && (byte(good) & 0xC0U) == 0x80) ++good;
  return std::min(good, text.size() - at);
}

/// Sorts combining marks into their canonical order. (utf8proc uses insertion sort, which would take days for a long
/// run of marks.)
void Order(std::vector<utf8proc_int32_t>& codes) {
  const auto order = [](utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; };
  for (auto begin = codes.begin(); begin != codes.end();) {
    const auto end = std::find_if(begin, codes.end(), [&](auto code) { return order(code) == 0; });
    std::stable_sort(begin, end, [&](auto a, auto b) { return order(a) < order(b); });
    begin = end == codes.end() ? end : end + 1;
  }
}

std::vector<utf8proc_int32_t> Decomposed(std::string_view text, utf8proc_option_t options) {
  std::vector<utf8proc_int32_t> codes;
  codes.reserve(text.size());
  ForEachCharacter(text, [&](const Character& character, std::size_t) {
    std::array<utf8proc_int32_t, 32> parts;  // no character has more than 18 parts
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character.code), parts.data(),
                                                           parts.size(), options, &boundary);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(parts.size())) throw std::bad_alloc();
    codes.insert(codes.end(), parts.begin(), parts.begin() + count);
  });
  return codes;
}

}  // namespace

Character CharacterAt(std::string_view text, std::size_t at) {
  if (static_cast<unsigned char>(text[at]) < 0x80) return {static_cast<char32_t>(text[at])};
  utf8proc_int32_t code = 0;
  const auto left = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size() - at, 4));
  const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at, left, &code);
  if (size <= 0) return {U'\uFFFD', 1, false};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(size)};
}

void AppendUtf8(std::string& text, char32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes;
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
}

std::string ToValidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const Character character = CharacterAt(bytes, at);
    if (character.valid) {
      text.append(bytes.substr(at, character.size));
      at += character.size;
    } else {
      AppendUtf8(text, character.code);
      at += BrokenSize(bytes, at);
    }
  }
  return text;
}

void ForEachGrapheme(std::string_view text, const std::function<void(std::string_view)>& use) {
  std::size_t begin = 0;
  utf8proc_int32_t previous = 0, state = 0;
  ForEachCharacter(text, [&](const Character& character, std::size_t at) {
    const auto code = static_cast<utf8proc_int32_t>(character.code);
    if (at > 0 && utf8proc_grapheme_break_stateful(previous, code, &state)) {
      use(text.substr(begin, at - begin));
      begin = at;
    }
    previous = code;
  });
  if (begin < text.size()) use(text.substr(begin));
}

bool IsWhitespace(char32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  const utf8proc_category_t category = CategoryOf(code);
  return code == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool IsNumber(char32_t code) {
  const utf8proc_category_t category = CategoryOf(code);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool IsPunctuation(char32_t code) {
  if (code < 0x80)
    return (code > 32 && code < '0') || (code > '9' && code < 'A') || (code > 'Z' && code < 'a') ||
           (code > 'z' && code < 0x7F);
  const utf8proc_category_t category = CategoryOf(code);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool IsMark(char32_t code) {
  const utf8proc_category_t category = CategoryOf(code);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool IsNonspacing(char32_t code) { return CategoryOf(code) == UTF8PROC_CATEGORY_MN; }

bool IsOther(char32_t code) {
  const utf8proc_category_t category = CategoryOf(code);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

bool IsPrintable(char32_t code) {
  const utf8proc_category_t category = CategoryOf(code);
  return !IsOther(code) && category != UTF8PROC_CATEGORY_CN && category != UTF8PROC_CATEGORY_CS &&
         category != UTF8PROC_CATEGORY_ZL && category != UTF8PROC_CATEGORY_ZP;
}

std::string Normalized(std::string_view text, NormalForm form) {
  const bool compose = form == NormalForm::kC || form == NormalForm::kKC;
  const bool compatible = form == NormalForm::kKC || form == NormalForm::kKD;
  unsigned options = UTF8PROC_STABLE;
  options |= compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (compatible) options |= UTF8PROC_COMPAT;
  std::vector<utf8proc_int32_t> codes = Decomposed(text, static_cast<utf8proc_option_t>(options));
  Order(codes);
  auto count = static_cast<utf8proc_ssize_t>(codes.size());
  if (compose) count = utf8proc_normalize_utf32(codes.data(), count, static_cast<utf8proc_option_t>(options));
  if (count < 0) throw std::bad_alloc();
  std::string result;
  result.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    AppendUtf8(result, static_cast<char32_t>(codes[static_cast<std::size_t>(i)]));
  return result;
}

std::string Lowercase(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  ForEachCharacter(text, [&](const Character& character, std::size_t) {
    // The only character whose lower case has two characters in every language (SpecialCasing.txt).
    if (character.code == 0x130) {
      result += "i\u0307";
    } else {
      AppendUtf8(result, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character.code))));
    }
  });
  return result;
}

std::size_t LeadingWhitespace(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = CharacterAt(text, at);
    if (!IsWhitespace(character.code)) break;
    at += character.size;
  }
  return at;
}

std::size_t TrailingWhitespace(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t at = end - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) --at;
    if (!IsWhitespace(CharacterAt(text, at).code)) break;
    end = at;
  }
  return text.size() - end;
}

}  // namespace headlens::tokenizer
