// SPDX-License-Identifier: Apache-2.0
/// Writes maps as JSON and CSV, number by number. A JSON tree of millions of numbers would take several times the
/// memory.
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <span>
#include <vector>

#include "cli/maps.h"
#include "cli/show.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {
namespace {

/// Appends a number with as few digits as identify it exactly.
void Append(std::string& text, std::integral auto value) { text += std::to_string(value); }
void Append(std::string& text, float value) {
  if (!std::isfinite(value)) {
    text += "null";  // JSON has no infinities and no NaN
    return;
  }
  std::array<char, 32> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

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

template <class T>
void AppendNumbers(std::string& text, std::span<const T> numbers) {
  AppendList(text, static_cast<Index>(numbers.size()),
             [&](Index i) { Append(text, numbers[static_cast<std::size_t>(i)]); });
}

std::span<const float> RowOf(const Tensor& weights, Index t) {
  const Index length = weights.shape()[1];
  return {weights.data() + t * length, static_cast<std::size_t>(length)};
}

}  // namespace

std::string ToJson(const Maps& maps) {
  std::string text = maps.patches > 0 ? "{\"patches\":" : "{\"tokens\":";
  if (maps.patches > 0) {
    AppendNumbers<Index>(text, std::vector<Index>{maps.patches, maps.patches});
  } else {
    AppendNumbers<std::int32_t>(text, maps.tokens);
  }
  if (!maps.pieces.empty()) text += ",\"pieces\":" + ShownJson(nlohmann::json(maps.pieces).dump());
  text += ",\"layers\":";
  AppendNumbers<Index>(text, maps.layers);
  text += ",\"heads\":";
  AppendNumbers<Index>(text, maps.heads);
  text += std::string(",\"causal\":") + (maps.causal ? "true" : "false") + ",\"maps\":";
  const auto heads = static_cast<Index>(maps.heads.size());
  AppendList(text, static_cast<Index>(maps.layers.size()), [&](Index i) {
    AppendList(text, heads, [&](Index j) {
      const Tensor& weights = maps.weights[static_cast<std::size_t>(i * heads + j)];
      AppendList(text, maps.length(), [&](Index t) { AppendNumbers(text, RowOf(weights, t)); });
    });
  });
  return text + "}\n";
}

std::string ToCsv(const Maps& maps) {
  std::vector<std::string> pieces;
  for (const std::string& piece : maps.pieces) pieces.push_back("," + ShownCsv(piece));
  std::string text = "layer,head,query,key,weight";
  text += pieces.empty() ? "\n" : ",query_piece,key_piece\n";
  for (std::size_t i = 0; i < maps.layers.size(); ++i)
    for (std::size_t j = 0; j < maps.heads.size(); ++j) {
      const std::string head = std::to_string(maps.layers[i]) + "," + std::to_string(maps.heads[j]) + ",";
      for (Index t = 0; t < maps.length(); ++t)
        for (Index s = 0; s < (maps.causal ? t + 1 : maps.length()); ++s) {
          text += head + std::to_string(t) + "," + std::to_string(s) + ",";
          Append(text, RowOf(maps.at(i, j), t)[static_cast<std::size_t>(s)]);
          if (!pieces.empty()) text += pieces[static_cast<std::size_t>(t)] + pieces[static_cast<std::size_t>(s)];
          text += '\n';
        }
    }
  return text;
}

}  // namespace headlens::cli
