// SPDX-License-Identifier: Apache-2.0
/// The results of one run of a model: maps of its heads, logits, and vectors of its layers.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "handles.h"
#include "maps.h"

namespace headlens {
namespace {

class AttentionHandle {
 public:
  AttentionHandle(AttendSteps steps, const ModelInfo& info) : steps_(std::move(steps)), info_(info) {}

  /// Runs the next piece, or all that are left, and gives the share that is done.
  val Next(bool all) {
    return Guard([&] {
      const double done = all || attention_ ? 1.0 : steps_.Next();
      if (done == 1.0 && !attention_) attention_.emplace(std::move(steps_).Finish());
      return val(done);
    });
  }

  val Map(int layer, int head, int top, int bottom, int left, int right, int rows, int columns, bool largest) const {
    return Guard(
        [&] { return MapToJs(Finished().Maps(layer), 0, head, {top, bottom, left, right}, {rows, columns}, largest); });
  }

  val RowSummaries(int layer, int head, int row_begin, int row_end) const {
    return Guard([&] { return RowSummariesToJs(Finished().Maps(layer), 0, head, row_begin, row_end); });
  }

  val Logits(int row_begin, int row_end) const {
    return Guard([&] { return TensorToJs(Finished().Logits(row_begin, row_end)); });
  }

  /// Gives what was kept of a layer: 0 the stream before it, or with the number of layers after the last one; 1 its
  /// queries, 2 its keys, 3 its values. One method for all of them takes less of the download.
  val Kept(int what, int layer) const {
    return Guard([&] {
      if (what == 0) return TensorToJs(layer == info_.layers ? Finished().hidden() : Finished().Hidden(layer));
      const Tensor& rows = what == 1   ? Finished().Queries(layer)
                           : what == 2 ? Finished().Keys(layer)
                                       : Finished().Values(layer);
      return HeadsToJs(rows, what == 1 ? info_.heads : info_.kv_heads);
    });
  }

 private:
  const ModelAttention& Finished() const {
    if (!attention_) throw Error(ErrorCode::kOption, "the run is not finished yet");
    return *attention_;
  }

  /// [T, heads · d] → [heads, T, d]
  static val HeadsToJs(const Tensor& rows, Index heads) {
    const Index length = rows.shape()[0], width = rows.shape()[1] / heads;
    const Tensor by_head({heads, length, width});
    for (Index h = 0; h < heads; ++h)
      for (Index t = 0; t < length; ++t)
        std::copy_n(rows.view<2>().at(t, h * width), width, by_head.view<3>().at(h, t));
    return TensorToJs(by_head);
  }

  AttendSteps steps_;
  std::optional<ModelAttention> attention_;
  ModelInfo info_;
};

EMSCRIPTEN_BINDINGS(attention) {
  emscripten::class_<AttentionHandle>("Attention")
      .function("next", &AttentionHandle::Next)
      .function("map", &AttentionHandle::Map)
      .function("rowSummaries", &AttentionHandle::RowSummaries)
      .function("logits", &AttentionHandle::Logits)
      .function("kept", &AttentionHandle::Kept);
}

}  // namespace

val AttentionToJs(AttendSteps steps, const ModelInfo& info) {
  return val(std::make_unique<AttentionHandle>(std::move(steps), info));
}

}  // namespace headlens
