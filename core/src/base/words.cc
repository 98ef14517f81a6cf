// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <algorithm>

namespace headlens {

std::string Quoted(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::size_t end = std::min(text.size(), kMost);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  std::string quoted = "\"";
  for (const char c : text.substr(0, end)) quoted += static_cast<unsigned char>(c) >= ' ' && c != 0x7F ? c : '?';
  return quoted + (end < text.size() ? "…\"" : "\"");
}

}  // namespace headlens
