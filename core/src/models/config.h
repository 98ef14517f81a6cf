// SPDX-License-Identifier: Apache-2.0
/// Reading config.json: every value is checked, every error names its key.
#ifndef HEADLENS_SRC_MODELS_CONFIG_H_
#define HEADLENS_SRC_MODELS_CONFIG_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlens/tensor.h"
#include "nlohmann/json.hpp"

namespace headlens::models {

/// A JSON object out of a config.json. An absent key and null are the same.
class Config {
 public:
  /// `file` is what messages call it. Throws kFormat for what is not a JSON object.
  explicit Config(std::string_view text, std::string file = "config.json");

  bool Has(const char* key) const { return Find(key) != nullptr; }
  bool IsObject(const char* key) const { return Has(key) && Find(key)->is_object(); }

  /// A whole number from 1 up; without a fallback its absence is kFormat. Throws kValue for anything else, naming it.
  Index Size(const char* key, std::optional<Index> fallback = std::nullopt) const;
  /// A finite number greater than 0. Throws as Size.
  double Positive(const char* key, std::optional<double> fallback = std::nullopt) const;
  /// Throws kValue for what is not a boolean.
  bool Flag(const char* key, bool fallback) const;
  std::string Text(const char* key, std::optional<std::string> fallback = std::nullopt) const;
  /// `count` finite numbers; a single one stands for all of them.
  std::vector<float> Numbers(const char* key, std::size_t count, float fallback) const;
  /// The object at `key`; nothing when it is absent. Throws kValue for another kind of value.
  std::optional<Config> Object(const char* key) const;
  /// The number of members of the object at `key`.
  Index MemberCount(const char* key, Index fallback) const;

  /// What the text at `key` stands for. Throws kUnsupported, naming all the choices there are.
  template <class T>
  T Choice(const char* key, const char* fallback, const std::vector<std::pair<const char*, T>>& choices) const {
    const std::string text = Text(key, fallback ? std::optional<std::string>(fallback) : std::nullopt);
    std::string names;
    for (const auto& [name, value] : choices) {
      if (text == name) return value;
      names += (names.empty() ? "\"" : ", \"") + std::string(name) + "\"";
    }
    Unsupported(key, names);
  }

  /// Throws kUnsupported unless `key` is absent or `supported`.
  void Require(const char* key, const nlohmann::json& supported) const;

  [[noreturn]] void Unsupported(const char* key, const std::string& supported) const;

 private:
  Config(nlohmann::json object, std::string name) : object_(std::move(object)), name_(std::move(name)) {}
  const nlohmann::json* Find(const char* key) const;
  const nlohmann::json& Get(const char* key) const;
  [[noreturn]] void Fail(const char* key, const std::string& expected) const;
  std::string Shown(const char* key) const;

  nlohmann::json object_;
  std::string name_;
};

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_CONFIG_H_
