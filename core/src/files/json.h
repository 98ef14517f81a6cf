// SPDX-License-Identifier: Apache-2.0
/// Parses JSON from outside, and reads its fields with one set of error messages.
#ifndef HEADLENS_SRC_FILES_JSON_H_
#define HEADLENS_SRC_FILES_JSON_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words.h"
#include "headlens/error.h"
#include "nlohmann/json.hpp"

namespace headlens {

/// Parses an object that is nested at most `deepest` deep, since functions that copy and print values recurse. Throws
/// kFormat, with the name `what`, for anything else and for a name that occurs twice.
nlohmann::json ParseObject(std::string_view text, const std::string& what, std::size_t deepest = 64);

/// A value as error messages show it: short, and on one line.
std::string Shown(const nlohmann::json& value);

/// A value and its place in a document, such as "config.json: rope_scaling.factor", for error messages. Refers to the
/// document. An absent field is null.
class JsonField {
 public:
  /// The largest whole number that every JSON reader reads exactly.
  static constexpr std::int64_t kMostWhole = std::int64_t{1} << 53;

  /// `name` comes before the names of all fields inside: "config.json: ", or nothing. A wrong value throws `wrong`. A
  /// missing value throws kFormat, or kOption when `wrong` is kOption.
  JsonField(const nlohmann::json& value, Phrase name, ErrorCode wrong)
      : value_(&value), name_(std::move(name)), wrong_(wrong) {}

  const Phrase& name() const { return name_; }
  const nlohmann::json& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }

  /// The member of an object.
  JsonField operator[](std::string_view key) const;
  /// The same for a key from outside, which errors show in quotes, as they do every text from there.
  JsonField Named(std::string_view key) const;
  /// The number of items of a list; 0 for null.
  std::size_t ListSize() const;
  JsonField Element(std::size_t index) const;

  // Each of these throws for a value of another kind. Those with a fallback return it for null.

  bool Flag() const;
  bool Flag(bool fallback) const { return is_null() ? fallback : Flag(); }
  const std::string& Text() const;
  std::string Text(std::string_view fallback) const { return is_null() ? std::string(fallback) : Text(); }
  /// A whole number.
  std::int64_t Whole(std::int64_t least, std::int64_t most = kMostWhole) const;
  /// A finite number.
  double Number() const;
  /// A number that is computed with in fp32. Throws when it would become infinite or 0 there.
  float Single() const;
  /// A finite number greater than 0.
  double Positive() const;
  double Positive(double fallback) const { return is_null() ? fallback : Positive(); }
  /// The value that a text stands for. Throws kUnsupported, listing all choices, for another text.
  template <class T>
  T Choice(std::optional<std::string_view> fallback, std::initializer_list<std::pair<const char*, T>> choices) const {
    const std::string_view text = fallback && is_null() ? *fallback : std::string_view(Text());
    for (const auto& [name, value] : choices)
      if (text == name) return value;
    Refuse(Joined(choices, [](const auto& choice) { return Quoted(choice.first); }));
  }

  /// Throws kUnsupported for any value but null and `supported`.
  void Require(const nlohmann::json& supported) const;

  /// Throws "NAME is VALUE, expected WHAT".
  [[noreturn]] void Fail(const Fragment& expected) const;
  /// Throws kUnsupported for a valid value that headlens does not support: "NAME is VALUE, supported is WHAT".
  [[noreturn]] void Refuse(const Fragment& supported) const;

 private:
  const nlohmann::json* value_;
  Phrase name_;
  ErrorCode wrong_;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_FILES_JSON_H_
