// SPDX-License-Identifier: Apache-2.0
#include "models/families/llama_parts.h"

#include <algorithm>

namespace headlens::models {

Architecture ParseLlamaSizes(const JsonField& config) {
  Architecture a;
  ModelInfo& info = a.info;
  info.vocab_size = Size(config, "vocab_size");
  info.hidden_size = Size(config, "hidden_size");
  a.intermediate_size = Size(config, "intermediate_size");
  info.layers = Size(config, "num_hidden_layers");
  info.heads = Size(config, "num_attention_heads");
  info.kv_heads = Size(config, "num_key_value_heads", info.heads);
  info.head_dim = Size(config, "head_dim", std::max<Index>(info.hidden_size / info.heads, 1));
  if (info.heads % info.kv_heads != 0) {
    throw ValueError("config.json: num_attention_heads", info.heads,
                     {"a multiple of num_key_value_heads, ", info.kv_heads});
  }
  a.block.norm = NormKind::kRmsNorm;
  a.block.norm_eps = static_cast<float>(config["rms_norm_eps"].Positive(1e-6));
  a.attention_scale = DefaultScale(info.head_dim);
  a.tied = config["tie_word_embeddings"].Flag(false);
  a.query_key_value_bias = a.output_bias = config["attention_bias"].Flag(false);
  info.max_positions = Size(config, "max_position_embeddings", 2048);
  return a;
}

Architecture ParseLlama(const JsonField& config) {
  config["hidden_act"].Require("silu");
  RequireWholeRotation(config);
  Architecture a = ParseLlamaSizes(config);
  a.block.activation = Activation::kSwiGlu;
  a.rope = ParseRope(config, a.info.head_dim);
  a.info.max_positions = a.rope->max_positions;
  return a;
}

Layer LoadLlamaProjections(const Architecture& a, const StateDict& state, const Backend& backend) {
  const ModelInfo& info = a.info;
  const Index width = info.hidden_size, q_width = info.heads * info.head_dim, kv_width = info.kv_heads * info.head_dim;
  const auto linear = [&](const char* name, Index out, Index in, bool bias) {
    return LinearParameter(backend, state, name, out, in, bias);
  };
  Layer layer;
  layer.q = linear("self_attn.q_proj", q_width, width, a.query_key_value_bias);
  layer.k = linear("self_attn.k_proj", kv_width, width, a.query_key_value_bias);
  layer.v = linear("self_attn.v_proj", kv_width, width, a.query_key_value_bias);
  layer.o = linear("self_attn.o_proj", width, q_width, a.output_bias);
  layer.feed_forward.gate = linear("mlp.gate_proj", a.intermediate_size, width, a.feed_forward_bias);
  layer.feed_forward.up = linear("mlp.up_proj", a.intermediate_size, width, a.feed_forward_bias);
  layer.feed_forward.down = linear("mlp.down_proj", width, a.intermediate_size, a.feed_forward_bias);
  return layer;
}

Layer LoadLlamaLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  Layer layer = LoadLlamaProjections(a, state, backend);
  layer.attention_norm = LoadRmsNorm(state, "input_layernorm", a.info.hidden_size);
  layer.feed_forward_norm = LoadRmsNorm(state, "post_attention_layernorm", a.info.hidden_size);
  return layer;
}

Norm LoadRmsNorm(const StateDict& state, std::string_view name, Index width) {
  return LoadNorm(state, name, width, /*bias=*/false);
}

Parameters LoadLlama(const Architecture& a, const StateDict& state, const Backend& backend, LayerLoader load_layer,
                     NormLoader load_norm) {
  const Index width = a.info.hidden_size;
  const StateDict base = state.Has("embed_tokens.weight") ? state : WithPrefix(state, "model.");
  Parameters p;
  p.tokens = LinearParameter(backend, base, "embed_tokens", a.info.vocab_size, width, false);
  p.layers = LoadLayers(a, base, "layers.", backend, load_layer);
  p.final_norm = load_norm(base, "norm", width);
  if (!a.tied && !state.Has("lm_head.weight")) return p;  // a base model
  p.head.emplace();
  if (!a.tied) p.head->decoder = LinearParameter(backend, state, "lm_head", a.info.vocab_size, width, false);
  return p;
}

}  // namespace headlens::models
