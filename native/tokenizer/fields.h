// SPDX-License-Identifier: Apache-2.0
/// Reads the fields of tokenizer.json. Errors name the field, its value and what was expected.
#ifndef HEADLENS_NATIVE_TOKENIZER_FIELDS_H_
#define HEADLENS_NATIVE_TOKENIZER_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace headlens::tokenizer {

using Id = std::int32_t;

/// At most about 60 bytes of the text, in quotes, safe to show.
std::string Quoted(std::string_view text);

/// A value and its place in the document, which it refers to. Throws Error(kFormat) for a value of the wrong kind.
class Field {
 public:
  Field(const nlohmann::json& value, std::string name) : value_(value), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const nlohmann::json& value() const { return value_; }
  bool is_null() const { return value_.is_null(); }

  Field At(const char* key) const;         ///< null when there is no such key
  Field Element(std::size_t index) const;  ///< of a list; null beyond its end
  std::size_t ListSize() const;            ///< 0 for null

  const std::string& String() const;
  std::string StringOr(const std::string& otherwise) const { return is_null() ? otherwise : String(); }
  bool BoolOr(bool otherwise) const;
  std::int64_t Whole(std::int64_t least, std::int64_t most) const;
  Id ToId() const;

  /// Throws "NAME is VALUE, expected WHAT".
  [[noreturn]] void Fail(const std::string& expected) const;
  /// Throws Error(kUnsupported) for a valid value that this program does not support: "NAME is VALUE; this program
  /// knows WHAT".
  [[noreturn]] void Refuse(const std::string& known) const;

 private:
  const nlohmann::json& value_;
  std::string name_;
};

/// The "type" of a step, which must be an object.
const std::string& TypeOf(const Field& step);

/// Calls `use` for each step of `root`, in order. Sequences, whose steps are in the field `list`, are unpacked at any
/// depth. Null has no steps.
void ForEachStep(const Field& root, const char* list, const std::function<void(const Field&)>& use);

/// Makes a step with the function that `kinds`, a map from types to functions of a Field, has for its type. Throws
/// Error(kUnsupported) for other types.
template <class Kinds>
auto Make(const Kinds& kinds, const Field& step) {
  const auto kind = kinds.find(TypeOf(step));
  if (kind == kinds.end()) {
    std::string names;
    for (const auto& [name, make] : kinds) names += (names.empty() ? "" : ", ") + std::string(name);
    step.At("type").Refuse(names);
  }
  return kind->second(step);
}

}  // namespace headlens::tokenizer

#endif  // HEADLENS_NATIVE_TOKENIZER_FIELDS_H_
