// SPDX-License-Identifier: Apache-2.0
/// Reading the fields of tokenizer.json, with errors that name the field, what it was and what was expected.
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

/// At most about 60 bytes of the text, in quotes, whatever it holds.
std::string Quoted(std::string_view text);

/// A value and where it stands. Refers to the document. Whatever does not fit throws Error(kFormat).
class Field {
 public:
  Field(const nlohmann::json& value, std::string name) : value_(value), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const nlohmann::json& value() const { return value_; }
  bool is_null() const { return value_.is_null(); }

  Field At(const char* key) const;         ///< null when there is none
  Field Element(std::size_t index) const;  ///< of a list; null beyond its end
  std::size_t ListSize() const;            ///< 0 for null

  const std::string& String() const;
  std::string StringOr(const std::string& otherwise) const { return is_null() ? otherwise : String(); }
  bool BoolOr(bool otherwise) const;
  std::int64_t Whole(std::int64_t least, std::int64_t most) const;
  Id ToId() const;

  /// "NAME is VALUE, expected WHAT".
  [[noreturn]] void Fail(const std::string& expected) const;
  /// Error(kUnsupported), for what is right but not offered here: "NAME is VALUE; this program knows WHAT".
  [[noreturn]] void Refuse(const std::string& known) const;

 private:
  const nlohmann::json& value_;
  std::string name_;
};

/// The kind of step, its "type". Field must be an object.
const std::string& TypeOf(const Field& step);

/// The steps of `root`, in their order, with Sequences of Sequences (in the field `list`) taken apart. Null has none.
void ForEachStep(const Field& root, const char* list, const std::function<void(const Field&)>& use);

/// What `kinds` makes of a step: a map from types to functions of a Field. Throws Error(kUnsupported) for other types.
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
