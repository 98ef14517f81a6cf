// SPDX-License-Identifier: Apache-2.0
/// The results of one run of a model: maps of its heads, logits, and vectors of its layers.
#include <algorithm>
#include <memory>
#include <utility>

#include "colors.h"
#include "handles.h"
#include "headlens/color_options.h"

namespace headlens {
namespace {

class AttentionHandle {
 public:
  AttentionHandle(ModelAttention attention, const ModelInfo& info) : attention_(std::move(attention)), info_(info) {}

  double Length() const { return static_cast<double>(attention_.length()); }

  val Map(int layer, int head, const std::string& options) const {
    return Guard([&] {
      const auto [given, pool, pooling] = ReadMapOptions(options);
      MapWindow window = given;
      window.row_end = std::min(window.row_end, attention_.length());
      window.col_end = std::min(window.col_end, attention_.length());
      const Shape whole = {std::max<Index>(window.rows(), 0), std::max<Index>(window.columns(), 0)};
      const Shape part = pool.empty() ? whole : Shape{std::min(pool[0], whole[0]), std::min(pool[1], whole[1])};
      const Tensor map(part);
      if (part == whole) {
        attention_.Map(layer, head, window, map.view<2>());
      } else {
        attention_.PooledMap(layer, head, window, pooling, map.view<2>());
      }
      return TensorToJs(map);
    });
  }

  val Pixels(int layer, int head, const std::string& options) const {
    return Guard([&] {
      const Index length = attention_.length();
      const Tensor map({length, length});
      attention_.Map(layer, head, {}, map.view<2>());
      ColorOptions colors = ReadColorOptions(options);
      colors.causal = info_.causal;
      return ImageToJs(map.view<2>(), colors);
    });
  }

  val Logits(const std::string& options) const {
    return Guard([&] {
      const MapWindow rows = ReadLogitsOptions(options);
      const bool all = rows.row_end == MapWindow::kAll;
      return TensorToJs(all ? attention_.Logits() : attention_.Logits(rows.row_begin, rows.row_end));
    });
  }

  /// Gives the stream before `layer`; with the number of layers, after the last one.
  val Hidden(int layer) const {
    return Guard([&] { return TensorToJs(layer == info_.layers ? attention_.hidden() : attention_.Hidden(layer)); });
  }

  val Queries(int layer) const {
    return Guard([&] { return HeadsToJs(attention_.Queries(layer), info_.heads); });
  }
  val Keys(int layer) const {
    return Guard([&] { return HeadsToJs(attention_.Keys(layer), info_.kv_heads); });
  }
  val Values(int layer) const {
    return Guard([&] { return HeadsToJs(attention_.Values(layer), info_.kv_heads); });
  }

 private:
  /// [T, heads · d] → [heads, T, d]
  static val HeadsToJs(const Tensor& rows, Index heads) {
    const Index length = rows.shape()[0], width = rows.shape()[1] / heads;
    const Tensor by_head({heads, length, width});
    for (Index h = 0; h < heads; ++h)
      for (Index t = 0; t < length; ++t)
        std::copy_n(rows.view<2>().at(t, h * width), width, by_head.view<3>().at(h, t));
    return TensorToJs(by_head);
  }

  ModelAttention attention_;
  ModelInfo info_;
};

EMSCRIPTEN_BINDINGS(attention) {
  emscripten::class_<AttentionHandle>("Attention")
      .function("length", &AttentionHandle::Length)
      .function("map", &AttentionHandle::Map)
      .function("pixels", &AttentionHandle::Pixels)
      .function("logits", &AttentionHandle::Logits)
      .function("hidden", &AttentionHandle::Hidden)
      .function("queries", &AttentionHandle::Queries)
      .function("keys", &AttentionHandle::Keys)
      .function("values", &AttentionHandle::Values);
}

}  // namespace

val AttentionToJs(ModelAttention attention, const ModelInfo& info) {
  return val(std::make_unique<AttentionHandle>(std::move(attention), info));
}

}  // namespace headlens
