// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_HEADS_UNPACKED_LAYER_H_
#define HEADLENS_SRC_HEADS_UNPACKED_LAYER_H_

#include <array>

#include "headlens/circuits.h"
#include "headlens/model.h"

namespace headlens {

/// The attention's weights of one layer of a model, which are kept until another layer is asked for.
class UnpackedLayer {
 public:
  explicit UnpackedLayer(const Model& model) : model_(model) {}

  /// Borrowed until the next call.
  LayerWeights At(Index layer) {
    if (layer_ != layer) {
      const auto weights = [&](Projection projection) { return model_.Weights(layer, projection); };
      matrices_ = {weights(Projection::kQuery), weights(Projection::kKey), weights(Projection::kValue),
                   weights(Projection::kOutput)};
      layer_ = layer;
    }
    const auto& [q, k, v, o] = matrices_;
    LayerWeights weights{q.view<2>(), k.view<2>(),         v.view<2>(),
                         o.view<2>(), model_.info().heads, model_.info().kv_heads};
    if (const Tensor* scale = model_.AttentionNorm(layer)) weights.norm = scale->values();
    return weights;
  }

 private:
  Model model_;  // shares the weights
  std::array<Tensor, 4> matrices_;
  Index layer_ = -1;
};

}  // namespace headlens

#endif  // HEADLENS_SRC_HEADS_UNPACKED_LAYER_H_
