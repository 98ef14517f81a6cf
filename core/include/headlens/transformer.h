// SPDX-License-Identifier: Apache-2.0
/// Encoder and decoder layers around multi-head attention, with PyTorch's parameters and defaults.
#ifndef HEADLENS_TRANSFORMER_H_
#define HEADLENS_TRANSFORMER_H_

#include "headlens/multihead.h"

namespace headlens {

enum class Activation {
  kRelu,
  kGelu,      ///< exact, with erf
  kGeluTanh,  ///< the approximation with tanh
  kSilu,
  kSwiGlu,  ///< silu(gate) · up (Shazeer 2020)
  kGeGlu,   ///< gelu(gate) · up, with the approximation with tanh (Shazeer 2020)
};

/// Returns true for the activations whose network has a gate.
constexpr bool IsGated(Activation activation) {
  return activation == Activation::kSwiGlu || activation == Activation::kGeGlu;
}

enum class NormKind { kLayerNorm, kRmsNorm };

struct TransformerLayerConfig {
  MultiheadConfig attention;
  Index dim_feedforward = 2048;
  Activation activation = Activation::kRelu;
  NormKind norm = NormKind::kLayerNorm;
  float layer_norm_eps = 1e-5f;
  bool norm_first = false;       ///< normalise before each block (pre-norm) instead of after its residual sum
  bool cross_attention = false;  ///< a decoder layer, which attends to `memory` between self-attention and feed-forward

  bool operator==(const TransformerLayerConfig&) const = default;
};

/// The matrices of a feed-forward network. `up` widens the stream and `down` narrows it again; only SwiGLU and GeGLU
/// have a `gate`.
struct FeedForwardWeights {
  std::unique_ptr<LinearWeights> gate, up, down;
};

/// The feed-forward block act(x W₁ᵀ + b₁) W₂ᵀ + b₂ from `linear1.*` and `linear2.*` (Vaswani et al. 2017, §3.3). With
/// SwiGLU, linear1 has twice the rows: first those of the gate, then those that the gate multiplies.
class FeedForward {
 public:
  FeedForward(const StateDict& state, Index width, Index hidden, Activation activation, bool bias,
              const Backend& backend);
  /// Takes x [rows, width] and fills y [rows, width].
  void Forward(DeviceView<const float, 2> x, DeviceView<float, 2> y) const;

 private:
  Activation activation_;
  const Backend& backend_;
  FeedForwardWeights weights_;
};

struct Block;

/// PyTorch's nn.TransformerEncoderLayer or, with `cross_attention`, nn.TransformerDecoderLayer. Of their dropouts it
/// has only that on the attention weights (AttentionSettings::dropout_p).
class TransformerLayer {
 public:
  /// Reads `self_attn.*`, `multihead_attn.*` (with cross-attention), `linear1.*`, `linear2.*`, `norm1.*`, `norm2.*` and
  /// `norm3.*` (with cross-attention). Throws kShape as MultiheadAttention does, and when dim_feedforward is not
  /// between 1 and kMaxWidth.
  TransformerLayer(const TransformerLayerConfig& config, const StateDict& state, const Backend& backend);

  const TransformerLayerConfig& config() const { return config_; }

  static Index ParameterCount(const TransformerLayerConfig& config);

  /// Runs the layer on x [B, T, D], whose last stride is 1. `self` holds the mask and options of self-attention; this
  /// function sets its query, key and value. `cross` holds those of the attention over the memory, with the memory as
  /// key and value; its query is set here. `self_results.output` receives the layer's output. All other results of
  /// `self_results` describe self-attention, and `cross_results` describe the attention over the memory.
  void Forward(DeviceView<const float, 3> x, MultiheadInputs self, MultiheadInputs cross,
               const MultiheadResults& self_results, const MultiheadResults& cross_results) const;

 private:
  TransformerLayerConfig config_;
  const Backend& backend_;
  MultiheadAttention self_attention_;
  std::unique_ptr<MultiheadAttention> cross_attention_;
  std::shared_ptr<const Block> block_;
};

}  // namespace headlens

#endif  // HEADLENS_TRANSFORMER_H_
