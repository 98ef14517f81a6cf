// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_WASM_BINDINGS_MAPS_H_
#define HEADLENS_WASM_BINDINGS_MAPS_H_

#include "convert.h"
#include "headlens/attention_maps.h"

/// The answers that a model's attention and the maps of given queries and keys both give.
namespace headlens {

/// A part of the map of head `h` in batch `b`, as a picture of that many rows and columns: of means, or of the largest
/// weights.
val MapToJs(const AttentionMaps& maps, Index b, Index h, const MapWindow& window, const Shape& picture, bool largest);

/// The summaries of rows [row_begin, row_end): [3, rows], whose rows are lse, the largest weights, and numbers of keys.
val RowSummariesToJs(const AttentionMaps& maps, Index b, Index h, Index row_begin, Index row_end);

/// Fills `to`, which has the Float32Arrays `maps` [heads, picture], `largest` [heads, queries] and `keys` [heads,
/// queries] of heads [begin, end). Each head is copied as soon as it is there: one large array costs JavaScript less
/// than many, and the module holds one picture at a time.
val FillOverview(const AttentionMaps& maps, Index b, Index begin, Index end, const Shape& picture, bool largest,
                 const val& to);

}  // namespace headlens

#endif  // HEADLENS_WASM_BINDINGS_MAPS_H_
