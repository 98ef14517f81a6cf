// SPDX-License-Identifier: Apache-2.0
#include "models/family.h"

#include <algorithm>

#include "headlens/multihead.h"

namespace headlens::models {

Index Size(const JsonField& field) { return field.Whole(1, kMaxWidth); }

Index Size(const JsonField& config, std::string_view key) { return Size(config[key]); }

Index Size(const JsonField& config, std::string_view key, Index fallback) {
  const JsonField field = config[key];
  return field.is_null() ? fallback : Size(field);
}

StateDict UnderPrefix(const StateDict& state, std::string_view prefix, std::string_view probe) {
  const StateDict prefixed = WithPrefix(state, prefix);
  return prefixed.Has(probe) ? prefixed : state;
}

Architecture ParseSizes(const JsonField& config, const SizeKeys& keys) {
  Architecture a;
  ModelInfo& info = a.info;
  info.hidden_size = Size(config, keys.hidden_size);
  info.layers = Size(config, keys.layers);
  info.heads = info.kv_heads = Size(config, keys.heads);
  if (info.hidden_size % info.heads != 0) {
    throw ValueError({"config.json: ", keys.hidden_size}, info.hidden_size,
                     {"a multiple of ", keys.heads, ", ", info.heads});
  }
  info.head_dim = info.hidden_size / info.heads;
  a.attention_scale = DefaultScale(info.head_dim);
  return a;
}

std::vector<Layer> LoadLayers(const Architecture& a, const StateDict& state, std::string_view prefix,
                              const Backend& backend, LayerLoader load) {
  std::vector<Layer> layers;
  for (Index i = 0; i < a.info.layers; ++i)
    layers.push_back(load(a, WithPrefix(state, std::string(prefix) + std::to_string(i) + "."), backend));
  return layers;
}

Head LoadMaskedHead(const Architecture& a, const StateDict& state, const MaskedHeadNames& names,
                    const Backend& backend) {
  const Index width = a.info.hidden_size, vocab = a.info.vocab_size;
  Head head;
  head.transform = LinearParameter(backend, state, names.transform, width, width, true);
  head.transform_norm = LoadNorm(state, names.norm, width, true);
  head.bias = Parameter(state, state.Has(names.bias) ? names.bias : std::string(names.decoder) + ".bias", {vocab});
  if (!a.tied) head.decoder = LinearParameter(backend, state, names.decoder, vocab, width, false);
  return head;
}

Activation ActivationOf(const JsonField& field, std::string_view fallback) {
  return field.Choice<Activation>(fallback, {{"gelu", Activation::kGelu},
                                             {"gelu_new", Activation::kGeluTanh},
                                             {"gelu_fast", Activation::kGeluTanh},
                                             {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                             {"silu", Activation::kSilu},
                                             {"swish", Activation::kSilu},
                                             {"relu", Activation::kRelu}});
}

std::vector<Index> WindowsOf(const JsonField& config, Index window, std::vector<Index> windows) {
  const JsonField types = config["layer_types"];
  if (!types.is_null() && types.ListSize() != windows.size()) {
    types.Fail({windows.size(), " types, one for each layer"});
  }
  Index widest = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (!types.is_null()) {
      windows[i] = types.Element(i).Choice<Index>(std::nullopt, {{"sliding_attention", window}, {"full_attention", 0}});
    }
    widest = std::max(widest, windows[i]);
  }
  if (widest == 0) windows.clear();
  return windows;
}

Norm LoadNorm(const StateDict& state, std::string_view name, Index width, bool bias) {
  const StateDict norm = WithPrefix(state, std::string(name) + ".");
  const bool is_old = norm.Has("gamma");
  return {Parameter(norm, is_old ? "gamma" : "weight", {width}),
          bias ? Parameter(norm, is_old ? "beta" : "bias", {width}) : Tensor()};
}

std::unique_ptr<LinearWeights> ScaledLinear(const StateDict& state, std::string_view name, const Tensor& scale,
                                            Index in_features, const Backend& backend) {
  const Index out = scale.size();
  const Tensor weight = Parameter(state, std::string(name) + ".weight", {out, in_features}),
               bias = Parameter(state, std::string(name) + ".bias", {out});
  for (Index row = 0; row < out; ++row) {
    const float factor = scale.data()[row];
    bias.data()[row] *= factor;
    for (Index i = 0; i < in_features; ++i) weight.view<2>()(row, i) *= factor;
  }
  return backend.PackLinear(weight.view<2>(), bias.values());
}

}  // namespace headlens::models
