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

  val Map(int layer, int head, int row_begin, int row_end, int pool_rows, int pool_cols) const {
    return Guard([&] {
      const Index rows = std::max(row_end - row_begin, 0), columns = attention_.length();
      const bool pooled = pool_rows > 0 && pool_cols > 0 && (pool_rows < rows || pool_cols < columns);
      const Tensor map(pooled ? Shape{std::min<Index>(pool_rows, rows), std::min<Index>(pool_cols, columns)}
                              : Shape{rows, columns});
      if (pooled) {
        attention_.PooledMap(layer, head, {row_begin, row_end}, PoolKind::kMean, map.view<2>());
      } else {
        attention_.Map(layer, head, {row_begin, row_end}, map.view<2>());
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

  val Logits(int row_begin, int row_end) const {
    return Guard([&] { return TensorToJs(attention_.Logits(row_begin, row_end)); });
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
