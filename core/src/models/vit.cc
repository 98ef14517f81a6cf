// SPDX-License-Identifier: Apache-2.0
/// The Vision Transformer (Dosovitskiy et al. 2021): CLS followed by the patches of an image.
#include "models/family.h"

namespace headlens::models {
namespace {

Index Labels(const JsonField& names, Index fallback) {
  if (names.is_null()) return fallback;
  if (!names.value().is_object() || names.value().empty()) names.Fail("an object with members");
  return static_cast<Index>(names.value().size());
}

Architecture Parse(const JsonField& config) {
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
  info.max_positions = side * side + 1;
  a.intermediate_size = Size(config["intermediate_size"]);
  a.block.norm_eps = static_cast<float>(config["layer_norm_eps"].Positive(1e-12));
  a.block.activation = config["hidden_act"].Choice<Activation>(
      "gelu", {{"gelu", Activation::kGelu}, {"gelu_new", Activation::kGeluTanh}, {"relu", Activation::kRelu}});
  a.attention_scale = DefaultScale(info.head_dim);
  a.query_key_value_bias = config["qkv_bias"].Flag(true);
  a.labels = Labels(config["id2label"], Size(config["num_labels"], 2));
  return a;
}

Layer LoadLayer(const Architecture& a, const StateDict& state, const Backend& backend) {
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

Parameters Load(const Architecture& a, const StateDict& state, const Backend& backend) {
  const ModelInfo& info = a.info;
  const Index width = info.hidden_size;
  const StateDict base = UnderPrefix(state, "vit.", "embeddings.cls_token");
  const StateDict embeddings = WithPrefix(base, "embeddings.");
  Parameters p;
  p.patches = LoadPatches(info, embeddings, backend);
  p.cls = Parameter(embeddings, "cls_token", {1, 1, width}).Reshaped({width});
  p.positions = Parameter(embeddings, "position_embeddings", {1, info.max_positions, width})
                    .Reshaped({info.max_positions, width});
  for (Index i = 0; i < info.layers; ++i)
    p.layers.push_back(LoadLayer(a, WithPrefix(base, "encoder.layer." + std::to_string(i) + "."), backend));
  p.final_norm = LoadNorm(base, "layernorm", width, true);
  if (!state.Has("classifier.weight")) return p;
  p.head.emplace();
  p.head->decoder = LinearParameter(backend, state, "classifier", a.labels, width, true);
  p.head->first_row_only = true;
  return p;
}

}  // namespace

extern const Family kVit = {"vit", {"vit"}, Parse, Load};

}  // namespace headlens::models
