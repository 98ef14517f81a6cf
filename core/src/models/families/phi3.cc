// SPDX-License-Identifier: Apache-2.0
/// Phi-3 (Abdin et al. 2024): a Llama whose q, k and v are one matrix, as are the gate and the up-projection, and of
/// whose heads a part may be rotated.
#include "models/families/llama_parts.h"

namespace headlens::models {
namespace {

Architecture ParsePhi3Config(const JsonField& config) {
  config["hidden_act"].Require("silu");
  const JsonField scaling = config[config["rope_parameters"].is_null() ? "rope_scaling" : "rope_parameters"];
  if (!scaling.is_null()) scaling[scaling["rope_type"].is_null() ? "type" : "rope_type"].Require("default");
  Architecture a = ParseLlamaSizes(config);
  ModelInfo& info = a.info;
  a.block.activation = Activation::kSwiGlu;
  a.block.norm_eps = static_cast<float>(config["rms_norm_eps"].Positive(1e-5));
  a.query_key_value_bias = a.output_bias = false;
  a.rope = ParseRope(config, RotatedDim(config, "partial_rotary_factor", 1.0, info.head_dim));
  const Index window = Size(config, "sliding_window", 0);
  info.windows = WindowsOf(config, window, std::vector<Index>(static_cast<std::size_t>(info.layers), window));
  return a;
}

Layer LoadPhi3Layer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size, queries = a.info.heads * a.info.head_dim,
              keys = a.info.kv_heads * a.info.head_dim;
  Layer layer;
  layer.attention_norm = LoadRmsNorm(state, "input_layernorm", width);
  layer.feed_forward_norm = LoadRmsNorm(state, "post_attention_layernorm", width);
  const TakenTensor qkv = TakeParameter(state, "self_attn.qkv_proj.weight", {queries + 2 * keys, width});
  layer.q = PackRows(backend, qkv, /*transposed=*/false, 0, queries, {});
  layer.k = PackRows(backend, qkv, /*transposed=*/false, queries, keys, {});
  layer.v = PackRows(backend, qkv, /*transposed=*/false, queries + keys, keys, {});
  layer.o = LinearParameter(backend, state, "self_attn.o_proj", width, queries, false);
  const TakenTensor gate_and_up = TakeParameter(state, "mlp.gate_up_proj.weight", {2 * inner, width});
  layer.feed_forward.gate = PackRows(backend, gate_and_up, /*transposed=*/false, 0, inner, {});
  layer.feed_forward.up = PackRows(backend, gate_and_up, /*transposed=*/false, inner, inner, {});
  layer.feed_forward.down = LinearParameter(backend, state, "mlp.down_proj", width, inner, false);
  return layer;
}

Parameters LoadPhi3Model(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadLlama(a, state, backend, LoadPhi3Layer);
}

}  // namespace

extern const Family kPhi3 = {"phi3", {"phi3"}, ParsePhi3Config, LoadPhi3Model};

}  // namespace headlens::models
