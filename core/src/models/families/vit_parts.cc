// SPDX-License-Identifier: Apache-2.0
#include "models/families/vit_parts.h"

#include <algorithm>

namespace headlens::models {
namespace {

/// The longest name of a label, in bytes.
constexpr std::size_t kLongestLabel = 1000;

/// Reads the names of all labels, which have their numbers as keys. There are none without id2label.
std::vector<std::string> ReadLabels(const JsonField& names) {
  std::vector<std::string> labels;
  if (names.is_null()) return labels;
  if (!names.value().is_object() || names.value().empty()) names.Fail("an object with members");
  for (std::size_t i = 0; i < names.value().size(); ++i) {
    const JsonField name = names.Named(std::to_string(i));
    if (labels.emplace_back(name.Text()).size() > kLongestLabel)
      name.Fail({"a text of at most ", kLongestLabel, " bytes"});
  }
  return labels;
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

void LoadPatchEmbeddings(const Architecture& a, const StateDict& embeddings, const MoreTokens& more,
                         const Backend& backend, Parameters& p) {
  const Index width = a.info.hidden_size, count = a.Prefix() - 1, patches = a.info.max_positions - a.Prefix(),
              positioned = more.has_positions ? a.Prefix() : 1;
  p.patches = LoadPatches(a.info, embeddings, backend);
  Tensor prefix({a.Prefix(), width}), all({a.info.max_positions, width});
  std::copy_n(Parameter(embeddings, "cls_token", {1, 1, width}).data(), width, prefix.data());
  if (count > 0) {
    const Tensor tokens = Parameter(embeddings, more.name, {1, count, width});
    std::copy_n(tokens.data(), count * width, prefix.data() + width);
  }
  const Tensor positions = Parameter(embeddings, "position_embeddings", {1, positioned + patches, width});
  std::fill(all.values().begin(), all.values().end(), 0.0f);
  std::copy_n(positions.data(), positioned * width, all.data());
  std::copy_n(positions.data() + positioned * width, patches * width, all.data() + a.Prefix() * width);
  p.prefix = std::move(prefix);
  p.positions = std::move(all);
}

}  // namespace

Architecture ParseVit(const JsonField& config, std::vector<std::string> prefix, double default_norm_eps) {
  Architecture a = ParseSizes(config);
  ModelInfo& info = a.info;
  info.causal = false;
  info.image_size = Size(config, "image_size", 224);
  info.patch_size = Size(config, "patch_size", 16);
  info.channels = Size(config, "num_channels", 3);
  if (info.image_size % info.patch_size != 0) {
    throw ValueError("config.json: image_size", info.image_size, {"a multiple of patch_size, ", info.patch_size});
  }
  const Index side = info.image_size / info.patch_size;
  info.prefix = std::move(prefix);
  info.max_positions = side * side + a.Prefix();
  a.block.norm_eps = static_cast<float>(config["layer_norm_eps"].Positive(default_norm_eps));
  a.block.activation = ActivationOf(config["hidden_act"], "gelu");
  a.query_key_value_bias = config["qkv_bias"].Flag(true);
  a.label_names = ReadLabels(config["id2label"]);
  a.labels = a.label_names.empty() ? Size(config, "num_labels", 2) : std::ssize(a.label_names);
  return a;
}

Parameters LoadVitBase(const Architecture& a, const StateDict& state, const MoreTokens& more, const Backend& backend,
                       LayerLoader load_layer) {
  Parameters p;
  LoadPatchEmbeddings(a, WithPrefix(state, "embeddings."), more, backend, p);
  p.layers = LoadLayers(a, state, "encoder.layer.", backend, load_layer);
  p.final_norm = LoadNorm(state, "layernorm", a.info.hidden_size, true);
  return p;
}

}  // namespace headlens::models
