// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace headlens {
namespace {

/// Without underscores, and in lower case.
std::string Letters(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (c != '_') letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return letters;
}

/// The number of letters that have to be added, removed or changed (Levenshtein 1966).
std::size_t Distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::size_t end = std::min(text.size(), kMost);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  std::string quoted = "\"";
  for (const char c : text.substr(0, end)) quoted += static_cast<unsigned char>(c) >= ' ' && c != 0x7F ? c : '?';
  return quoted + (end < text.size() ? "…\"" : "\"");
}

std::string_view Nearest(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 40, kMost = 2;  // longer names are none of ours
  const std::string letters = Letters(name.substr(0, kLongest + 1));
  if (letters.size() > kLongest) return {};
  std::size_t least = std::min(kMost, letters.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string_view one : known) {
    const std::size_t distance = Distance(letters, Letters(one));
    if (distance > least) continue;
    nearest = distance < least ? one : std::string_view();
    least = distance;
  }
  return nearest;
}

Error UnknownName(const Fragment& kind, std::string_view name, std::span<const std::string_view> known,
                  const Fragment& more) {
  const std::string_view nearest = Nearest(name, known);
  const Phrase suggestion =
      nearest.empty() ? Phrase("; known here: ") : Phrase{"; did you mean ", Fragment::Name(nearest), "? Known here: "};
  const Phrase all = {JoinedNames(known), more};
  return {ErrorCode::kOption, name, {}, all, {"unknown ", kind, " ", Quoted(name), suggestion, all}};
}

}  // namespace headlens
