// SPDX-License-Identifier: Apache-2.0
/// The maps of heads, and those of given queries and keys.
#include "maps.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "../threads.h"
#include "headlens/maps_call.h"

namespace headlens {
namespace {

void FillPicture(const AttentionMaps& maps, Index b, Index h, const MapWindow& window, bool largest, const Tensor& to) {
  // A picture of the largest weights is made as such even where it is as large as the map, since that summarises rows.
  if (largest || to.shape() != Shape{window.rows(), window.columns()}) {
    maps.Pooled(b, h, window, largest ? PoolKind::kMax : PoolKind::kMean, to.view<2>());
  } else {
    maps.Map(b, h, window, to.view<2>());
  }
}

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

  val FillOverview(int batch, int begin, int end, int rows, int columns, bool largest, const val& to) const {
    return Guard([&] { return headlens::FillOverview(call_.maps(), batch, begin, end, {rows, columns}, largest, to); });
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
      .function("rowSummaries", &MapsHandle::RowSummaries)
      .function("fillOverview", &MapsHandle::FillOverview);
}

}  // namespace

val MapToJs(const AttentionMaps& maps, Index b, Index h, const MapWindow& window, const Shape& picture, bool largest) {
  const Tensor map(picture);
  FillPicture(maps, b, h, window, largest, map);
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

val FillOverview(const AttentionMaps& maps, Index b, Index begin, Index end, const Shape& picture, bool largest,
                 const val& to) {
  const val pictures = to["maps"], largest_of_rows = to["largest"], keys = to["keys"];
  const Tensor map(picture);
  std::vector<float> numbers(static_cast<std::size_t>(maps.queries()));
  for (Index h = begin; h < end; ++h) {
    // The picture of the largest weights comes first, since it summarises the rows on its way.
    FillPicture(maps, b, h, {0, maps.queries(), 0, maps.keys()}, largest, map);
    const std::vector<RowSummary> rows = maps.Summaries(b, h, 0, maps.queries());
    const auto i = static_cast<std::size_t>(h - begin);
    CopyTo(pictures, i * map.values().size(), map.values());
    const auto copy = [&](const val& array, auto number) {
      std::ranges::transform(rows, numbers.begin(), number);
      CopyTo(array, i * rows.size(), numbers);
    };
    copy(largest_of_rows, [](const RowSummary& row) { return row.largest; });
    copy(keys, [](const RowSummary& row) { return static_cast<float>(row.keys); });
  }
  return val::undefined();
}

}  // namespace headlens
