// SPDX-License-Identifier: Apache-2.0
/// Qwen 2 (Yang et al. 2024), which has biases of q, k and v, and Qwen 3 (Yang et al. 2025), which has norms of each
/// head's queries and keys instead.
#include "models/families/llama_parts.h"

namespace headlens::models {
namespace {

Architecture ParseQwenConfig(const JsonField& config) {
  Architecture a = ParseLlama(config);
  ModelInfo& info = a.info;
  info.kv_heads = Size(config, "num_key_value_heads");
  const Index window = config["use_sliding_window"].Flag(false) ? Size(config, "sliding_window", 4096) : 0;
  const JsonField unlimited = config["max_window_layers"];
  const std::int64_t first = unlimited.is_null() ? 28 : unlimited.Whole(0);
  std::vector<Index> windows;
  for (Index layer = 0; layer < info.layers; ++layer) windows.push_back(layer < first ? 0 : window);
  info.windows = WindowsOf(config, window, std::move(windows));
  return a;
}

Architecture ParseQwen2(const JsonField& config) {
  Architecture a = ParseQwenConfig(config);
  a.query_key_value_bias = true;
  a.output_bias = false;
  return a;
}

Parameters LoadQwen2(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadLlama(a, state, backend, LoadLlamaLayer);
}

Architecture ParseQwen3(const JsonField& config) {
  Size(config, "head_dim");  // Qwen 3 has no other default than 128
  return ParseQwenConfig(config);
}

Layer LoadQwen3Layer(const Architecture& a, const StateDict& state, const Backend& backend) {
  Layer layer = LoadLlamaLayer(a, state, backend);
  layer.query_norm = LoadRmsNorm(state, "self_attn.q_norm", a.info.head_dim);
  layer.key_norm = LoadRmsNorm(state, "self_attn.k_norm", a.info.head_dim);
  return layer;
}

Parameters LoadQwen3(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadLlama(a, state, backend, LoadQwen3Layer);
}

}  // namespace

extern const Family kQwen2 = {"qwen2", {"qwen2"}, ParseQwen2, LoadQwen2};
extern const Family kQwen3 = {"qwen3", {"qwen3"}, ParseQwen3, LoadQwen3};

}  // namespace headlens::models
