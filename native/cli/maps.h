// SPDX-License-Identifier: Apache-2.0
/// Maps of a model's heads, and the file formats they are written in.
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
  std::vector<std::int32_t> tokens;  ///< of a text
  std::vector<std::string> pieces;   ///< what each token shows; none when only their ids are known
  Index patches = 0;                 ///< of an image: how many on each side; its rows are CLS and then the patches
  bool causal = true;                ///< cells above a map's diagonal are masked
  std::vector<Index> layers, heads;  ///< which of the model's
  std::vector<Tensor> weights;       ///< [T, T] each: all heads of the first layer, then of the next

  Index length() const { return patches > 0 ? patches * patches + 1 : static_cast<Index>(tokens.size()); }
  const Tensor& at(std::size_t layer, std::size_t head) const { return weights[layer * heads.size() + head]; }
};

struct PictureStyle {
  Theme theme = Theme::kLight;
  Index cell = 1;  ///< pixels
};

struct PictureSize {
  Index width, height;
};

/// Of ToPng's picture of `rows` × `columns` maps of `length` tokens.
PictureSize SizeOfPicture(Index rows, Index columns, Index length, Index cell);

/// A grid of maps, a row for each layer and a column for each head, thin lines between them. Colours run from weight 0
/// to weight 1; masked cells are hatched.
std::vector<std::byte> ToPng(const Maps& maps, const PictureStyle& style);

/// The same with headings, as a picture that scales.
std::string ToSvg(const Maps& maps, const PictureStyle& style);

/// {"tokens": [ids] or "patches": [rows, columns], "pieces": [texts] where they are known, "layers": […], "heads": […],
/// "causal": true, "maps": [layer][head][query][key]}
std::string ToJson(const Maps& maps);

/// A line "layer,head,query,key,weight" for each cell that is not masked, and when there are pieces those of the query
/// and of the key.
std::string ToCsv(const Maps& maps);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MAPS_H_
