// SPDX-License-Identifier: Apache-2.0
#include "models/config.h"

#include <cmath>

namespace headlens::models {
namespace {

using nlohmann::json;

// No published model comes near; beyond, a size is a mistake or an attack.
constexpr Index kMaxSize = Index{1} << 24;

}  // namespace

Config::Config(std::string_view text, std::string file) : name_(std::move(file)) {
  object_ = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object_.is_discarded() || !object_.is_object()) {
    throw Error(ErrorCode::kFormat, name_ + " is not a JSON object");
  }
}

const json* Config::Find(const char* key) const {
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

const json& Config::Get(const char* key) const {
  if (const json* value = Find(key)) return *value;
  throw Error(ErrorCode::kFormat, name_ + " has no " + key);
}

/// The value in a message: short, and on one line.
std::string Config::Shown(const char* key) const {
  constexpr std::size_t kMost = 60;
  const std::string text = Get(key).dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > kMost ? text.substr(0, kMost) + "…" : text;
}

void Config::Fail(const char* key, const std::string& expected) const {
  throw Error(ErrorCode::kValue, name_ + ": " + key + " is " + Shown(key) + ", expected " + expected);
}

void Config::Unsupported(const char* key, const std::string& supported) const {
  throw Error(ErrorCode::kUnsupported, name_ + ": " + key + " is " + Shown(key) + ", supported is " + supported);
}

Index Config::Size(const char* key, std::optional<Index> fallback) const {
  if (fallback && !Has(key)) return *fallback;
  const json& value = Get(key);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > kMaxSize) {
    Fail(key, "a whole number from 1 to " + std::to_string(kMaxSize));
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

std::vector<float> Config::Numbers(const char* key, std::size_t count, float fallback) const {
  const json* value = Find(key);
  if (!value) return std::vector<float>(count, fallback);
  const json list = value->is_array() ? *value : json(std::vector<json>(count, *value));
  std::vector<float> numbers;
  for (const json& item : list) {
    if (item.is_number() && std::isfinite(item.get<float>())) numbers.push_back(item.get<float>());
  }
  if (numbers.size() != count || list.size() != count) Fail(key, std::to_string(count) + " numbers");
  return numbers;
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
  if (value && *value != supported) Unsupported(key, supported.dump());
}

}  // namespace headlens::models
