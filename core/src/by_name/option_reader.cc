// SPDX-License-Identifier: Apache-2.0
#include "by_name/option_reader.h"

#include <algorithm>
#include <set>

#include "base/words.h"

namespace headlens {

std::optional<JsonField> OptionReader::Find(std::string_view name) {
  if (options_.empty()) return std::nullopt;  // none of them can be unknown, either
  known_.push_back(name);
  const auto option = options_.find(name);
  if (option == options_.end() || option->is_null()) return std::nullopt;
  return JsonField(*option, Fragment::Name(name), ErrorCode::kOption);
}

std::optional<double> OptionReader::Scalar(const AnyField& parameter, std::string_view name) {
  switch (parameter.type) {
    case FieldType::kFlag:
      return Find(name) ? std::optional<double>(Flag(name, false)) : std::nullopt;
    case FieldType::kCount:
      return Count(name, parameter.least);
    case FieldType::kSingle:
      return Single(name);
    case FieldType::kChoice:
      return OneOf(name, parameter.choices);
    default:
      return Number(name);
  }
}

bool OptionReader::Flag(std::string_view name, bool fallback) {
  const std::optional<JsonField> value = Find(name);
  return value ? value->Flag() : fallback;
}

std::optional<double> OptionReader::Number(std::string_view name) {
  const std::optional<JsonField> value = Find(name);
  return value ? std::optional(value->Number()) : std::nullopt;
}

std::optional<float> OptionReader::Single(std::string_view name) {
  const std::optional<JsonField> value = Find(name);
  return value ? std::optional(value->Single()) : std::nullopt;
}

std::optional<Index> OptionReader::Count(std::string_view name, Index least) {
  const std::optional<JsonField> value = Find(name);
  return value ? std::optional<Index>(value->Whole(least)) : std::nullopt;
}

std::optional<int> OptionReader::OneOf(std::string_view name, std::span<const Choice> choices) {
  const std::optional<JsonField> value = Find(name);
  if (!value) return std::nullopt;
  for (const Choice& choice : choices)
    if (value->value() == choice.name) return choice.value;
  value->Fail({"one of ", Joined(choices, [](const Choice& choice) { return Quoted(choice.name); })});
}

std::string OptionReader::Text(std::string_view name, std::string_view fallback) {
  const std::optional<JsonField> value = Find(name);
  if (!value) return std::string(fallback);
  if (!value->value().is_string()) value->Fail("a name");
  return value->Text();
}

std::vector<std::string> OptionReader::Names(std::string_view name) {
  const std::optional<JsonField> value = Find(name);
  if (!value) return {};
  std::vector<std::string> names;
  if (!value->value().is_array()) value->Fail("a list of names");
  for (const nlohmann::json& item : value->value()) {
    if (!item.is_string()) value->Fail("a list of names");
    names.push_back(item.get<std::string>());
  }
  return names;
}

void OptionReader::RejectUnknown() const {
  for (const auto& [name, value] : options_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::set<std::string_view> names(known_.begin(), known_.end());
    const std::vector<std::string_view> known(names.begin(), names.end());
    throw UnknownName("option", name, known);
  }
}

}  // namespace headlens
