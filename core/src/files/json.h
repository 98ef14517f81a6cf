// SPDX-License-Identifier: Apache-2.0
/// JSON from outside: parsed, and read field by field with one set of messages.
#ifndef HEADLENS_SRC_FILES_JSON_H_
#define HEADLENS_SRC_FILES_JSON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words.h"
#include "headlens/error.h"
#include "nlohmann/json.hpp"

namespace headlens {

/// Parses an object, at most `deepest` deep, since values are copied and shown by functions that recurse. Throws
/// kFormat, calling it `what`, for anything else, and for a name that stands in it twice.
nlohmann::json ParseObject(std::string_view text, const std::string& what, std::size_t deepest = 64);

/// A value in a message: short, and on one line.
std::string Shown(const nlohmann::json& value);

/// A value and its place in a document, which messages name: "config.json: rope_scaling.factor". Refers to the
/// document. A field that is absent is null.
class JsonField {
 public:
  /// The largest whole number that every reader of JSON takes as it is written.
  static constexpr std::int64_t kMostWhole = std::int64_t{1} << 53;

  /// `name` begins the name of whatever is inside: "config.json: ", or nothing. A value that is not as it should be
  /// throws `wrong`; one that is missing throws kFormat, or kOption where that is what all errors are.
  JsonField(const nlohmann::json& value, std::string name, ErrorCode wrong)
      : value_(&value), name_(std::move(name)), wrong_(wrong) {}

  const std::string& name() const { return name_; }
  const nlohmann::json& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }

  /// The member of an object.
  JsonField operator[](std::string_view key) const;
  /// The size of a list, and what stands in it. Null is an empty list.
  std::size_t ListSize() const;
  JsonField Element(std::size_t index) const;

  // Each of these throws for a value of another kind. Those with a fallback take null for it.

  bool Flag() const;
  bool Flag(bool fallback) const { return is_null() ? fallback : Flag(); }
  const std::string& Text() const;
  std::string Text(std::string_view fallback) const { return is_null() ? std::string(fallback) : Text(); }
  /// A whole number.
  std::int64_t Whole(std::int64_t least, std::int64_t most = kMostWhole) const;
  /// A finite number.
  double Number() const;
  /// A number that is computed with in fp32: one that would become infinite or 0 there is refused.
  float Single() const;
  /// A finite number greater than 0.
  double Positive() const;
  double Positive(double fallback) const { return is_null() ? fallback : Positive(); }
  /// The value that a text stands for. Throws kUnsupported, naming all the choices there are.
  template <class T>
  T Choice(std::optional<std::string_view> fallback, const std::vector<std::pair<const char*, T>>& choices) const {
    const std::string_view text = fallback && is_null() ? *fallback : std::string_view(Text());
    for (const auto& [name, value] : choices)
      if (text == name) return value;
    Refuse(Joined(choices, [](const auto& choice) { return Quoted(choice.first); }));
  }

  /// Throws kUnsupported for any other value than null and `supported`.
  void Require(const nlohmann::json& supported) const;

  /// "NAME is VALUE, expected WHAT".
  [[noreturn]] void Fail(const std::string& expected) const;
  /// kUnsupported, for what is right but not offered: "NAME is VALUE, supported is WHAT".
  [[noreturn]] void Refuse(const std::string& supported) const;

 private:
  const nlohmann::json* value_;
  std::string name_;
  ErrorCode wrong_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_FILES_JSON_H_
