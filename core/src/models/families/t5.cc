// SPDX-License-Identifier: Apache-2.0
/// T5 (Raffel et al. 2020) and Flan-T5 (Chung et al. 2022): an encoder and a decoder whose scores have a bias for each
/// distance and no scale.
#include <cmath>

#include "models/family.h"

namespace headlens::models {
namespace {

Architecture ParseT5Stack(const JsonField& config, Index layers, bool causal) {
  const Index heads = Size(config, "num_heads");
  Architecture a;
  ModelInfo& info = a.info;
  info.causal = causal;
  info.vocab_size = Size(config, "vocab_size");
  info.hidden_size = Size(config, "d_model");
  info.layers = layers;
  info.heads = info.kv_heads = heads;
  info.head_dim = Size(config, "d_kv");
  info.max_positions = kMaxWidth;  // biases by distance have no end
  a.intermediate_size = Size(config, "d_ff");
  a.bias_max_distance = Size(config, "relative_attention_max_distance", 128);
  a.bias_buckets = Size(config, "relative_attention_num_buckets", 32);
  a.block.norm = NormKind::kRmsNorm;
  a.block.norm_eps = static_cast<float>(config["layer_norm_epsilon"].Positive(1e-6));
  a.block.activation = config["feed_forward_proj"].Choice<Activation>(
      "relu", {{"relu", Activation::kRelu}, {"gated-gelu", Activation::kGeGlu}, {"gated-silu", Activation::kSwiGlu}});
  return a;
}

Architecture ParseT5Encoder(const JsonField& config) { return ParseT5Stack(config, Size(config, "num_layers"), false); }

Architecture ParseT5Decoder(const JsonField& config) {
  const Index layers = Size(config, "num_decoder_layers", Size(config, "num_layers"));
  Architecture a = ParseT5Stack(config, layers, true);
  // The first T5 divides the stream by √D before the logits. Files say so by their tied weights; newer ones, which call
  // all weights tied, by a setting of its own.
  const JsonField scales = config["scale_decoder_outputs"];
  a.divides_output = scales.is_null() ? config["tie_word_embeddings"].Flag(true) : scales.Flag();
  return a;
}

struct Projections {
  std::unique_ptr<LinearWeights> q, k, v, o;
};

Projections LoadAttention(const Architecture& a, const StateDict& state, const std::string& name,
                          const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.info.heads * a.info.head_dim;
  const auto linear = [&](const char* matrix, Index out, Index in) {
    return LinearParameter(backend, state, name + matrix, out, in, false);
  };
  return {linear(".q", inner, width), linear(".k", inner, width), linear(".v", inner, width),
          linear(".o", width, inner)};
}

Layer LoadT5Layer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  const auto norm = [&](const char* sublayer) {
    return LoadNorm(state, std::string("layer.") + sublayer + ".layer_norm", width, false);
  };
  Layer layer;
  layer.attention_norm = norm("0");
  Projections self = LoadAttention(a, state, "layer.0.SelfAttention", backend);
  layer.q = std::move(self.q), layer.k = std::move(self.k), layer.v = std::move(self.v), layer.o = std::move(self.o);
  const char* last = a.info.causal ? "2" : "1";
  if (a.info.causal) {
    layer.cross_attention_norm = norm("1");
    Projections cross = LoadAttention(a, state, "layer.1.EncDecAttention", backend);
    layer.cross_q = std::move(cross.q), layer.cross_k = std::move(cross.k);
    layer.cross_v = std::move(cross.v), layer.cross_o = std::move(cross.o);
  }
  layer.feed_forward_norm = norm(last);
  const std::string dense = std::string("layer.") + last + ".DenseReluDense.";
  const bool is_gated = IsGated(a.block.activation);
  if (is_gated) layer.feed_forward.gate = LinearParameter(backend, state, dense + "wi_0", inner, width, false);
  layer.feed_forward.up = LinearParameter(backend, state, dense + (is_gated ? "wi_1" : "wi"), inner, width, false);
  layer.feed_forward.down = LinearParameter(backend, state, dense + "wo", width, inner, false);
  return layer;
}

Parameters LoadT5Stack(const Architecture& a, const StateDict& state, const Backend& backend) {
  Parameters p;
  p.layers = LoadLayers(a, state, "block.", backend, LoadT5Layer);
  p.position_bias =
      Parameter(state, "block.0.layer.0.SelfAttention.relative_attention_bias.weight", {a.bias_buckets, a.info.heads});
  p.final_norm = LoadNorm(state, "final_layer_norm", a.info.hidden_size, false);
  return p;
}

Parameters LoadT5Encoder(const Architecture& a, const StateDict& state, const Backend& backend) {
  Parameters p = LoadT5Stack(a, WithPrefix(state, "encoder."), backend);
  const std::string table = state.Has("shared.weight") ? "shared" : "encoder.embed_tokens";
  p.tokens = LinearParameter(backend, state, table, a.info.vocab_size, a.info.hidden_size, false);
  return p;
}

Parameters LoadT5Decoder(const Architecture& a, const StateDict& state, const Backend& backend) {
  Parameters p = LoadT5Stack(a, WithPrefix(state, "decoder."), backend);
  if (a.divides_output)
    for (float& x : p.final_norm.weight.host().values()) x /= std::sqrt(static_cast<float>(a.info.hidden_size));
  if (state.Has("decoder.embed_tokens.weight"))
    p.tokens = LinearParameter(backend, state, "decoder.embed_tokens", a.info.vocab_size, a.info.hidden_size, false);
  p.head.emplace();
  if (state.Has("lm_head.weight"))
    p.head->decoder = LinearParameter(backend, state, "lm_head", a.info.vocab_size, a.info.hidden_size, false);
  return p;
}

const Family kT5Encoder = {"t5", {}, ParseT5Encoder, LoadT5Encoder};

}  // namespace

extern const Family kT5 = {"t5", {"t5"}, ParseT5Decoder, LoadT5Decoder, &kT5Encoder};

}  // namespace headlens::models
