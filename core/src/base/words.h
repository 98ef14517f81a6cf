// SPDX-License-Identifier: Apache-2.0
/// Words in messages.
#ifndef HEADLENS_SRC_BASE_WORDS_H_
#define HEADLENS_SRC_BASE_WORDS_H_

#include <functional>
#include <string>
#include <string_view>

namespace headlens {

/// Text from outside, fit for one line of a message: in quotes, at most 80 bytes of it, control characters as "?".
std::string Quoted(std::string_view text);

/// "a, b, c": the name of each of `items`.
template <class Items, class Name = std::identity>
std::string Joined(const Items& items, const Name& name = {}) {
  std::string text;
  for (const auto& item : items) text.append(text.empty() ? "" : ", ").append(std::invoke(name, item));
  return text;
}

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_WORDS_H_
