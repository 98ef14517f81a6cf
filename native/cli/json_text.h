// SPDX-License-Identifier: Apache-2.0
/// JSON that is written number by number: a tree of millions of numbers would take several times the memory.
#ifndef HEADLENS_NATIVE_CLI_JSON_TEXT_H_
#define HEADLENS_NATIVE_CLI_JSON_TEXT_H_

#include <span>
#include <string>
#include <string_view>

#include "headlens/tensor.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {

/// Appends a number with as few digits as identify it exactly; null for infinities and NaN, which JSON does not have.
void AppendNumber(std::string& text, float value);

/// Appends "[…,…]" with `count` parts; `append(i)` writes part i.
template <class Append>
void AppendList(std::string& text, Index count, const Append& append) {
  text += '[';
  for (Index i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    append(i);
  }
  text += ']';
}

/// Appends a list of lists.
void AppendRows(std::string& text, View<const float, 2> rows);

/// An object that is written member by member. Texts in it are safe to print.
class JsonObject {
 public:
  void Add(std::string_view name, const nlohmann::ordered_json& value);
  void AddNumber(std::string_view name, float value);
  void AddNumbers(std::string_view name, std::span<const float> values);
  void AddRows(std::string_view name, View<const float, 2> rows);
  void AddObject(std::string_view name, const JsonObject& object);
  void AddObjects(std::string_view name, std::span<const JsonObject> objects);

  std::string text() const { return "{" + members_ + "}"; }

 private:
  /// Begins a member.
  std::string& Named(std::string_view name);

  std::string members_;
};

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_JSON_TEXT_H_
