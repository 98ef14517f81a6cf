// SPDX-License-Identifier: Apache-2.0
/// The transformer block, of which the layers of torch.nn and the models are made: it adds to the stream what attention
/// and then a feed-forward network make of it, with a norm before or behind each addition.
#ifndef HEADLENS_SRC_LAYERS_BLOCK_H_
#define HEADLENS_SRC_LAYERS_BLOCK_H_

#include <functional>

#include "headlens/transformer.h"

namespace headlens {

/// The form of a block, which all blocks of a model share.
struct BlockForm {
  NormKind norm = NormKind::kLayerNorm;
  float norm_eps = 1e-5f;
  bool norm_first = true;  ///< x + f(norm(x)); otherwise norm(x + f(x))
  Activation activation = Activation::kGelu;
};

/// γ and β [D] of a norm, of which β may be empty.
struct Norm {
  Tensor weight, bias;
  explicit operator bool() const { return weight.size() > 0; }
};

/// The parameters of a block beside those of its attention.
struct Block {
  Norm attention_norm, cross_attention_norm, feed_forward_norm;
  FeedForwardWeights feed_forward;
};

/// y = norm(x), row by row; y may be x.
void Normalize(const Backend& backend, const BlockForm& form, const Norm& norm, View<const float, 2> x,
               View<float, 2> y);

/// x ← act(x), with SwiGLU silu(x) · up; `up` is for that only.
void Activate(const Backend& backend, Activation activation, std::span<float> x, std::span<const float> up);

/// x Wᵀ + b
Tensor Project(const Backend& backend, View<const float, 2> x, const LinearWeights& weights);

/// y = act(x W_upᵀ + b_up) W_downᵀ + b_down, for x and y [rows, D].
void RunFeedForward(const Backend& backend, Activation activation, const FeedForwardWeights& weights,
                    View<const float, 2> x, View<float, 2> y);

/// Returns what a step of the block, such as its attention, makes of the rows x [rows, D] and adds to the stream.
using BlockStep = std::function<Tensor(View<const float, 2> x)>;

/// stream ← block(stream), for a stream whose rows [rows, D] lie one after the other. Only the blocks of decoders have
/// `cross_attention`.
void RunBlock(const Backend& backend, const BlockForm& form, const Block& block, View<float, 2> stream,
              const BlockStep& attention, const BlockStep& cross_attention = {});

}  // namespace headlens

#endif  // HEADLENS_SRC_LAYERS_BLOCK_H_
