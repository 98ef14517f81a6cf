// SPDX-License-Identifier: Apache-2.0
#include "by_name/option_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/words.h"

namespace headlens {

using nlohmann::json;

const json* OptionReader::Find(std::string_view name) {
  known_.push_back(name);
  const auto it = options_.find(name);
  return it == options_.end() || it->is_null() ? nullptr : &*it;
}

void OptionReader::Refuse(std::string_view name, const std::string& expected) const {
  throw Error(ErrorCode::kOption, std::string(name) + " is " + Shown(*options_.find(name)) + ", expected " + expected);
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

bool OptionReader::Flag(std::string_view name, bool fallback) {
  const json* value = Find(name);
  if (!value) return fallback;
  if (!value->is_boolean()) Refuse(name, "true or false");
  return value->get<bool>();
}

std::optional<double> OptionReader::Number(std::string_view name) {
  const json* value = Find(name);
  if (!value) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) Refuse(name, "a finite number");
  return value->get<double>();
}

std::optional<float> OptionReader::Single(std::string_view name) {
  const std::optional<double> value = Number(name);
  if (!value) return std::nullopt;
  constexpr double kLargest = std::numeric_limits<float>::max(), kSmallest = std::numeric_limits<float>::min();
  if (std::abs(*value) > kLargest || (*value != 0.0 && std::abs(*value) < kSmallest)) {
    Refuse(name, "a number that a 32-bit float can hold");
  }
  return static_cast<float>(*value);
}

std::optional<Index> OptionReader::Count(std::string_view name, Index least) {
  constexpr Index kMost = Index{1} << 53;  // what a JSON number holds exactly
  const json* value = Find(name);
  if (!value) return std::nullopt;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{kMost}) {
    Refuse(name, "a whole number, at most " + std::to_string(kMost));
  }
  if (!value->is_number_integer() || value->get<Index>() < least) {
    Refuse(name, "a whole number, at least " + std::to_string(least));
  }
  return value->get<Index>();
}

std::optional<int> OptionReader::OneOf(std::string_view name, std::span<const Choice> choices) {
  const json* value = Find(name);
  if (!value) return std::nullopt;
  for (const Choice& choice : choices)
    if (*value == choice.name) return choice.value;
  Refuse(name, "one of " + Joined(choices, [](const Choice& choice) { return Quoted(choice.name); }));
}

std::string OptionReader::Text(std::string_view name, std::string_view fallback) {
  const json* value = Find(name);
  if (!value) return std::string(fallback);
  if (!value->is_string()) Refuse(name, "a name");
  return value->get<std::string>();
}

std::vector<std::string> OptionReader::Names(std::string_view name) {
  const json* value = Find(name);
  if (!value) return {};
  std::vector<std::string> names;
  if (!value->is_array()) Refuse(name, "a list of names");
  for (const json& item : *value) {
    if (!item.is_string()) Refuse(name, "a list of names");
    names.push_back(item.get<std::string>());
  }
  return names;
}

void OptionReader::RejectUnknown() const {
  for (const auto& [name, value] : options_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::set<std::string_view> known(known_.begin(), known_.end());
    throw Error(ErrorCode::kOption, "unknown option " + Quoted(name) + "; known here: " + Joined(known));
  }
}

}  // namespace headlens
