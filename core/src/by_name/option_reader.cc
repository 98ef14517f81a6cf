// SPDX-License-Identifier: Apache-2.0
#include "by_name/option_reader.h"

#include <algorithm>
#include <set>

#include "base/words.h"

namespace headlens {

JsonField OptionReader::Find(std::string_view name) {
  known_.push_back(name);
  return JsonField(options_, "", ErrorCode::kOption)[name];
}

std::optional<double> OptionReader::Scalar(const AnyField& parameter, std::string_view name) {
  switch (parameter.type) {
    case FieldType::kFlag:
      return Has(name) ? std::optional<double>(Flag(name, false)) : std::nullopt;
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

std::optional<double> OptionReader::Number(std::string_view name) {
  const JsonField value = Find(name);
  return value.is_null() ? std::nullopt : std::optional(value.Number());
}

std::optional<float> OptionReader::Single(std::string_view name) {
  const JsonField value = Find(name);
  return value.is_null() ? std::nullopt : std::optional(value.Single());
}

std::optional<Index> OptionReader::Count(std::string_view name, Index least) {
  const JsonField value = Find(name);
  return value.is_null() ? std::nullopt : std::optional<Index>(value.Whole(least));
}

std::optional<int> OptionReader::OneOf(std::string_view name, std::span<const Choice> choices) {
  const JsonField value = Find(name);
  if (value.is_null()) return std::nullopt;
  for (const Choice& choice : choices)
    if (value.value() == choice.name) return choice.value;
  value.Fail({"one of ", Joined(choices, [](const Choice& choice) { return Quoted(choice.name); })});
}

std::string OptionReader::Text(std::string_view name, std::string_view fallback) {
  const JsonField value = Find(name);
  if (!value.is_null() && !value.value().is_string()) value.Fail("a name");
  return value.Text(fallback);
}

std::vector<std::string> OptionReader::Names(std::string_view name) {
  const JsonField value = Find(name);
  if (value.is_null()) return {};
  std::vector<std::string> names;
  if (!value.value().is_array()) value.Fail("a list of names");
  for (const nlohmann::json& item : value.value()) {
    if (!item.is_string()) value.Fail("a list of names");
    names.push_back(item.get<std::string>());
  }
  return names;
}

std::optional<std::pair<Index, Index>> OptionReader::Pair(std::string_view name, Index least) {
  const JsonField value = Find(name);
  if (value.is_null()) return std::nullopt;
  if (!value.value().is_array() || value.ListSize() != 2) value.Fail("two whole numbers");
  return std::pair<Index, Index>(value.Element(0).Whole(least), value.Element(1).Whole(least));
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
