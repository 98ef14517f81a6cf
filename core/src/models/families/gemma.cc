// SPDX-License-Identifier: Apache-2.0
/// Gemma 2 (Gemma Team 2024): embeddings times √D, norms before and after attention and the feed-forward network,
/// capped scores and logits, and a window in every second layer. Gemma 3 (Gemma Team 2025) has norms of each head's
/// queries and keys instead of caps, and other rotary positions in layers with a window.
#include <cmath>

#include "models/families/llama_parts.h"

namespace headlens::models {
namespace {

/// A cap may be null, for none, and may be missing, for the default.
float Cap(const JsonField& config, const char* key, double fallback) {
  if (!config.value().contains(key)) return static_cast<float>(fallback);
  return config[key].is_null() ? 0.0f : static_cast<float>(config[key].Positive());
}

/// Reads what both have, with a full layer after each `period` − 1 layers with a window.
Architecture ParseGemmaConfig(const JsonField& config, double cap, double logit_cap, std::int64_t period) {
  for (const char* key : {"hidden_activation", "hidden_act"}) config[key].Require("gelu_pytorch_tanh");
  config["use_bidirectional_attention"].Require(false);
  Size(config, "head_dim");  // Gemma has no other default than 256
  Size(config, "num_key_value_heads");
  Architecture a = ParseLlamaSizes(config);
  ModelInfo& info = a.info;
  a.block.activation = Activation::kGeGlu;
  a.attention_scale = static_cast<float>(1.0 / std::sqrt(config["query_pre_attn_scalar"].Positive(256.0)));
  a.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(info.hidden_size)));
  a.softcap = Cap(config, "attn_logit_softcapping", cap);
  a.logit_softcap = Cap(config, "final_logit_softcapping", logit_cap);
  a.tied = config["tie_word_embeddings"].Flag(true);
  const Index window = Size(config, "sliding_window", 4096);
  std::vector<Index> windows;
  for (Index layer = 1; layer <= info.layers; ++layer) windows.push_back(layer % period == 0 ? 0 : window);
  info.windows = WindowsOf(config, window, std::move(windows));
  return a;
}

Architecture ParseGemma2(const JsonField& config) {
  RequireWholeRotation(config);
  Architecture a = ParseGemmaConfig(config, 50.0, 30.0, 2);
  a.rope = ParseRope(config, a.info.head_dim);
  a.info.max_positions = a.rope->max_positions;
  return a;
}

Architecture ParseGemma3(const JsonField& config) {
  const JsonField pattern = config["sliding_window_pattern"];
  Architecture a = ParseGemmaConfig(config, 0.0, 0.0, pattern.is_null() ? 6 : pattern.Whole(1));
  const Index d = a.info.head_dim;
  const double theta = config["rope_theta"].Positive(1e6), local = config["rope_local_base_freq"].Positive(1e4);
  const JsonField both = config["rope_parameters"];
  a.rope = ParseRope(config, both.is_null() ? config["rope_scaling"] : both["full_attention"], theta, d);
  a.local_rope = ParseRope(config, both.is_null() ? both : both["sliding_attention"], local, d);
  a.info.max_positions = a.rope->max_positions;
  return a;
}

/// Gemma's files have γ − 1.
Norm LoadShiftedNorm(const StateDict& state, std::string_view name, Index width) {
  Norm norm = LoadRmsNorm(state, name, width);
  for (float& x : norm.weight.host().values()) x += 1.0f;
  return norm;
}

Layer LoadGemma2Layer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size;
  Layer layer = LoadLlamaProjections(a, state, backend);
  layer.attention_norm = LoadShiftedNorm(state, "input_layernorm", width);
  layer.attention_output_norm = LoadShiftedNorm(state, "post_attention_layernorm", width);
  layer.feed_forward_norm = LoadShiftedNorm(state, "pre_feedforward_layernorm", width);
  layer.feed_forward_output_norm = LoadShiftedNorm(state, "post_feedforward_layernorm", width);
  return layer;
}

Layer LoadGemma3Layer(const Architecture& a, const StateDict& state, const Backend& backend) {
  Layer layer = LoadGemma2Layer(a, state, backend);
  layer.query_norm = LoadShiftedNorm(state, "self_attn.q_norm", a.info.head_dim);
  layer.key_norm = LoadShiftedNorm(state, "self_attn.k_norm", a.info.head_dim);
  return layer;
}

Parameters LoadGemma2(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadLlama(a, state, backend, LoadGemma2Layer, LoadShiftedNorm);
}

Parameters LoadGemma3(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadLlama(a, state, backend, LoadGemma3Layer, LoadShiftedNorm);
}

}  // namespace

extern const Family kGemma2 = {"gemma2", {"gemma2"}, ParseGemma2, LoadGemma2};
extern const Family kGemma3 = {"gemma3", {"gemma3_text"}, ParseGemma3, LoadGemma3};

}  // namespace headlens::models
