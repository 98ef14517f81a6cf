// SPDX-License-Identifier: Apache-2.0
/// Reading config.json: every value is checked, every error names its key.
#ifndef HEADLENS_SRC_MODELS_CONFIG_H_
#define HEADLENS_SRC_MODELS_CONFIG_H_

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words.h"
#include "files/json.h"
#include "headlens/tensor.h"

namespace headlens::models {

/// A JSON object out of a config.json. An absent key and null are the same.
class Config {
 public:
  /// `file` is what messages call it. Throws as ParseObject.
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
  /// N finite numbers; a single one stands for all of them. Throws kValue for anything else.
  template <std::size_t N>
  std::array<float, N> Numbers(const char* key, float fallback) const {
    std::array<float, N> numbers;
    numbers.fill(fallback);
    ReadNumbers(key, numbers);
    return numbers;
  }
  /// The object at `key`; nothing when it is absent. Throws kValue for another kind of value.
  std::optional<Config> Object(const char* key) const;
  /// The number of members of the object at `key`.
  Index MemberCount(const char* key, Index fallback) const;

  /// What the text at `key` stands for. Throws kUnsupported, naming all the choices there are.
  template <class T>
  T Choice(const char* key, const char* fallback, const std::vector<std::pair<const char*, T>>& choices) const {
    const std::string text = Text(key, fallback ? std::optional<std::string>(fallback) : std::nullopt);
    for (const auto& [name, value] : choices)
      if (text == name) return value;
    Unsupported(key, Joined(choices, [](const auto& choice) { return Quoted(choice.first); }));
  }

  /// Throws kUnsupported unless `key` is absent or `supported`.
  void Require(const char* key, const nlohmann::json& supported) const;

  [[noreturn]] void Unsupported(const char* key, const std::string& supported) const;

 private:
  Config(nlohmann::json object, std::string name) : object_(std::move(object)), name_(std::move(name)) {}
  void ReadNumbers(const char* key, std::span<float> numbers) const;
  const nlohmann::json* Find(const char* key) const;
  const nlohmann::json& Get(const char* key) const;
  [[noreturn]] void Fail(const char* key, const std::string& expected) const;

  nlohmann::json object_;
  std::string name_;
};

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_CONFIG_H_
