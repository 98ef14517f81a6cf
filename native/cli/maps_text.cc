// SPDX-License-Identifier: Apache-2.0
/// Maps as JSON and CSV. Written number by number: a document tree of millions of them would take several times the
/// memory.
#include <array>
#include <charconv>
#include <cmath>
#include <ranges>

#include "cli/maps.h"

namespace headlens::cli {
namespace {

/// As few digits as tell the number from every other.
void Append(std::string& text, std::integral auto value) { text += std::to_string(value); }
void Append(std::string& text, float value) {
  if (!std::isfinite(value)) {
    text += "null";  // JSON has no word for it
    return;
  }
  std::array<char, 32> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

/// "[a,b,…]", each part written by `append`.
template <class Range, class Append>
void AppendList(std::string& text, const Range& range, const Append& append) {
  text += '[';
  bool first = true;
  for (const auto& part : range) {
    if (!first) text += ',';
    first = false;
    append(part);
  }
  text += ']';
}

std::span<const float> RowOf(const Tensor& weights, Index t) {
  const Index length = weights.shape()[1];
  return {weights.data() + t * length, static_cast<std::size_t>(length)};
}

}  // namespace

std::string ToJson(const Maps& maps) {
  std::string text = "{";
  const auto number = [&text](auto value) { Append(text, value); };
  const auto map = [&](const Tensor& weights) {
    const auto row = [&](Index t) { AppendList(text, RowOf(weights, t), number); };
    AppendList(text, std::views::iota(Index{0}, maps.length()), row);
  };
  text += "\"tokens\":";
  AppendList(text, maps.tokens, number);
  text += ",\"layers\":";
  AppendList(text, maps.layers, number);
  text += ",\"heads\":";
  AppendList(text, maps.heads, number);
  text += ",\"causal\":true,\"maps\":";
  const std::span all(maps.weights);
  AppendList(text, std::views::iota(std::size_t{0}, maps.layers.size()),
             [&](std::size_t i) { AppendList(text, all.subspan(i * maps.heads.size(), maps.heads.size()), map); });
  return text + "}\n";
}

std::string ToCsv(const Maps& maps) {
  std::string text = "layer,head,query,key,weight\n";
  for (std::size_t i = 0; i < maps.layers.size(); ++i)
    for (std::size_t j = 0; j < maps.heads.size(); ++j) {
      const std::string head = std::to_string(maps.layers[i]) + "," + std::to_string(maps.heads[j]) + ",";
      for (Index t = 0; t < maps.length(); ++t)
        for (Index s = 0; s <= t; ++s) {
          text += head + std::to_string(t) + "," + std::to_string(s) + ",";
          Append(text, RowOf(maps.at(i, j), t)[static_cast<std::size_t>(s)]);
          text += '\n';
        }
    }
  return text;
}

}  // namespace headlens::cli
