// SPDX-License-Identifier: Apache-2.0
/// The multi-head attention layer with PyTorch's parameters and defaults.
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

/// The widest layer that is accepted. No published model comes near it, so a larger size is a mistake or an attack.
inline constexpr Index kMaxWidth = Index{1} << 24;

struct MultiheadConfig {
  Index embed_dim = 0;     ///< D; a multiple of num_heads
  Index num_heads = 0;     ///< H
  Index num_kv_heads = 0;  ///< G, a divisor of H (Ainslie et al. 2023); 0: num_heads
  Index kdim = 0;          ///< width of the key input; 0: embed_dim
  Index vdim = 0;          ///< width of the value input; 0: embed_dim
  bool bias = true;
  bool add_bias_kv = false;    ///< append one learned key and value, `bias_k` and `bias_v`
  bool add_zero_attn = false;  ///< append one key and value of zeros

  Index key_width() const { return kdim ? kdim : embed_dim; }
  Index value_width() const { return vdim ? vdim : embed_dim; }
  Index kv_heads() const { return num_kv_heads ? num_kv_heads : num_heads; }
  Index head_dim() const { return embed_dim / num_heads; }
  Index kv_dim() const { return kv_heads() * head_dim(); }
  /// True when in_proj_weight holds all three projections, which needs equal widths. Otherwise each has its own
  /// parameter.
  bool packed_projections() const {
    return key_width() == embed_dim && value_width() == embed_dim && kv_heads() == num_heads;
  }
  Index appended_keys() const { return (add_bias_kv ? 1 : 0) + (add_zero_attn ? 1 : 0); }

  bool operator==(const MultiheadConfig&) const = default;
};

/// The inputs and options of one call of the layer. Borrowed for the call.
struct MultiheadInputs : AttentionSettings {
  DeviceView<const float, 3> query;  ///< [B, T, D], last stride 1; [T, B, D] memory is addressed by its strides
  DeviceView<const float, 3> key;    ///< [B, S, kdim]
  DeviceView<const float, 3> value;  ///< [B, S, vdim]
  std::optional<float> scale;        ///< default 1/√d
  std::optional<Rotary> rotary;      ///< turns queries and keys after their projection
  /// Keys and values of earlier tokens. Those of this call are appended, and the queries attend to all of them; masks
  /// then cover all kept keys. Cannot be used with add_bias_kv or add_zero_attn.
  KvCache* cache = nullptr;
};

/// The results of one call. Each view that is set is filled. S includes appended keys.
struct MultiheadResults {
  DeviceView<float, 3> output;         ///< [B, T, D], last stride 1
  AttentionResults attention;          ///< its `output` is the heads' outputs [B, H, T, d]; may be absent
  DeviceView<float, 4> q, k, v;        ///< [B, H, T, d], [B, G, S, d] of this call, after projection, bias and rotation
  DeviceView<float, 4> contributions;  ///< [B, H, T, D]: each head's part of the output, before the output's bias
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
  void AppendConstants(Index length, DeviceView<float, 3> k, DeviceView<float, 3> v) const;
  void Contributions(DeviceView<const float, 4> heads, DeviceView<float, 4> contributions) const;

  MultiheadConfig config_;
  const Backend& backend_;
  std::unique_ptr<LinearWeights> q_proj_, k_proj_, v_proj_, out_proj_;
  Tensor bias_k_, bias_v_;
  Tensor out_weight_;  // [D, D] as given, for the heads' contributions
};

/// Throws kShape, naming both sizes, unless embed_dim, num_heads and num_kv_heads are positive and fit each other and
/// no width exceeds kMaxWidth.
void Validate(const MultiheadConfig& config);

}  // namespace headlens

#endif  // HEADLENS_MULTIHEAD_H_
