// SPDX-License-Identifier: Apache-2.0
/// Helpers for the text of error messages.
#ifndef HEADLENS_SRC_BASE_WORDS_H_
#define HEADLENS_SRC_BASE_WORDS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "headlens/error.h"

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

/// The same of names of the API.
template <class Items, class Name = std::identity>
Phrase JoinedNames(const Items& items, const Name& name = {}) {
  Phrase text;
  for (const auto& item : items) text = {text, text.empty() ? "" : ", ", Fragment::Name(std::invoke(name, item))};
  return text;
}

/// The one of `known` that is nearest to a name that there is not: the same letters, perhaps with one or two that were
/// forgotten, added or mistaken. Empty when none is near, or more than one.
std::string_view Nearest(std::string_view name, std::span<const std::string_view> known);

/// The kOption error of a name that is none of `known`: "unknown option "isCausal"; did you mean `is_causal`? Known
/// here: …". `kind` is what it would be a name of, and `more` follows the known ones.
Error UnknownName(const Fragment& kind, std::string_view name, std::span<const std::string_view> known,
                  const Fragment& more = "");

}  // namespace headlens

#endif  // HEADLENS_SRC_BASE_WORDS_H_
