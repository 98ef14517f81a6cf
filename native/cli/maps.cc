// SPDX-License-Identifier: Apache-2.0
#include "cli/maps.h"

#include "cli/show.h"

namespace headlens::cli {
std::vector<std::string> TokenNames(Index count, const std::vector<std::string>& pieces,
                                    const std::vector<std::int32_t>& ids, const Patches& patches) {
  std::vector<std::string> names;
  for (Index i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!pieces.empty()) {
      names.push_back(ShownToken(pieces[at]));
    } else if (!ids.empty()) {
      names.push_back(std::to_string(ids[at]));
    } else {
      names.push_back(patches.rows > 0 ? patches.NameOf(i) : std::to_string(i));
    }
  }
  return names;
}

std::vector<std::string> QueryNames(const Maps& maps) {
  return TokenNames(maps.rows, maps.pieces, maps.ids, maps.patches);
}
std::vector<std::string> KeyNames(const Maps& maps) {
  return TokenNames(maps.cols, maps.key_pieces, maps.ids, maps.patches);
}

std::string NameOf(const Maps& maps, std::size_t layer, std::size_t head) {
  return "layer " + std::to_string(maps.layers[layer]) + ", head " + std::to_string(maps.heads[head]);
}

std::string TitleOf(const Maps& maps) {
  const std::size_t layers = maps.layers.size(), heads = maps.heads.size();
  if (layers == 1 && heads == 1) return "Attention of " + NameOf(maps, 0, 0);
  const auto part = [](const std::string& kind, const std::vector<Index>& chosen) {
    return chosen.size() == 1 ? kind + " " + std::to_string(chosen[0])
                              : std::to_string(chosen.size()) + " " + kind + "s";
  };
  return "Attention of " + part("layer", maps.layers) + ", " + part("head", maps.heads);
}

}  // namespace headlens::cli
