// SPDX-License-Identifier: Apache-2.0
/// Maps of heads, and the file formats for them.
#ifndef HEADLENS_NATIVE_CLI_MAPS_H_
#define HEADLENS_NATIVE_CLI_MAPS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/patches.h"
#include "headlens/image.h"
#include "headlens/tensor.h"

namespace headlens::cli {

struct Maps {
  Index rows = 0, cols = 0;                     ///< the numbers T of queries and S of keys
  std::vector<std::int32_t> ids;                ///< of the tokens that a model has read
  std::vector<std::string> pieces, key_pieces;  ///< the text of each query and of each key; empty when not known
  Patches patches;                              ///< of an image
  bool causal = false;                          ///< cells above a map's diagonal are masked
  std::vector<Index> layers, heads;             ///< the numbers of the chosen layers and heads
  std::vector<Index> windows;   ///< of the chosen layers, as ModelInfo has them; empty when no layer has one
  std::vector<Tensor> weights;  ///< [heads, T, S] for each of `layers`; none when they are not asked for
  TensorMap others;             ///< what else of the model is asked for, for ToSafetensors

  View<const float, 2> at(std::size_t layer, std::size_t head) const {
    return DenseView<const float, 2>(weights[layer].view<3>().at(head), {rows, cols});
  }
  /// The number of latest keys that a query of one of `layers` looks at, its own included; 0: no limit.
  Index WindowOf(std::size_t layer) const { return windows.empty() ? 0 : windows[layer]; }
  /// The keys [begin, end) that a query of one of `layers` may look at. The others are masked.
  std::array<Index, 2> KeysOf(std::size_t layer, Index query) const {
    if (!causal) return {0, cols};
    const Index window = WindowOf(layer), end = std::min(query + 1, cols);
    return {window > 0 ? std::max<Index>(end - window, 0) : 0, end};
  }
  bool IsMasked(std::size_t layer, Index query, Index key) const {
    const auto [begin, end] = KeysOf(layer, query);
    return key < begin || key >= end;
  }
};

/// The names of `count` tokens, safe to show: their texts, ids or patches, or their numbers where no more is known.
std::vector<std::string> TokenNames(Index count, const std::vector<std::string>& pieces,
                                    const std::vector<std::int32_t>& ids, const Patches& patches);
/// Those of the queries and of the keys.
std::vector<std::string> QueryNames(const Maps& maps);
std::vector<std::string> KeyNames(const Maps& maps);

/// "layer 3, head 2"
std::string NameOf(const Maps& maps, std::size_t layer, std::size_t head);
/// "Attention of layer 3, head 2", or of how many layers and heads.
std::string TitleOf(const Maps& maps);

struct PictureStyle {
  Theme theme = Theme::kLight;
  Index cell = 1;  ///< in pixels
};

struct PictureSize {
  Index width, height;
};

/// The sizes of the pictures of ToPng and ToSvg.
PictureSize SizeOfPng(const Maps& maps, Index cell);
PictureSize SizeOfSvg(const Maps& maps, Index cell);

/// A grid of maps with a row for each layer, a column for each head, and thin lines between them. Colours range as
/// ColorsOf says, and masked cells are hatched.
std::vector<std::byte> ToPng(const Maps& maps, const PictureStyle& style);

/// The same grid as a vector graphic, with headings, the names of the tokens and a legend. A grid of several maps has
/// names where a cell is at least 9 pixels high.
std::string ToSvg(const Maps& maps, const PictureStyle& style);

/// The most cells of a map of which ToHtml shows every number.
inline constexpr Index kMostTableCells = 32 * 32;

/// A page that loads nothing. With a `script`, which defines <attention-map>, that element draws the maps. Without one,
/// which is an empty text, the page has ToSvg's picture and tables of the weights; maps of more than kMostTableCells
/// cells have the strongest key of each query there.
std::string ToHtml(const Maps& maps, const PictureStyle& style, std::string_view script);

/// {"tokens": [ids] or "patches": [rows, columns], "pieces": [texts, if known], "layers": […], "heads": […], "causal":
/// true, "windows": [of each layer, if any has one], "maps": [layer][head][query][key]}. Keys that are other tokens
/// than the queries have "key_pieces".
std::string ToJson(const Maps& maps);

/// A line "layer,head,query,key,weight" for each cell that is not masked. When pieces are known, each line ends with
/// those of the query and the key.
std::string ToCsv(const Maps& maps);

/// A safetensors file with "attentions.{layer}" [H, T, S] for each layer and `others`. Its metadata holds, as JSON,
/// what ToJson has beside the maps.
std::vector<std::byte> ToSafetensors(Maps maps);

}  // namespace headlens::cli

#endif  // HEADLENS_NATIVE_CLI_MAPS_H_
