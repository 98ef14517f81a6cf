// SPDX-License-Identifier: Apache-2.0
/// Encoder and decoder layers around multi-head attention, with PyTorch's parameters and defaults.
#ifndef HEADLENS_TRANSFORMER_H_
#define HEADLENS_TRANSFORMER_H_

#include "headlens/multihead.h"

namespace headlens {

enum class Activation {
  kRelu,
  kGelu,      ///< exact, with erf
  kGeluTanh,  ///< its tanh approximation
  kSwiGlu,    ///< silu(gate) · up (Shazeer 2020)
};

enum class NormKind { kLayerNorm, kRmsNorm };

struct TransformerLayerConfig {
  MultiheadConfig attention;
  Index dim_feedforward = 2048;
  Activation activation = Activation::kRelu;
  NormKind norm = NormKind::kLayerNorm;
  float layer_norm_eps = 1e-5f;
  bool norm_first = false;       ///< normalise before each block (pre-norm) instead of after its residual
  bool cross_attention = false;  ///< a decoder layer: attention over `memory` between self-attention and feed-forward

  bool operator==(const TransformerLayerConfig&) const = default;
};

/// act(x W₁ᵀ + b₁) W₂ᵀ + b₂ from `linear1.*` and `linear2.*` (Vaswani et al. 2017, §3.3). With SwiGLU, linear1 has
/// twice the rows: the gate's, then those that it multiplies.
class FeedForward {
 public:
  FeedForward(const StateDict& state, Index width, Index hidden, Activation activation, bool bias,
              const Backend& backend);
  /// x [rows, width] → y [rows, width]
  void Forward(View<const float, 2> x, View<float, 2> y) const;

 private:
  Activation activation_;
  const Backend& backend_;
  std::unique_ptr<LinearWeights> linear1_, linear2_;
};

/// nn.TransformerEncoderLayer, and nn.TransformerDecoderLayer with `cross_attention`, without dropout.
class TransformerLayer {
 public:
  /// Reads `self_attn.*`, `multihead_attn.*` (with cross-attention), `linear1.*`, `linear2.*`, `norm1.*`, `norm2.*`,
  /// `norm3.*`. Throws kShape as MultiheadAttention, and when dim_feedforward is not from 1 to kMaxWidth.
  TransformerLayer(const TransformerLayerConfig& config, const StateDict& state, const Backend& backend);

  const TransformerLayerConfig& config() const { return config_; }

  static Index ParameterCount(const TransformerLayerConfig& config);

  /// `self` holds the mask and options of self-attention; its query, key and value are filled in here. `cross`
  /// likewise: its key and value are the memory. `results.output` of `self_results` is the layer's output; what else is
  /// there describes self-attention, and `cross_results` the attention over the memory. x [B, T, D], last stride 1.
  void Forward(View<const float, 3> x, MultiheadInputs self, MultiheadInputs cross,
               const MultiheadResults& self_results, const MultiheadResults& cross_results) const;

 private:
  struct Norm {
    Tensor weight, bias;
  };
  void Normalize(const Norm& norm, View<const float, 2> x, View<float, 2> y) const;

  TransformerLayerConfig config_;
  const Backend& backend_;
  MultiheadAttention self_attention_;
  std::unique_ptr<MultiheadAttention> cross_attention_;
  FeedForward feed_forward_;
  std::vector<Norm> norms_;
};

}  // namespace headlens

#endif  // HEADLENS_TRANSFORMER_H_
