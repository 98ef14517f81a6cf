// SPDX-License-Identifier: Apache-2.0
/// Llama (Touvron et al. 2023), and Mistral (Jiang et al. 2023), which adds a sliding window.
#include "models/families/llama_parts.h"

namespace headlens::models {
namespace {

Architecture ParseLlamaConfig(const JsonField& config) {
  Architecture a = ParseLlama(config);
  if (config["model_type"].Text() == "llama") {
    a.feed_forward_bias = config["mlp_bias"].Flag(false);
    return a;
  }
  a.query_key_value_bias = a.output_bias = false;
  a.info.kv_heads = Size(config, "num_key_value_heads");
  const Index window = Size(config, "sliding_window", 0);
  a.info.windows = WindowsOf(config, window, std::vector<Index>(static_cast<std::size_t>(a.info.layers), window));
  return a;
}

Parameters LoadLlamaModel(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadLlama(a, state, backend, LoadLlamaLayer);
}

}  // namespace

extern const Family kLlama = {"llama", {"llama", "mistral"}, ParseLlamaConfig, LoadLlamaModel};

}  // namespace headlens::models
