// SPDX-License-Identifier: Apache-2.0
#include "models/family.h"

#include "headlens/multihead.h"

namespace headlens::models {

Index Size(const JsonField& field) { return field.Whole(1, kMaxWidth); }

Index Size(const JsonField& field, Index fallback) { return field.is_null() ? fallback : Size(field); }

Architecture ParseSizes(const JsonField& config, const SizeKeys& keys) {
  Architecture a;
  ModelInfo& info = a.info;
  info.hidden_size = Size(config[keys.hidden_size]);
  info.layers = Size(config[keys.layers]);
  info.heads = info.kv_heads = Size(config[keys.heads]);
  if (info.hidden_size % info.heads != 0) {
    throw ValueError({"config.json: ", keys.hidden_size}, info.hidden_size,
                     {"a multiple of ", keys.heads, ", ", info.heads});
  }
  info.head_dim = info.hidden_size / info.heads;
  a.attention_scale = DefaultScale(info.head_dim);
  return a;
}

std::vector<Layer> LoadLayers(const Architecture& a, const StateDict& state, const std::string& prefix,
                              const Backend& backend, LayerLoader load) {
  std::vector<Layer> layers;
  for (Index i = 0; i < a.info.layers; ++i)
    layers.push_back(load(a, WithPrefix(state, prefix + std::to_string(i) + "."), backend));
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

std::vector<Index> WindowsOf(const JsonField& config, Index layers, Index window,
                             const std::function<bool(Index layer)>& is_local) {
  std::vector<Index> windows(static_cast<std::size_t>(layers));
  const JsonField types = config["layer_types"];
  if (!types.is_null() && types.ListSize() != windows.size()) types.Fail({layers, " types, one for each layer"});
  bool any = false;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const bool local = types.is_null() ? is_local(static_cast<Index>(i))
                                       : types.Element(i).Choice<bool>(
                                             std::nullopt, {{"sliding_attention", true}, {"full_attention", false}});
    if (local) windows[i] = window;
    any = any || windows[i] > 0;
  }
  return any ? windows : std::vector<Index>();
}

Norm LoadNorm(const StateDict& state, const std::string& name, Index width, bool bias) {
  const bool is_old = state.Has(name + ".gamma");
  return {Parameter(state, name + (is_old ? ".gamma" : ".weight"), {width}),
          bias ? Parameter(state, name + (is_old ? ".beta" : ".bias"), {width}) : Tensor()};
}

std::unique_ptr<LinearWeights> ScaledLinear(const StateDict& state, const std::string& name, const Tensor& scale,
                                            Index in_features, const Backend& backend) {
  const Index out = scale.size();
  const Tensor weight = Parameter(state, name + ".weight", {out, in_features}),
               bias = Parameter(state, name + ".bias", {out});
  for (Index row = 0; row < out; ++row) {
    const float factor = scale.data()[row];
    bias.data()[row] *= factor;
    for (Index i = 0; i < in_features; ++i) weight.view<2>()(row, i) *= factor;
  }
  return backend.PackLinear(weight.view<2>(), bias.values());
}

}  // namespace headlens::models
