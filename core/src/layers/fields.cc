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
      Required(field::Count<&MultiheadConfig::embed_dim>("embed_dim", 1, "D, a multiple of `num_heads`.")),
      Required(field::Count<&MultiheadConfig::num_heads>("num_heads", 1, "H.")),
      field::Count<&MultiheadConfig::num_kv_heads>(
          "num_kv_heads", 1, "G, which must divide `num_heads` (grouped-query attention). Default `num_heads`."),
      field::Flag<&MultiheadConfig::bias>("bias", "All projections have biases."),
  };
  return kFields;
}

std::span<const Field<MultiheadConfig>> MultiheadFields() {
  static constexpr Field<MultiheadConfig> kFields[] = {
      field::Count<&MultiheadConfig::kdim>("kdim", 1, "Width of the keys. Default `embed_dim`."),
      field::Count<&MultiheadConfig::vdim>("vdim", 1, "Width of the values. Default `embed_dim`."),
      field::Flag<&MultiheadConfig::add_bias_kv>("add_bias_kv", "One learned key and value more, at the end."),
      field::Flag<&MultiheadConfig::add_zero_attn>("add_zero_attn", "One key and value of zeros more, at the end."),
  };
  return kFields;
}

std::span<const Field<TransformerLayerConfig>> TransformerFields() {
  static constexpr Field<TransformerLayerConfig> kFields[] = {
      field::Count<&TransformerLayerConfig::dim_feedforward>("dim_feedforward", 1,
                                                             "F, the width between the two linear layers."),
      field::OneOf<&TransformerLayerConfig::activation>(
          "activation", kActivations,
          "\"gelu_tanh\" is GELU's approximation; \"swiglu\" has linear1.weight [2F,D], the gate's rows first."),
      field::OneOf<&TransformerLayerConfig::norm>("norm", kNorms, "Norms of \"rms_norm\" have no bias."),
      field::Number<&TransformerLayerConfig::layer_norm_eps>("layer_norm_eps",
                                                             "What the norm, of either kind, adds to the variance."),
      field::Flag<&TransformerLayerConfig::norm_first>("norm_first",
                                                       "Normalise before each block instead of after its residual."),
  };
  return kFields;
}

std::span<const Field<Rotary>> RotaryFields() {
  static constexpr Field<Rotary> kFields[] = {
      field::OneOf<&Rotary::pairs>("rotary", kPairs,
                                   "Turns pairs of elements of q and k by their positions: \"half\" pairs i and i + "
                                   "r/2 (Llama), \"interleaved\" 2i "
                                   "and 2i + 1 (GPT-J). Absent: nothing is turned."),
      field::Needs("rotary", field::Count<&Rotary::dim>(
                                 "rotary_dim", 2,
                                 "How many leading elements of a head are turned, an even number. Default all.")),
      field::Needs("rotary", field::Number<&Rotary::base>("rotary_base", "The base of the pairs' rates.")),
      field::Needs("rotary", field::Number<&Rotary::scale>("rotary_scale",
                                                           "Positions are divided by it (linear interpolation).")),
  };
  return kFields;
}

}  // namespace headlens
