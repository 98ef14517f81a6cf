// SPDX-License-Identifier: Apache-2.0
#include "cli/json_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "cli/show.h"

namespace headlens::cli {

void AppendNumber(std::string& text, float value) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  std::array<char, 32> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void AppendRows(std::string& text, View<const float, 2> rows) {
  AppendList(text, rows.shape[0],
             [&](Index i) { AppendList(text, rows.shape[1], [&](Index j) { AppendNumber(text, rows(i, j)); }); });
}

std::string& JsonObject::Named(std::string_view name) {
  members_.append(members_.empty() ? "\"" : ",\"").append(name).append("\":");
  return members_;
}

void JsonObject::Add(std::string_view name, const nlohmann::ordered_json& value) {
  Named(name) += ShownJson(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void JsonObject::AddNumber(std::string_view name, float value) { AppendNumber(Named(name), value); }

void JsonObject::AddNumbers(std::string_view name, std::span<const float> values) {
  std::string& text = Named(name);
  AppendList(text, static_cast<Index>(values.size()),
             [&](Index i) { AppendNumber(text, values[static_cast<std::size_t>(i)]); });
}

void JsonObject::AddRows(std::string_view name, View<const float, 2> rows) { AppendRows(Named(name), rows); }

void JsonObject::AddObject(std::string_view name, const JsonObject& object) { Named(name) += object.text(); }

void JsonObject::AddObjects(std::string_view name, std::span<const JsonObject> objects) {
  std::string& text = Named(name);
  AppendList(text, static_cast<Index>(objects.size()),
             [&](Index i) { text += objects[static_cast<std::size_t>(i)].text(); });
}

}  // namespace headlens::cli
