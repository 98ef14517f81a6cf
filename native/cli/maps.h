// SPDX-License-Identifier: Apache-2.0
/// Maps of a model's heads, and the file formats for them.
#ifndef HEADLENS_NATIVE_CLI_MAPS_H_
#define HEADLENS_NATIVE_CLI_MAPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headlens/image.h"
#include "headlens/tensor.h"

namespace headlens::cli {

struct Maps {
  std::vector<std::int32_t> tokens;  ///< for a text
  std::vector<std::string> pieces;   ///< the text of each token; empty when only ids are known
  Index patches = 0;   ///< for an image: patches on each side; rows of its maps are CLS and then the patches
  bool causal = true;  ///< cells above a map's diagonal are masked
  std::vector<Index> layers, heads;  ///< the chosen layers and heads of the model
  std::vector<Tensor> weights;       ///< [T, T] each, in order of layer, then head

  Index length() const { return patches > 0 ? patches * patches + 1 : static_cast<Index>(tokens.size()); }
  const Tensor& at(std::size_t layer, std::size_t head) const { return weights[layer * heads.size() + head]; }
};

struct PictureStyle {
  Theme theme = Theme::kLight;
  Index cell = 1;  ///< in pixels
};

struct PictureSize {
  Index width, height;
};

/// The size of ToPng's picture of `rows` × `columns` maps of `length` tokens each.
PictureSize SizeOfPicture(Index rows, Index columns, Index length, Index cell);

/// A grid of maps with a row for each layer, a column for each head, and thin lines between them. Colours range from
/// weight 0 to weight 1, and masked cells are hatched.
std::vector<std::byte> ToPng(const Maps& maps, const PictureStyle& style);

/// The same grid with headings, as a vector graphic.
std::string ToSvg(const Maps& maps, const PictureStyle& style);

/// {"tokens": [ids] or "patches": [rows, columns], "pieces": [texts, if known], "layers": […], "heads": […], "causal":
/// true, "maps": [layer][head][query][key]}
std::string ToJson(const Maps& maps);

/// A line "layer,head,query,key,weight" for each cell that is not masked. When pieces are known, each line ends with
/// those of the query and the key.
std::string ToCsv(const Maps& maps);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MAPS_H_
