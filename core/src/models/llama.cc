// SPDX-License-Identifier: Apache-2.0
/// Llama (Touvron et al. 2023) and models of the same structure: Mistral (with a sliding window) and Qwen2 (with biases
/// of q, k and v).
#include <algorithm>

#include "models/family.h"

namespace headlens::models {
namespace {

Index WindowOf(const JsonField& config, const std::string& type) {
  if (type == "qwen2" && config["use_sliding_window"].Flag(false)) config["use_sliding_window"].Require(false);
  return type == "mistral" && !config["sliding_window"].is_null() ? Size(config["sliding_window"]) : 0;
}

Architecture Parse(const JsonField& config) {
  config["hidden_act"].Require("silu");
  config["partial_rotary_factor"].Require(1.0);
  const std::string type = config["model_type"].Text();
  Architecture a;
  ModelInfo& info = a.info;
  info.vocab_size = Size(config["vocab_size"]);
  info.hidden_size = Size(config["hidden_size"]);
  a.intermediate_size = Size(config["intermediate_size"]);
  info.layers = Size(config["num_hidden_layers"]);
  info.heads = Size(config["num_attention_heads"]);
  info.kv_heads = Size(config["num_key_value_heads"], type == "mistral" ? 8 : info.heads);
  info.head_dim = Size(config["head_dim"], std::max<Index>(info.hidden_size / info.heads, 1));
  info.window = WindowOf(config, type);
  a.block.norm = NormKind::kRmsNorm;
  a.block.norm_eps = static_cast<float>(config["rms_norm_eps"].Positive(1e-6));
  a.block.activation = Activation::kSwiGlu;
  a.rope = ParseRope(config, info.head_dim);
  a.attention_scale = DefaultScale(info.head_dim);
  info.max_positions = a.rope->max_positions;
  a.tied = config["tie_word_embeddings"].Flag(false);
  a.output_bias = type == "llama" && config["attention_bias"].Flag(false);
  a.query_key_value_bias = type == "qwen2" || a.output_bias;
  a.feed_forward_bias = type == "llama" && config["mlp_bias"].Flag(false);
  if (info.heads % info.kv_heads != 0) {
    throw ValueError("config.json: num_attention_heads", info.heads,
                     {"a multiple of num_key_value_heads, ", info.kv_heads});
  }
  return a;
}

Layer LoadLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const ModelInfo& info = a.info;
  const Index width = info.hidden_size, q_width = info.heads * info.head_dim, kv_width = info.kv_heads * info.head_dim;
  const auto linear = [&](const char* name, Index out, Index in, bool bias) {
    return LinearParameter(backend, state, name, out, in, bias);
  };
  Layer layer;
  layer.attention_norm = LoadNorm(state, "input_layernorm", width, false);
  layer.feed_forward_norm = LoadNorm(state, "post_attention_layernorm", width, false);
  layer.q = linear("self_attn.q_proj", q_width, width, a.query_key_value_bias);
  layer.k = linear("self_attn.k_proj", kv_width, width, a.query_key_value_bias);
  layer.v = linear("self_attn.v_proj", kv_width, width, a.query_key_value_bias);
  layer.o = linear("self_attn.o_proj", width, q_width, a.output_bias);
  layer.feed_forward.gate = linear("mlp.gate_proj", a.intermediate_size, width, a.feed_forward_bias);
  layer.feed_forward.up = linear("mlp.up_proj", a.intermediate_size, width, a.feed_forward_bias);
  layer.feed_forward.down = linear("mlp.down_proj", width, a.intermediate_size, a.feed_forward_bias);
  return layer;
}

Parameters Load(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size;
  // A base model is saved without the prefix and without the head.
  const bool is_base = state.Has("embed_tokens.weight");
  const StateDict base = is_base ? state : WithPrefix(state, "model.");
  Parameters p;
  p.tokens = LinearParameter(backend, base, "embed_tokens", a.info.vocab_size, width, false);
  for (Index i = 0; i < a.info.layers; ++i)
    p.layers.push_back(LoadLayer(a, WithPrefix(base, "layers." + std::to_string(i) + "."), backend));
  p.final_norm = LoadNorm(base, "norm", width, false);
  if (is_base && !a.tied) return p;
  p.head.emplace();
  if (!a.tied) p.head->decoder = LinearParameter(backend, state, "lm_head", a.info.vocab_size, width, false);
  return p;
}

}  // namespace

extern const Family kLlama = {"llama", {"llama", "mistral", "qwen2"}, Parse, Load};

}  // namespace headlens::models
