// SPDX-License-Identifier: Apache-2.0
/// One forward pass through a model, layer by layer.
#ifndef HEADLENS_SRC_MODELS_PASS_H_
#define HEADLENS_SRC_MODELS_PASS_H_

#include "base/views.h"
#include "models/family.h"

namespace headlens::models {

/// The queries, keys and values of a layer, as rows [T, H·d] or [T, G·d].
struct Kept {
  DeviceTensor q, k, v;
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

/// The rows of the residual stream for tokens at positions from `first_position` on. Throws as Model::Attend does.
DeviceTensor Embed(const LoadedModel& model, const ModelInput& input, Index first_position);

/// The logits of rows of the residual stream, on the host.
Tensor LogitsOf(const LoadedModel& model, DeviceView<const float, 2> hidden);

/// Throws kUnsupported when the model has no logits.
void RequireLogits(const LoadedModel& model);

/// Takes a residual stream through the layers. `Memory` decides what a layer's attention looks at: a function that is
/// called once the layer's queries, keys and values are in Kept, and returns the problem with its q, k and v.
class Pass {
 public:
  Pass(const LoadedModel& model, const AttendOptions& options, Index first_position, Index count)
      : model_(model), options_(options) {
    const auto& rope = model.architecture.rope;
    if (!rope) return;
    RopeAngles angles = AnglesAt(*rope, first_position, count, first_position + count);
    cosine_ = model.backend.Upload(std::move(angles.cosine));
    sine_ = model.backend.Upload(std::move(angles.sine));
  }

  /// Runs one layer: hidden ← layer(hidden).
  template <class Memory>
  void RunLayer(Index index, const DeviceTensor& hidden, Kept& kept, const Memory& memory) const {
    const Layer& layer = model_.parameters.layers[static_cast<std::size_t>(index)];
    RunBlock(model_.backend, model_.architecture.block, layer, hidden.view<2>(), [&](DeviceView<const float, 2> x) {
      ProjectHeads(index, layer, x, kept);
      const DeviceTensor heads = model_.backend.Allocate({x.shape[0], layer.o->in_features()});
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
  void ProjectHeads(Index index, const Layer& layer, DeviceView<const float, 2> x, Kept& kept) const;

  const LoadedModel& model_;
  const AttendOptions& options_;
  DeviceTensor cosine_, sine_;  // of rotary positions
};

}  // namespace headlens::models

#endif  // HEADLENS_SRC_MODELS_PASS_H_
