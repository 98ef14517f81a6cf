// SPDX-License-Identifier: Apache-2.0
/// Helpers for the text of error messages.
#ifndef HEADLENS_SRC_BASE_WORDS_H_
#define HEADLENS_SRC_BASE_WORDS_H_

#include <functional>
#include <string>
#include <string_view>

namespace headlens {

/// A text from outside that is safe to show in a message: in quotes, at most 80 bytes, with control characters as "?".
std::string Quoted(std::string_view text);

/// The names of all items, as "a, b, c".
template <class Items, class Name = std::identity>
std::string Joined(const Items& items, const Name& name = {}) {
  std::string text;
  for (const auto& item : items) text.append(text.empty() ? "" : ", ").append(std::invoke(name, item));
  return text;
}

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_WORDS_H_
