// SPDX-License-Identifier: Apache-2.0
/// OLMo 2 (OLMo Team 2024): a Llama whose norms follow attention and the feed-forward network, inside the residual sum,
/// with norms of all queries, and of all keys, together.
#include "models/families/llama_parts.h"

namespace headlens::models {
namespace {

Architecture ParseOlmo2Config(const JsonField& config) {
  Architecture a = ParseLlama(config);
  a.block.norm_eps = static_cast<float>(config["rms_norm_eps"].Positive(1e-5));
  return a;
}

Layer LoadOlmo2Layer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const ModelInfo& info = a.info;
  Layer layer = LoadLlamaProjections(a, state, backend);
  layer.query_norm = LoadRmsNorm(state, "self_attn.q_norm", info.heads * info.head_dim);
  layer.key_norm = LoadRmsNorm(state, "self_attn.k_norm", info.kv_heads * info.head_dim);
  layer.attention_output_norm = LoadRmsNorm(state, "post_attention_layernorm", info.hidden_size);
  layer.feed_forward_output_norm = LoadRmsNorm(state, "post_feedforward_layernorm", info.hidden_size);
  return layer;
}

Parameters LoadOlmo2Model(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadLlama(a, state, backend, LoadOlmo2Layer);
}

}  // namespace

extern const Family kOlmo2 = {"olmo2", {"olmo2"}, ParseOlmo2Config, LoadOlmo2Model};

}  // namespace headlens::models
