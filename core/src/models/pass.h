// SPDX-License-Identifier: Apache-2.0
/// One forward pass through a model, layer by layer.
#ifndef HEADLENS_SRC_MODELS_PASS_H_
#define HEADLENS_SRC_MODELS_PASS_H_

#include "base/views.h"
#include "models/family.h"

namespace headlens::models {

/// What a layer leaves behind; rows [T, H·d] or [T, G·d].
struct Kept {
  Tensor q, k, v;
};

/// [T, H·d] rows as [1, H, T, d].
inline View<float, 4> AsHeads(const Tensor& rows, Index heads) {
  return SplitHeads(DenseView(rows.data(), std::array<Index, 3>{1, rows.shape()[0], rows.shape()[1]}), heads);
}

/// Throws kValue for a layer or head, or for rows, that are not there.
void CheckLayer(const ModelInfo& info, Index layer, Index head);
void CheckRows(Index row_begin, Index row_end, Index rows);

/// The attention of layer `layer`, given its queries [1, H, T, d] and keys [1, G, S, d] and where the first of each
/// stands. `padding` [S] or empty.
AttentionProblem ProblemOf(const LoadedModel& model, Index layer, View<const float, 4> q, Index first_query,
                           KeyValueView k, Index first_key, std::span<const std::uint8_t> padding);

/// Rows of the stream for tokens at positions from `first_position` on. Throws as Model::Attend.
Tensor Embed(const LoadedModel& model, const ModelInput& input, Index first_position);

/// Logits of rows of the stream, on the host.
Tensor LogitsOf(const LoadedModel& model, View<const float, 2> hidden);

/// Throws kUnsupported when the model has no logits.
void RequireLogits(const LoadedModel& model);

/// Takes a stream through the layers. What a layer's attention looks at is up to `Memory`, a function of the layer and
/// of what it kept now, which returns the problem with its q, k and v.
class Pass {
 public:
  Pass(const LoadedModel& model, const AttendOptions& options, Index first_position, Index count)
      : model_(model), options_(options) {
    const auto& rope = model.architecture.rope;
    if (!rope) return;
    RopeAngles angles = AnglesAt(*rope, first_position, count, first_position + count);
    angles_ = {model.backend.Keep(std::move(angles.cosine)), model.backend.Keep(std::move(angles.sine))};
  }

  /// One layer: hidden ← layer(hidden).
  template <class Memory>
  void RunLayer(Index index, const Tensor& hidden, Kept& kept, const Memory& memory) const {
    const Layer& layer = model_.parameters.layers[static_cast<std::size_t>(index)];
    RunBlock(model_.backend, model_.architecture.block, layer, hidden.view<2>(), [&](View<const float, 2> x) {
      ProjectHeads(index, layer, x, kept);
      const Tensor heads = model_.backend.Allocate({x.shape[0], layer.o->in_features()});
      AttentionResults results;
      results.output = AsHeads(heads, model_.architecture.info.heads);
      AttentionProblem problem = memory();
      if (const auto& mask = options_.head_mask) {
        problem.head_mask = {mask.at(index), {1, mask.shape[1]}, {0, mask.strides[1]}};
      }
      model_.backend.Attention(problem, results);
      return Project(model_.backend, heads.view<2>(), *layer.o);
    });
  }

 private:
  void ProjectHeads(Index index, const Layer& layer, View<const float, 2> x, Kept& kept) const;

  const LoadedModel& model_;
  const AttendOptions& options_;
  RopeAngles angles_;
};

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_PASS_H_
