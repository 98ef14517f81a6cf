// SPDX-License-Identifier: Apache-2.0
/// One forward pass through a model, layer by layer.
#ifndef HEADLENS_SRC_MODELS_PASS_H_
#define HEADLENS_SRC_MODELS_PASS_H_

#include <functional>

#include "base/views.h"
#include "models/family.h"

namespace headlens::models {

/// The tensors of a layer, as rows [T, H·d], [T, G·d] or [T, D]. What is not kept is empty.
struct Kept {
  DeviceTensor q, k, v;
  DeviceTensor heads;                                   // what the heads give, before the output projection
  DeviceTensor feed_forward;                            // what the feed-forward network adds to the stream
  DeviceTensor cross_q, cross_k, cross_v, cross_heads;  // of the attention to the encoder's output
};

/// Rows [T, H·d] as [1, H, T, d].
inline DeviceView<float, 4> AsHeads(const DeviceTensor& rows, Index heads) {
  return SplitHeads(DenseView(rows.data(), std::array<Index, 3>{1, rows.shape()[0], rows.shape()[1]}), heads);
}

/// Throw kValue when the model has no such layer, head or rows.
void CheckLayer(const ModelInfo& info, Index layer, Index head);
void CheckRows(Index row_begin, Index row_end, Index rows);

/// The attention problem of layer `layer` for queries [1, H, T, d] and keys [1, G, S, d], and the positions of the
/// first of each. `padding` is [S] or empty.
AttentionProblem ProblemOf(const LoadedModel& model, Index layer, DeviceView<const float, 4> q, Index first_query,
                           KeyValueView k, Index first_key, std::span<const std::uint8_t> padding);

/// The same for a layer's attention to a source.
AttentionProblem CrossProblemOf(const LoadedModel& model, DeviceView<const float, 4> q, KeyValueView k,
                                std::span<const std::uint8_t> padding);

/// The logits of rows of the residual stream, on the host, before their soft cap and after it.
Tensor UncappedLogitsOf(const LoadedModel& model, DeviceView<const float, 2> hidden);
Tensor LogitsOf(const LoadedModel& model, DeviceView<const float, 2> hidden);

/// The logits [1, labels] of an image, whose stream is `hidden` [T, D].
Tensor ClassLogitsOf(const LoadedModel& model, DeviceView<const float, 2> hidden);

/// The tokens [begin, end) whose mean the second matrix of a classifier reads.
struct TokenRange {
  Index begin, end;
};
TokenRange SecondTokens(const LoadedModel& model, Index length);

/// The mean of some rows [n, D] on the host: [1, D].
Tensor MeanRow(View<const float, 2> rows);

/// Normalises rows of queries or keys [T, H·d], each head on its own or all together, as the norm has it. Does nothing
/// without a norm.
void NormalizeHeads(const Backend& backend, const BlockForm& form, const Norm& norm, DeviceView<float, 2> rows);

/// Throws kUnsupported when the model has no logits.
void RequireLogits(const LoadedModel& model);

/// Takes a residual stream through the layers, piece by piece. A layer has three steps: its queries, keys and values,
/// by rows; its attention, by heads; and what is made of that, the output and the feed-forward network, by rows. The
/// layers of a decoder with an encoder have two more before the last: the queries of its attention to the source, by
/// rows; and that attention, by heads.
class Pass {
 public:
  /// Decides what a layer's attention looks at: it is called once the layer's queries, keys and values are in Kept, and
  /// returns the problem with its q, k and v.
  using Memory = std::function<AttentionProblem(Index layer, const Kept& kept)>;
  /// The same for the attention to a source, called once cross_q is there. It may fill in cross_k and cross_v.
  using Source = std::function<AttentionProblem(Index layer, Kept& kept)>;

  /// `hidden` [T, D] is the stream before layer `first_layer`, whose first row is the token at `first_position`. A
  /// piece has about `piece` multiply-adds. Borrows all but `memory`.
  Pass(const LoadedModel& model, const AttendOptions& options, Index first_position, const DeviceTensor& hidden,
       Index first_layer, Index piece, Memory memory, Source source = {});

  /// Runs the next piece, and returns the share of all pieces that are done then: 1 when that was the last one.
  double Next();
  /// Runs all pieces.
  void Run() {
    while (Next() < 1.0) continue;
  }

  Index layer() const { return layer_; }
  /// True when the next piece is the first one of its layer.
  bool at_layer() const { return step_ == 0 && next_ == 0; }
  /// The tensors of the layer that was run last. The feed-forward network's is there with keep_parts alone.
  Kept& kept() { return kept_; }

 private:
  /// The pieces of a step, and the function that runs one of them.
  struct Step {
    Index pieces;
    void (Pass::*run)(const Layer& layer, Index piece);
  };

  struct Part {
    Index first, count;
  };
  struct Angles {
    DeviceTensor cosine, sine;
  };
  Index steps() const { return model_.encoder ? 5 : 3; }
  Step StepOf(Index step) const;
  Index RowPieces(Index work_of_a_row) const;
  Index GroupsTogether() const;
  Part RowsOf(Index piece, Index pieces) const;
  void Project(const Layer& layer, Index piece);
  void Attend(const Layer& layer, Index piece);
  void ProjectCross(const Layer& layer, Index piece);
  void AttendCross(const Layer& layer, Index piece);
  void Finish(const Layer& layer, Index piece);
  void AttendGroups(const AttentionProblem& problem, const DeviceTensor& heads, Index piece);
  void AddHeads(const Layer& layer, DeviceView<float, 2> stream, Index first);
  void BeginAttention(const Layer& layer);
  void ReplaceValues();
  std::vector<float> MeanValues() const;
  void PatchHeads(const HeadPatches& patches, const DeviceTensor& heads);

  const LoadedModel& model_;
  const AttendOptions& options_;
  const DeviceTensor& hidden_;
  Index piece_;
  Memory memory_;
  Source source_;
  Angles angles_, local_angles_;  // of rotary positions
  Index first_layer_, layer_, step_ = 0, next_ = 0;
  Index done_ = 0;
  Kept kept_;
  AttentionProblem problem_;  // of this layer
};

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_PASS_H_
