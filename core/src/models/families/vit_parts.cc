// SPDX-License-Identifier: Apache-2.0
#include "models/families/vit_parts.h"

#include <algorithm>

namespace headlens::models {
namespace {

Index Labels(const JsonField& names, Index fallback) {
  if (names.is_null()) return fallback;
  if (!names.value().is_object() || names.value().empty()) names.Fail("an object with members");
  return static_cast<Index>(names.value().size());
}

/// A convolution whose stride equals its kernel is a linear layer over patches: its weights [D, C, P, P] are [D,
/// C·P·P].
std::unique_ptr<LinearWeights> LoadPatches(const ModelInfo& info, const StateDict& state, const Backend& backend) {
  const std::string name = "patch_embeddings.projection";
  const Index side = info.patch_size;
  const Tensor bias = Parameter(state, name + ".bias", {info.hidden_size});
  TakenTensor weight = TakeParameter(state, name + ".weight", {info.hidden_size, info.channels, side, side});
  weight.shape = {info.hidden_size, info.channels * side * side};
  return PackRows(backend, weight, /*transposed=*/false, 0, info.hidden_size, bias.values());
}

}  // namespace

Architecture ParseVit(const JsonField& config, Index prefix, double default_norm_eps) {
  Architecture a;
  ModelInfo& info = a.info;
  info.causal = false;
  info.hidden_size = Size(config["hidden_size"]);
  info.layers = Size(config["num_hidden_layers"]);
  info.heads = info.kv_heads = Size(config["num_attention_heads"]);
  info.head_dim = HeadDim(config, "hidden_size", "num_attention_heads");
  info.image_size = Size(config["image_size"], 224);
  info.patch_size = Size(config["patch_size"], 16);
  info.channels = Size(config["num_channels"], 3);
  if (info.image_size % info.patch_size != 0) {
    throw ValueError("config.json: image_size", info.image_size, {"a multiple of patch_size, ", info.patch_size});
  }
  const Index side = info.image_size / info.patch_size;
  a.prefix = prefix;
  info.max_positions = side * side + prefix;
  a.block.norm_eps = static_cast<float>(config["layer_norm_eps"].Positive(default_norm_eps));
  a.block.activation = ActivationOf(config["hidden_act"], "gelu");
  a.attention_scale = DefaultScale(info.head_dim);
  a.query_key_value_bias = config["qkv_bias"].Flag(true);
  a.labels = Labels(config["id2label"], Size(config["num_labels"], 2));
  return a;
}

void LoadPatchEmbeddings(const Architecture& a, const StateDict& embeddings, const std::vector<PrefixTokens>& prefix,
                         const Backend& backend, Parameters& p) {
  const Index width = a.info.hidden_size, patches = a.info.max_positions - a.prefix;
  p.patches = LoadPatches(a.info, embeddings, backend);
  Index positioned = patches;
  for (const PrefixTokens& tokens : prefix) positioned += tokens.has_positions ? tokens.count : 0;
  const Tensor positions = Parameter(embeddings, "position_embeddings", {1, positioned, width});
  Tensor before({a.prefix, width}), all({a.info.max_positions, width});
  std::fill(all.values().begin(), all.values().end(), 0.0f);
  float *token = before.data(), *to = all.data();
  const float* from = positions.data();
  for (const PrefixTokens& tokens : prefix) {
    const Index size = tokens.count * width;
    token = std::copy_n(Parameter(embeddings, tokens.name, {1, tokens.count, width}).data(), size, token);
    if (tokens.has_positions) std::copy_n(std::exchange(from, from + size), size, to);
    to += size;
  }
  std::copy_n(from, patches * width, to);
  p.prefix = std::move(before);
  p.positions = std::move(all);
}

Layer LoadVitLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
  const Index width = a.info.hidden_size, inner = a.intermediate_size;
  const auto linear = [&](const char* name, Index out, Index in, bool bias) {
    return LinearParameter(backend, state, name, out, in, bias);
  };
  Layer layer;
  layer.attention_norm = LoadNorm(state, "layernorm_before", width, true);
  layer.feed_forward_norm = LoadNorm(state, "layernorm_after", width, true);
  layer.q = linear("attention.attention.query", width, width, a.query_key_value_bias);
  layer.k = linear("attention.attention.key", width, width, a.query_key_value_bias);
  layer.v = linear("attention.attention.value", width, width, a.query_key_value_bias);
  layer.o = linear("attention.output.dense", width, width, true);
  layer.feed_forward.up = linear("intermediate.dense", inner, width, true);
  layer.feed_forward.down = linear("output.dense", width, inner, true);
  return layer;
}

}  // namespace headlens::models
