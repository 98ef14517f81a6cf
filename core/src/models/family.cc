// SPDX-License-Identifier: Apache-2.0
#include "models/family.h"

#include "headlens/multihead.h"

namespace headlens::models {

Index Size(const JsonField& field) { return field.Whole(1, kMaxWidth); }

Index Size(const JsonField& field, Index fallback) { return field.is_null() ? fallback : Size(field); }

Index HeadDim(const JsonField& config, const char* hidden_key, const char* heads_key) {
  const Index hidden = Size(config[hidden_key]), heads = Size(config[heads_key]);
  if (hidden % heads == 0) return hidden / heads;
  throw ValueError({"config.json: ", hidden_key}, hidden, {"a multiple of ", heads_key, ", ", heads});
}

Activation ActivationOf(const JsonField& field, std::string_view fallback) {
  return field.Choice<Activation>(fallback, {{"gelu", Activation::kGelu},
                                             {"gelu_new", Activation::kGeluTanh},
                                             {"gelu_fast", Activation::kGeluTanh},
                                             {"gelu_pytorch_tanh", Activation::kGeluTanh},
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
