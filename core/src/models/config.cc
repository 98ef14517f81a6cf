// SPDX-License-Identifier: Apache-2.0
#include "models/config.h"

#include <cmath>

#include "headlens/multihead.h"

namespace headlens::models {

using nlohmann::json;

Config::Config(std::string_view text, std::string file) : object_(ParseObject(text, file)), name_(std::move(file)) {}

const json* Config::Find(const char* key) const {
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

const json& Config::Get(const char* key) const {
  if (const json* value = Find(key)) return *value;
  throw Error(ErrorCode::kFormat, name_ + " has no " + key);
}

void Config::Fail(const char* key, const std::string& expected) const {
  throw Error(ErrorCode::kValue, name_ + ": " + key + " is " + Shown(Get(key)) + ", expected " + expected);
}

void Config::Unsupported(const char* key, const std::string& supported) const {
  throw Error(ErrorCode::kUnsupported, name_ + ": " + key + " is " + Shown(Get(key)) + ", supported is " + supported);
}

Index Config::Size(const char* key, std::optional<Index> fallback) const {
  if (fallback && !Has(key)) return *fallback;
  const json& value = Get(key);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > kMaxWidth) {
    Fail(key, "a whole number from 1 to " + std::to_string(kMaxWidth));
  }
  return value.get<Index>();
}

double Config::Positive(const char* key, std::optional<double> fallback) const {
  if (fallback && !Has(key)) return *fallback;
  const json& value = Get(key);
  if (!value.is_number() || !(value.get<double>() > 0.0) || !std::isfinite(value.get<double>())) {
    Fail(key, "a positive number");
  }
  return value.get<double>();
}

bool Config::Flag(const char* key, bool fallback) const {
  const json* value = Find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) Fail(key, "true or false");
  return value->get<bool>();
}

std::string Config::Text(const char* key, std::optional<std::string> fallback) const {
  if (fallback && !Has(key)) return *std::move(fallback);
  const json& value = Get(key);
  if (!value.is_string()) Fail(key, "a string");
  return value.get<std::string>();
}

void Config::ReadNumbers(const char* key, std::span<float> numbers) const {
  const json* value = Find(key);
  if (!value) return;
  const auto fail = [&] { Fail(key, std::to_string(numbers.size()) + " numbers"); };
  if (value->is_array() && value->size() != numbers.size()) fail();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const json& item = value->is_array() ? (*value)[i] : *value;
    if (!item.is_number() || !std::isfinite(item.get<float>())) fail();
    numbers[i] = item.get<float>();
  }
}

std::optional<Config> Config::Object(const char* key) const {
  const json* value = Find(key);
  if (!value) return std::nullopt;
  if (!value->is_object()) Fail(key, "an object");
  return Config(*value, name_ + ": " + key);
}

Index Config::MemberCount(const char* key, Index fallback) const {
  const json* value = Find(key);
  if (!value) return fallback;
  if (!value->is_object() || value->empty()) Fail(key, "an object with members");
  return static_cast<Index>(value->size());
}

void Config::Require(const char* key, const json& supported) const {
  const json* value = Find(key);
  if (value && *value != supported) Unsupported(key, Shown(supported));
}

}  // namespace headlens::models
