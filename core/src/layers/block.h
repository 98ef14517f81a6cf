// SPDX-License-Identifier: Apache-2.0
/// The transformer block from which torch.nn's layers and the models are built. It adds the results of attention and
/// then of a feed-forward network to the residual stream, with a norm before or after each sum.
#ifndef HEADLENS_SRC_LAYERS_BLOCK_H_
#define HEADLENS_SRC_LAYERS_BLOCK_H_

#include <functional>

#include "headlens/transformer.h"

namespace headlens {

/// The form that all blocks of a model share.
struct BlockForm {
  NormKind norm = NormKind::kLayerNorm;
  float norm_eps = 1e-5f;
  bool norm_first = true;  ///< x + norm(f(norm(x))), where either norm may be absent, instead of norm(x + f(x))
  Activation activation = Activation::kGelu;
  bool parallel = false;  ///< with norm_first: attention and feed-forward both read the stream before the block
};

/// The parameters γ and β [D] of a norm. β may be empty.
struct Norm {
  DeviceTensor weight, bias;
  explicit operator bool() const { return weight.size() > 0; }
};

/// The parameters of a block other than those of its attention. A norm that is empty is left out.
struct Block {
  Norm attention_norm, cross_attention_norm, feed_forward_norm;
  /// Of what attention and the feed-forward network add to the stream.
  Norm attention_output_norm, feed_forward_output_norm;
  FeedForwardWeights feed_forward;
};

/// y = norm(x), row by row; y may be x.
void Normalize(const Backend& backend, const BlockForm& form, const Norm& norm, DeviceView<const float, 2> x,
               DeviceView<float, 2> y);

/// x ← act(x), or with a gate x ← act(x) · up. Other activations do not use `up`.
void Activate(const Backend& backend, Activation activation, DeviceView<float, 1> x, DeviceView<const float, 1> up);

/// x Wᵀ + b
DeviceTensor Project(const Backend& backend, DeviceView<const float, 2> x, const LinearWeights& weights);

/// y = act(x W_upᵀ + b_up) W_downᵀ + b_down, for x and y [rows, D].
void RunFeedForward(const Backend& backend, Activation activation, const FeedForwardWeights& weights,
                    DeviceView<const float, 2> x, DeviceView<float, 2> y);

/// stream ← stream with what the feed-forward network adds to it, for some contiguous rows of a stream. When `kept` is
/// given, it receives what is added.
void RunFeedForwardStep(const Backend& backend, const BlockForm& form, const Block& block, DeviceView<float, 2> stream,
                        DeviceView<float, 2> kept = {});

/// A step of the block, such as its attention. Returns the rows that it adds to the stream, computed from rows x [rows,
/// D].
using BlockStep = std::function<DeviceTensor(DeviceView<const float, 2> x)>;

/// stream ← block(stream), for a stream [rows, D] of contiguous rows. Only the blocks of decoders have
/// `cross_attention`.
void RunBlock(const Backend& backend, const BlockForm& form, const Block& block, DeviceView<float, 2> stream,
              const BlockStep& attention, const BlockStep& cross_attention = {});

}  // namespace headlens

#endif  // HEADLENS_SRC_LAYERS_BLOCK_H_
