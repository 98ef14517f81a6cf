// SPDX-License-Identifier: Apache-2.0
/// GPT-Neo (Black et al. 2021), and so TinyStories: a GPT-2 with windows in some layers and without a scale of scores.
#include "models/families/gpt2_parts.h"

namespace headlens::models {
namespace {

/// attention_types is a list of patterns, each with the number of its repetitions: [[["global", "local"], 6]].
std::vector<Index> LayerWindows(const JsonField& config, Index layers) {
  const Index window = Size(config, "window_size", 256);
  const JsonField patterns = config["attention_types"];
  std::vector<Index> windows;
  for (Index layer = 0; patterns.is_null() && layer < layers; ++layer) windows.push_back(layer % 2 * window);
  for (std::size_t i = 0; i < patterns.ListSize(); ++i) {
    const JsonField pattern = patterns.Element(i);
    if (pattern.ListSize() != 2) pattern.Fail("a list of kinds and the number of their repetitions");
    const JsonField kinds = pattern.Element(0);
    const std::int64_t times = pattern.Element(1).Whole(1, layers);
    for (std::int64_t n = 0; n < times && static_cast<Index>(windows.size()) <= layers; ++n)
      for (std::size_t k = 0; k < kinds.ListSize(); ++k)
        windows.push_back(kinds.Element(k).Choice<Index>(std::nullopt, {{"global", 0}, {"local", window}}));
  }
  if (static_cast<Index>(windows.size()) != layers) patterns.Fail({layers, " kinds in all, one for each layer"});
  return WindowsOf(config, window, std::move(windows));
}

Architecture ParseGptNeoConfig(const JsonField& config) {
  Architecture a = ParseSizes(config, {"hidden_size", "num_layers", "num_heads"});
  ModelInfo& info = a.info;
  a.attention_scale = 1.0f;
  info.vocab_size = Size(config, "vocab_size");
  info.max_positions = Size(config, "max_position_embeddings", 2048);
  info.windows = LayerWindows(config, info.layers);
  a.intermediate_size = Size(config, "intermediate_size", 4 * info.hidden_size);
  a.block.norm_eps = static_cast<float>(config["layer_norm_epsilon"].Positive(1e-5));
  a.block.activation = ActivationOf(config["activation_function"], "gelu_new");
  a.tied = config["tie_word_embeddings"].Flag(true);
  return a;
}

Layer LoadGptNeoLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  const auto linear = [&](const char* name, Index out, Index in, bool bias) {
    return LinearParameter(backend, state, name, out, in, bias);
  };
  Layer layer;
  layer.attention_norm = LoadNorm(state, "ln_1", width, true);
  layer.feed_forward_norm = LoadNorm(state, "ln_2", width, true);
  layer.q = linear("attn.attention.q_proj", width, width, false);
  layer.k = linear("attn.attention.k_proj", width, width, false);
  layer.v = linear("attn.attention.v_proj", width, width, false);
  layer.o = linear("attn.attention.out_proj", width, width, true);
  layer.feed_forward.up = linear("mlp.c_fc", inner, width, true);
  layer.feed_forward.down = linear("mlp.c_proj", width, inner, true);
  return layer;
}

Parameters LoadGptNeoModel(const Architecture& a, const StateDict& state, const Backend& backend) {
  return LoadGpt2(a, state, backend, LoadGptNeoLayer);
}

}  // namespace

extern const Family kGptNeo = {"gpt_neo", {"gpt_neo"}, ParseGptNeoConfig, LoadGptNeoModel};

}  // namespace headlens::models
