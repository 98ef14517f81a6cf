// SPDX-License-Identifier: Apache-2.0
/// The multi-head attention layer, with PyTorch's parameters and defaults.
#ifndef HEADLENS_MULTIHEAD_H_
#define HEADLENS_MULTIHEAD_H_

#include <memory>
#include <optional>

#include "headlens/attention.h"
#include "headlens/backend.h"
#include "headlens/cache.h"
#include "headlens/positions.h"
#include "headlens/state_dict.h"
#include "headlens/tensor.h"

namespace headlens {

/// The widest that a layer may be: no published model comes near; beyond, a size is a mistake or an attack.
inline constexpr Index kMaxWidth = Index{1} << 24;

struct MultiheadConfig {
  Index embed_dim = 0;     ///< D; a multiple of num_heads
  Index num_heads = 0;     ///< H
  Index num_kv_heads = 0;  ///< G, a divisor of H (Ainslie et al. 2023); 0: num_heads
  Index kdim = 0;          ///< width of the keys given; 0: embed_dim
  Index vdim = 0;          ///< width of the values given; 0: embed_dim
  bool bias = true;
  bool add_bias_kv = false;    ///< one learned key and value more, `bias_k` and `bias_v`
  bool add_zero_attn = false;  ///< one key and value of zeros more

  Index key_width() const { return kdim ? kdim : embed_dim; }
  Index value_width() const { return vdim ? vdim : embed_dim; }
  Index kv_heads() const { return num_kv_heads ? num_kv_heads : num_heads; }
  Index head_dim() const { return embed_dim / num_heads; }
  Index kv_dim() const { return kv_heads() * head_dim(); }
  /// in_proj_weight holds all three projections when every width is D; otherwise each has a name of its own.
  bool packed_projections() const {
    return key_width() == embed_dim && value_width() == embed_dim && kv_heads() == num_heads;
  }
  Index appended_keys() const { return (add_bias_kv ? 1 : 0) + (add_zero_attn ? 1 : 0); }

  bool operator==(const MultiheadConfig&) const = default;
};

/// What one call computes with the layer. Inputs are borrowed for the call.
struct MultiheadInputs : AttentionSettings {
  View<const float, 3> query;    ///< [B, T, D], last stride 1; [T, B, D] memory is addressed by its strides
  View<const float, 3> key;      ///< [B, S, kdim]
  View<const float, 3> value;    ///< [B, S, vdim]
  std::optional<float> scale;    ///< default 1/√d
  std::optional<Rotary> rotary;  ///< turns queries and keys after their projection
  /// Keys and values of the tokens so far: those of this call are appended, and all are attended to. Masks then speak
  /// of all kept keys. Not with add_bias_kv or add_zero_attn.
  KvCache* cache = nullptr;
};

/// What the layer was asked for beside its output. Each is filled when `data` is there; S counts appended keys too.
struct MultiheadResults {
  View<float, 3> output;         ///< [B, T, D], last stride 1
  AttentionResults attention;    ///< its `output` is the heads' outputs [B, H, T, d]; may be absent
  View<float, 4> q, k, v;        ///< [B, H, T, d], [B, G, S, d] of this call, after projection, bias and rotation
  View<float, 4> contributions;  ///< [B, H, T, D]: each head's part of the output, before the output's bias
};

/// Multi-head attention (Vaswani et al. 2017, §3.2.2):
/// Q = query W_qᵀ + b_q and so on, attention in each head, concatenated, output = heads W_oᵀ + b_o.
class MultiheadAttention {
 public:
  /// Reads `in_proj_weight` [3D, D] (or `q_proj_weight` [D, D], `k_proj_weight` [G·d, kdim] and `v_proj_weight`
  /// [G·d, vdim]), `in_proj_bias` [D + 2·G·d], `bias_k` and `bias_v` [1, 1, G·d], `out_proj.weight` [D, D] and
  /// `out_proj.bias` [D]. `backend` must outlive the layer. Throws kShape when embed_dim is not a multiple of num_heads
  /// (naming both), or when a parameter is missing or has another shape.
  MultiheadAttention(const MultiheadConfig& config, const StateDict& state, const Backend& backend);

  const MultiheadConfig& config() const { return config_; }

  /// As PyTorch counts them: 4·D² + 4·D with biases and equal widths. Throws as Validate.
  static Index ParameterCount(const MultiheadConfig& config);

  void Forward(const MultiheadInputs& inputs, const MultiheadResults& results) const;

 private:
  void CheckInputs(const MultiheadInputs& inputs) const;
  void AppendConstants(Index length, View<float, 3> k, View<float, 3> v) const;
  void Contributions(View<const float, 4> heads, View<float, 4> contributions) const;

  MultiheadConfig config_;
  const Backend& backend_;
  std::unique_ptr<LinearWeights> q_proj_, k_proj_, v_proj_, out_proj_;
  Tensor bias_k_, bias_v_;
  Tensor out_weight_;  // [D, D] as given, for the heads' contributions
};

/// Throws kShape, naming both, unless embed_dim, num_heads and num_kv_heads are positive and fit, and no width is more
/// than kMaxWidth.
void Validate(const MultiheadConfig& config);

}  // namespace headlens

#endif  // HEADLENS_MULTIHEAD_H_
