// SPDX-License-Identifier: Apache-2.0
/// Writes maps as JSON, CSV and safetensors.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/json_text.h"
#include "cli/maps.h"
#include "cli/show.h"
#include "headlens/safetensors.h"
#include "headlens/version.h"
#include "nlohmann/json.hpp"

namespace headlens::cli {
namespace {

/// All that is known about the maps, in the order in which it is written: names, and values as JSON.
std::vector<std::pair<std::string, std::string>> FactsOf(const Maps& maps) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&facts](const char* name, const nlohmann::json& value) {
    facts.emplace_back(name, ShownJson(value.dump()));
  };
  if (maps.patches.rows > 0) add("patches", {maps.patches.rows, maps.patches.columns});
  if (!maps.ids.empty()) add("tokens", maps.ids);
  if (!maps.pieces.empty()) add("pieces", maps.pieces);
  if (!maps.key_pieces.empty() && maps.key_pieces != maps.pieces) add("key_pieces", maps.key_pieces);
  add("layers", maps.layers);
  add("heads", maps.heads);
  add("causal", maps.causal);
  if (!maps.windows.empty()) add("windows", maps.windows);
  return facts;
}

}  // namespace

std::string ToJson(const Maps& maps) {
  std::string text = "{";
  for (const auto& [name, value] : FactsOf(maps))
    text.append("\"").append(name).append("\":").append(value).append(",");
  text += "\"maps\":";
  AppendList(text, static_cast<Index>(maps.layers.size()), [&](Index i) {
    AppendList(text, static_cast<Index>(maps.heads.size()),
               [&](Index j) { AppendRows(text, maps.at(static_cast<std::size_t>(i), static_cast<std::size_t>(j))); });
  });
  return text + "}\n";
}

std::string ToCsv(const Maps& maps) {
  const bool named = !maps.pieces.empty() || !maps.key_pieces.empty();
  const auto cells = [named](const std::vector<std::string>& pieces, Index count) {
    std::vector<std::string> shown(static_cast<std::size_t>(count), named ? "," : "");
    for (std::size_t i = 0; i < pieces.size(); ++i) shown[i] += ShownCsv(pieces[i]);
    return shown;
  };
  const std::vector<std::string> queries = cells(maps.pieces, maps.rows), keys = cells(maps.key_pieces, maps.cols);
  std::string text = "layer,head,query,key,weight";
  text += named ? ",query_piece,key_piece\n" : "\n";
  for (std::size_t i = 0; i < maps.layers.size(); ++i)
    for (std::size_t j = 0; j < maps.heads.size(); ++j) {
      const View<const float, 2> weights = maps.at(i, j);
      const std::string head = std::to_string(maps.layers[i]) + "," + std::to_string(maps.heads[j]) + ",";
      for (Index t = 0; t < maps.rows; ++t) {
        const auto [begin, end] = maps.KeysOf(i, t);
        for (Index s = begin; s < end; ++s) {
          text += head + std::to_string(t) + "," + std::to_string(s) + ",";
          AppendNumber(text, weights(t, s));
          text += queries[static_cast<std::size_t>(t)] + keys[static_cast<std::size_t>(s)] + '\n';
        }
      }
    }
  return text;
}

std::vector<std::byte> ToSafetensors(Maps maps) {
  std::map<std::string, std::string, std::less<>> metadata{{"generator", std::string("headlens ") + Version()}};
  for (const auto& [name, value] : FactsOf(maps)) metadata.emplace(name, value);
  TensorMap tensors = std::move(maps.others);
  for (std::size_t i = 0; i < maps.weights.size(); ++i)
    tensors.emplace("attentions." + std::to_string(maps.layers[i]), std::move(maps.weights[i]));
  return WriteSafetensors(tensors, metadata);
}

}  // namespace headlens::cli
