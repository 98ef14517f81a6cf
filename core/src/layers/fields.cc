// SPDX-License-Identifier: Apache-2.0
#include "layers/fields.h"

namespace headlens {
namespace {

using field::Required;

constexpr Choice kActivations[] = {{"relu", Activation::kRelu},
                                   {"gelu", Activation::kGelu},
                                   {"gelu_tanh", Activation::kGeluTanh},
                                   {"swiglu", Activation::kSwiGlu}};
constexpr Choice kNorms[] = {{"layer_norm", NormKind::kLayerNorm}, {"rms_norm", NormKind::kRmsNorm}};
constexpr Choice kPairs[] = {{"half", RotaryPairs::kHalf}, {"interleaved", RotaryPairs::kInterleaved}};

}  // namespace

std::span<const Field<MultiheadConfig>> HeadsFields() {
  static constexpr Field<MultiheadConfig> kFields[] = {
      Required(
          field::Count<&MultiheadConfig::embed_dim>("embed_dim", 1, "D, the model width; a multiple of `num_heads`.")),
      Required(field::Count<&MultiheadConfig::num_heads>("num_heads", 1, "H, the number of heads.")),
      field::Count<&MultiheadConfig::num_kv_heads>("num_kv_heads", 1,
                                                   "G, the number of key/value heads, which must divide `num_heads` "
                                                   "(grouped-query attention). Default `num_heads`."),
      field::Flag<&MultiheadConfig::bias>("bias", "All projections have biases."),
  };
  return kFields;
}

std::span<const Field<MultiheadConfig>> MultiheadFields() {
  static constexpr Field<MultiheadConfig> kFields[] = {
      field::Count<&MultiheadConfig::kdim>("kdim", 1, "The width of the key input. Default `embed_dim`."),
      field::Count<&MultiheadConfig::vdim>("vdim", 1, "The width of the value input. Default `embed_dim`."),
      field::Flag<&MultiheadConfig::add_bias_kv>("add_bias_kv", "Appends one learned key and value."),
      field::Flag<&MultiheadConfig::add_zero_attn>("add_zero_attn", "Appends one key and value of zeros."),
  };
  return kFields;
}

std::span<const Field<TransformerLayerConfig>> TransformerFields() {
  static constexpr Field<TransformerLayerConfig> kFields[] = {
      field::Count<&TransformerLayerConfig::dim_feedforward>("dim_feedforward", 1,
                                                             "F, the width between the two linear layers."),
      field::OneOf<&TransformerLayerConfig::activation>(
          "activation", kActivations,
          "\"gelu_tanh\" is GELU's approximation with tanh; \"swiglu\" needs linear1.weight [2F,D], with the rows of "
          "the gate first."),
      field::OneOf<&TransformerLayerConfig::norm>("norm", kNorms, "The kind of norm. \"rms_norm\" has no bias."),
      field::Number<&TransformerLayerConfig::layer_norm_eps>(
          "layer_norm_eps", "The number that the norm, of either kind, adds under its root."),
      field::Flag<&TransformerLayerConfig::norm_first>(
          "norm_first", "Normalises before each block instead of after its residual sum."),
  };
  return kFields;
}

std::span<const Field<Rotary>> RotaryFields() {
  static constexpr Field<Rotary> kFields[] = {
      field::OneOf<&Rotary::pairs>("rotary", kPairs,
                                   "Rotary positions: rotates pairs of elements of each query and key by an angle that "
                                   "grows with the position. \"half\" pairs i and i + r/2 (Llama), \"interleaved\" 2i "
                                   "and 2i + 1 (GPT-J). When absent, nothing is rotated."),
      field::Needs("rotary", field::Count<&Rotary::dim>(
                                 "rotary_dim", 2,
                                 "r, the number of leading elements of a head that are rotated; even. Default all.")),
      field::Needs("rotary", field::Number<&Rotary::base>(
                                 "rotary_base",
                                 "The base of the rotation frequencies: pair i turns by base^(−2i/r) per position.")),
      field::Needs("rotary", field::Number<&Rotary::scale>(
                                 "rotary_scale", "Positions are divided by this number (linear interpolation).")),
  };
  return kFields;
}

}  // namespace headlens
