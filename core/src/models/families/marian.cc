// SPDX-License-Identifier: Apache-2.0
/// Marian (Junczys-Dowmunt et al. 2018), the translators of Opus-MT: the Transformer of Vaswani et al. (2017) with
/// norms after the residual sums and sinusoidal positions.
#include <cmath>

#include "models/family.h"

namespace headlens::models {
namespace {

Architecture ParseMarianStack(const JsonField& config, const SizeKeys& keys, const char* inner, bool causal) {
  config["share_encoder_decoder_embeddings"].Require(true);
  config["tie_word_embeddings"].Require(true);
  for (const char* key : {"normalize_before", "normalize_embedding", "add_final_layer_norm"})
    config[key].Require(false);
  Architecture a = ParseSizes(config, keys);
  ModelInfo& info = a.info;
  info.causal = causal;
  info.vocab_size = Size(config, "vocab_size");
  info.max_positions = Size(config, "max_position_embeddings", 1024);
  a.intermediate_size = Size(config, inner);
  a.block.norm_first = false;
  a.block.activation = ActivationOf(config["activation_function"], "gelu");
  if (config["scale_embedding"].Flag(false))
    a.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(info.hidden_size)));
  return a;
}

Architecture ParseMarianEncoder(const JsonField& config) {
  return ParseMarianStack(config, {"d_model", "encoder_layers", "encoder_attention_heads"}, "encoder_ffn_dim", false);
}

Architecture ParseMarianDecoder(const JsonField& config) {
  return ParseMarianStack(config, {"d_model", "decoder_layers", "decoder_attention_heads"}, "decoder_ffn_dim", true);
}

/// The sines of all frequencies, and then their cosines.
Tensor SinusoidalPositions(Index positions, Index width) {
  Tensor table({positions, width});
  const Index sines = (width + 1) / 2;
  for (Index t = 0; t < positions; ++t)
    for (Index i = 0; i < width; ++i) {
      const Index pair = i < sines ? i : i - sines;
      const double angle =
          static_cast<double>(t) / std::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(width));
      table.view<2>()(t, i) = static_cast<float>(i < sines ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

Layer LoadMarianLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size;
  const auto linear = [&](const char* name, Index out, Index in) {
    return LinearParameter(backend, state, name, out, in, true);
  };
  Layer layer;
  layer.q = linear("self_attn.q_proj", width, width);
  layer.k = linear("self_attn.k_proj", width, width);
  layer.v = linear("self_attn.v_proj", width, width);
  layer.o = linear("self_attn.out_proj", width, width);
  layer.attention_norm = LoadNorm(state, "self_attn_layer_norm", width, true);
  layer.feed_forward.up = linear("fc1", a.intermediate_size, width);
  layer.feed_forward.down = linear("fc2", width, a.intermediate_size);
  layer.feed_forward_norm = LoadNorm(state, "final_layer_norm", width, true);
  if (!a.info.causal) return layer;
  layer.cross_q = linear("encoder_attn.q_proj", width, width);
  layer.cross_k = linear("encoder_attn.k_proj", width, width);
  layer.cross_v = linear("encoder_attn.v_proj", width, width);
  layer.cross_o = linear("encoder_attn.out_proj", width, width);
  layer.cross_attention_norm = LoadNorm(state, "encoder_attn_layer_norm", width, true);
  return layer;
}

Parameters LoadMarianStack(const Architecture& a, const StateDict& state, std::string_view prefix,
                           const Backend& backend) {
  Parameters p;
  p.positions = SinusoidalPositions(a.info.max_positions, a.info.hidden_size);
  p.layers = LoadLayers(a, WithPrefix(state, prefix), "layers.", backend, LoadMarianLayer);
  return p;
}

Parameters LoadMarianEncoder(const Architecture& a, const StateDict& state, const Backend& backend) {
  const StateDict base = UnderPrefix(state, "model.", "shared.weight");
  Parameters p = LoadMarianStack(a, base, "encoder.", backend);
  p.tokens = LinearParameter(backend, base, "shared", a.info.vocab_size, a.info.hidden_size, false);
  return p;
}

Parameters LoadMarianDecoder(const Architecture& a, const StateDict& state, const Backend& backend) {
  Parameters p = LoadMarianStack(a, UnderPrefix(state, "model.", "decoder.layers.0.fc1.weight"), "decoder.", backend);
  p.head.emplace();
  if (state.Has("final_logits_bias"))
    p.head->bias = Parameter(state, "final_logits_bias", {1, a.info.vocab_size}).Reshaped({a.info.vocab_size});
  return p;
}

const Family kMarianEncoder = {"marian", {}, ParseMarianEncoder, LoadMarianEncoder};

}  // namespace

extern const Family kMarian = {"marian", {"marian"}, ParseMarianDecoder, LoadMarianDecoder, &kMarianEncoder};

}  // namespace headlens::models
