// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/charsmap.h"

#include "tokenizer/unicode.h"

namespace headlens::tokenizer {
namespace {

constexpr std::size_t kUnitSize = 4;
constexpr std::uint32_t kValue = 0x7FFFFFFF;  ///< the bits of a value; the remaining one marks units that are values

/// A unit of the double array is a node, with the label that leads to it and the way to its children, or a value.
bool IsValue(std::uint32_t unit) { return (unit & ~kValue) != 0; }
std::uint32_t LabelOf(std::uint32_t unit) { return unit & (~kValue | 0xFFU); }
bool HasValue(std::uint32_t node) { return (node >> 8 & 1U) != 0; }
/// The place of a node's value. Its child for a byte is at this place XOR the byte.
std::size_t BaseOf(std::size_t place, std::uint32_t node) {
  return place ^ (std::size_t{node >> 10} << ((node & 1U << 9) >> 6));
}

std::optional<std::string> FromBase64(std::string_view text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = i + padding < text.size() ? kDigits.find(text[i]) : 0;
    if (digit == kDigits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (i % 4 < 3) continue;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(bits >> shift & 0xFFU);
    bits = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

std::uint32_t UnitAt(std::string_view bytes, std::size_t at) {
  std::uint32_t unit = 0;
  for (std::size_t i = kUnitSize; i > 0; --i) unit = unit << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  return unit;
}

}  // namespace

Charsmap::Charsmap(const JsonField& field) {
  const std::optional<std::string> bytes = FromBase64(field.Text());
  if (!bytes) field.Fail("Base64");
  if (bytes->size() < kUnitSize) field.Fail("the size of a trie, and a trie");
  const std::size_t size = UnitAt(*bytes, 0);
  if (size % kUnitSize != 0 || size > bytes->size() - kUnitSize) {
    field.Fail("a trie of " + std::to_string(size) + " bytes, a multiple of 4, as it says itself");
  }
  trie_.reserve(size / kUnitSize);
  for (std::size_t at = kUnitSize; at < kUnitSize + size; at += kUnitSize) trie_.push_back(UnitAt(*bytes, at));
  replacements_ = bytes->substr(kUnitSize + size);
  Check(field);
}

void Charsmap::Check(const JsonField& field) const {
  if (trie_.empty()) field.Fail("a trie that is not empty");
  if (ToValidUtf8(replacements_) != replacements_) field.Fail("replacements in UTF-8");
  for (std::size_t place = 0; place < trie_.size(); ++place) {
    if (IsValue(trie_[place])) continue;
    const std::size_t base = BaseOf(place, trie_[place]);
    if ((base | 0xFFU) >= trie_.size()) {
      field.Fail("a trie of nodes inside it; that of unit " + std::to_string(place) + " has children outside");
    }
    if (!HasValue(trie_[place])) continue;
    const std::size_t value = trie_[base] & kValue;
    const bool is_inside =
        value < replacements_.size() && (static_cast<unsigned char>(replacements_[value]) & 0xC0U) != 0x80;
    if (!is_inside) {
      field.Fail("places of characters of the replacements; unit " + std::to_string(base) + " has " +
                 std::to_string(value));
    }
  }
}

std::optional<std::string_view> Charsmap::Find(std::string_view text) const {
  std::size_t place = BaseOf(0, trie_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    place ^= byte;
    if (byte == 0 || LabelOf(trie_[place]) != byte) return std::nullopt;
    const bool has_value = HasValue(trie_[place]);
    place = BaseOf(place, trie_[place]);
    if (!has_value) continue;
    const std::string_view replacement = std::string_view(replacements_).substr(trie_[place] & kValue);
    return replacement.substr(0, replacement.find('\0'));
  }
  return std::nullopt;
}

}  // namespace headlens::tokenizer
