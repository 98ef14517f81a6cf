// SPDX-License-Identifier: Apache-2.0
/// The maps of heads, and those of given queries and keys.
#include "maps.h"

#include <memory>
#include <string>
#include <vector>

#include "../threads.h"
#include "headlens/maps_call.h"

namespace headlens {
namespace {

class MapsHandle {
 public:
  MapsHandle(const val& inputs, const std::string& options) : call_(EngineBackends()) {
    Feed(call_, inputs);
    call_.Read(options);
  }

  val Sizes() const {
    const AttentionMaps& maps = call_.maps();
    return ShapeToJs({maps.batches(), maps.heads(), maps.queries(), maps.keys()});
  }

  val Map(int batch, int head, int top, int bottom, int left, int right, int rows, int columns, bool largest) const {
    return Guard(
        [&] { return MapToJs(call_.maps(), batch, head, {top, bottom, left, right}, {rows, columns}, largest); });
  }

  val RowSummaries(int batch, int head, int row_begin, int row_end) const {
    return Guard([&] { return RowSummariesToJs(call_.maps(), batch, head, row_begin, row_end); });
  }

 private:
  MapsCall call_;
};

/// `inputs` are as Feed takes them.
val CreateMaps(const val& inputs, const std::string& options) {
  return Guard([&] { return val(std::make_unique<MapsHandle>(inputs, options)); });
}

EMSCRIPTEN_BINDINGS(maps) {
  emscripten::function("createMaps", &CreateMaps);
  emscripten::class_<MapsHandle>("Maps")
      .function("sizes", &MapsHandle::Sizes)
      .function("map", &MapsHandle::Map)
      .function("rowSummaries", &MapsHandle::RowSummaries);
}

}  // namespace

val MapToJs(const AttentionMaps& maps, Index b, Index h, const MapWindow& window, const Shape& picture, bool largest) {
  const Tensor map(picture);
  // A picture of the largest weights is made as such even where it is as large as the map, since that summarises rows.
  if (largest || picture != Shape{window.rows(), window.columns()}) {
    maps.Pooled(b, h, window, largest ? PoolKind::kMax : PoolKind::kMean, map.view<2>());
  } else {
    maps.Map(b, h, window, map.view<2>());
  }
  return TensorToJs(map);
}

val RowSummariesToJs(const AttentionMaps& maps, Index b, Index h, Index row_begin, Index row_end) {
  const std::vector<RowSummary> rows = maps.Summaries(b, h, row_begin, row_end);
  Tensor all({3, static_cast<Index>(rows.size())});
  const View<float, 2> to = all.view<2>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = static_cast<Index>(i);
    to(0, at) = rows[i].lse;
    to(1, at) = rows[i].largest;
    to(2, at) = static_cast<float>(rows[i].keys);
  }
  return TensorToJs(all);
}

}  // namespace headlens
