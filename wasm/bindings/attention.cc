// SPDX-License-Identifier: Apache-2.0
/// The results of one run of a model: maps of its heads, logits, and vectors of its layers.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "explanation.h"
#include "handles.h"
#include "headlens/explanation.h"
#include "maps.h"

namespace headlens {
namespace {

Index PieceOf(bool at_once) { return at_once ? AttendSteps::kWhole : AttendSteps::kPiece; }

class AttentionHandle {
 public:
  AttentionHandle(AttendSteps steps, const ModelInfo& info) : steps_(std::move(steps)), info_(info) {}

  /// Runs the next piece, or all that are left, and gives the share that is done.
  val Next(bool all) {
    return Guard([&] {
      const double done = all || attention_ ? 1.0 : steps_.Next();
      if (done == 1.0 && !attention_) attention_ = std::make_shared<const ModelAttention>(std::move(steps_).Finish());
      return val(done);
    });
  }

  val Map(int layer, int head, int top, int bottom, int left, int right, int rows, int columns, bool largest) const {
    return Guard([&] { return MapToJs(MapsOf(layer), 0, head, {top, bottom, left, right}, {rows, columns}, largest); });
  }

  val RowSummaries(int layer, int head, int row_begin, int row_end) const {
    return Guard([&] { return RowSummariesToJs(MapsOf(layer), 0, head, row_begin, row_end); });
  }

  val FillOverview(int layer, int begin, int end, int rows, int columns, bool largest, const val& to) const {
    return Guard([&] { return headlens::FillOverview(MapsOf(layer), 0, begin, end, {rows, columns}, largest, to); });
  }

  /// Gives rows of the logits: of the model; with a layer, as if that and all after it were not there; with a head of
  /// it, what the head adds. Without a layer or a head these are -1.
  val Logits(int layer, int head, int row_begin, int row_end) const {
    return Guard([&] { return TensorToJs(LogitsOf(layer, head, row_begin, row_end)); });
  }

  /// Gives [3, count] of the largest or smallest of these logits at one position: tokens, logits, probabilities.
  val Extremes(int layer, int head, int position, int count, bool largest) const {
    return Guard([&] {
      const Tensor logits = LogitsOf(layer, head, position, position + 1);
      return ExtremesToJs(logits.values(), {{Probabilities(logits.values())}}, count, largest);
    });
  }

  val Difference(const AttentionHandle& other) const {
    return Guard([&] { return DifferenceToJs(Shared(), other.Shared()); });
  }

  /// Gives a finder of the paths to one head, or to all when these are -1.
  val FindPaths(int layer, int head) const {
    return Guard([&] { return PathFinderToJs(Shared(), layer, head); });
  }

  val Explain(int layer, int head, int query, int key, int against) const {
    return Guard([&] {
      const Place at = PlaceOf(layer);
      if (key < 0) return ExplanationToJs(ExplainRow(Finished(), at.layer, head, query, at.part));
      const MapCell cell{at.layer, head, query, key, at.part};
      return ExplanationToJs(against < 0 ? ExplainCell(Finished(), cell) : ExplainCell(Finished(), cell, against));
    });
  }

  val ExplainOutput(int layer, int head, int query) const {
    return Guard([&] {
      const Place at = PlaceOf(layer);
      return ExplanationToJs(headlens::ExplainOutput(Finished(), at.layer, head, query, at.part));
    });
  }

  val Sources(int layer, int head) const {
    return Guard([&] {
      const Place at = PlaceOf(layer);
      return ExplanationToJs(SourcesOf(Finished(), at.layer, head, at.part));
    });
  }

  val Contributions(int position, const val& tokens) const {
    return Guard([&] {
      const auto ids = emscripten::convertJSArrayToNumberVector<std::int32_t>(tokens);
      return ExplanationToJs(headlens::Contributions(Finished(), position, ids));
    });
  }

  /// Gives a run of another input, as Model.attend does. What both have at the beginning is taken from this one.
  val Attend(const val& inputs, const std::string& options, bool at_once) const {
    return Guard([&] { return BeginRun(inputs, options, at_once, Finished().model(), &Finished()); });
  }

  /// Gives a run of the same input with other options, as Model.attend does.
  val Again(const val& inputs, const std::string& options, bool at_once) const {
    return Guard([&] {
      ModelCall call(info_, Finished().length());
      Feed(call, inputs);
      call.Read(options);
      return AttentionToJs(Finished().StartAgain(call.options(), PieceOf(at_once)), info_);
    });
  }

  /// Gives what was kept of a layer: 0 the stream before it, or with the number of layers after the last one; 1 its
  /// queries, 2 its keys, 3 its values, 4 its heads' outputs, where layers are counted as those of maps are. One method
  /// for all of them takes less of the download.
  val Kept(int what, int layer) const {
    return Guard([&] {
      if (what == 0) return TensorToJs(layer == info_.layers ? Finished().hidden() : Finished().Hidden(layer));
      const Place at = PlaceOf(layer);
      const Tensor& rows = what == 1   ? Finished().Queries(at.layer, at.part)
                           : what == 2 ? Finished().Keys(at.layer, at.part)
                           : what == 3 ? Finished().Values(at.layer, at.part)
                                       : Finished().HeadOutputs(at.layer, at.part);
      const bool is_of_query = what == 1 || what == 4;
      return HeadsToJs(rows, at.part == AttentionPart::kEncoder ? info_.encoder_heads
                             : is_of_query                      ? info_.heads
                                                                : info_.kv_heads);
    });
  }

 private:
  struct Place {
    Index layer;
    AttentionPart part;
  };
  /// Heads have one count of layers: those of the decoder come first, then those of the cross-attention, and then the
  /// encoder's.
  Place PlaceOf(Index layer) const {
    const Index layers = info_.layers;
    if (layer < layers) return {layer, AttentionPart::kDecoder};
    if (layer < 2 * layers) return {layer - layers, AttentionPart::kCross};
    return {layer - 2 * layers, AttentionPart::kEncoder};
  }

  const AttentionMaps& MapsOf(Index layer) const {
    const Place at = PlaceOf(layer);
    return Finished().Maps(at.layer, at.part);
  }

  Tensor LogitsOf(Index layer, Index head, Index row_begin, Index row_end) const {
    if (layer < 0) return Finished().Logits(row_begin, row_end);
    if (head < 0) return LensLogits(Finished(), layer, row_begin, row_end);
    const Place at = PlaceOf(layer);
    return HeadLogits(Finished(), at.layer, head, row_begin, row_end, at.part);
  }

  const std::shared_ptr<const ModelAttention>& Shared() const {
    if (!attention_) throw Error(ErrorCode::kOption, "the run is not finished yet");
    return attention_;
  }
  const ModelAttention& Finished() const { return *Shared(); }

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
  std::shared_ptr<const ModelAttention> attention_;
  ModelInfo info_;
};

EMSCRIPTEN_BINDINGS(attention) {
  emscripten::class_<AttentionHandle>("Attention")
      .function("next", &AttentionHandle::Next)
      .function("map", &AttentionHandle::Map)
      .function("rowSummaries", &AttentionHandle::RowSummaries)
      .function("fillOverview", &AttentionHandle::FillOverview)
      .function("logits", &AttentionHandle::Logits)
      .function("extremes", &AttentionHandle::Extremes)
      .function("explain", &AttentionHandle::Explain)
      .function("explainOutput", &AttentionHandle::ExplainOutput)
      .function("sources", &AttentionHandle::Sources)
      .function("contributions", &AttentionHandle::Contributions)
      .function("attend", &AttentionHandle::Attend)
      .function("again", &AttentionHandle::Again)
      .function("difference", &AttentionHandle::Difference)
      .function("findPaths", &AttentionHandle::FindPaths)
      .function("kept", &AttentionHandle::Kept);
}

}  // namespace

val BeginRun(const val& inputs, const std::string& options, bool at_once, const Model& model,
             const ModelAttention* before) {
  ModelCall call(model.info());
  Feed(call, inputs);
  call.Read(options);
  const Index piece = PieceOf(at_once);
  return AttentionToJs(before ? before->StartAttending(call.input(), call.options(), piece)
                              : model.StartAttending(call.input(), call.options(), piece),
                       model.info());
}

val AttentionToJs(AttendSteps steps, const ModelInfo& info) {
  return val(std::make_unique<AttentionHandle>(std::move(steps), info));
}

}  // namespace headlens
