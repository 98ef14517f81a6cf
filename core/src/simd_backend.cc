// SPDX-License-Identifier: Apache-2.0
/// The SIMD backend: everything vectorised is in kernels/, attention's blocks in simd_attention.cc.
#include <algorithm>
#include <vector>

#include "attention_run.h"
#include "checks.h"
#include "headlens/backend.h"
#include "kernels/kernels.h"
#include "kernels/panels.h"

namespace headlens {
namespace {

using simd::BestKernels;
using simd::Kernels;
using simd::Panels;
using simd::RoundUp;

struct PackedLinear : LinearWeights {
  PackedLinear(View<const float, 2> weight, std::span<const float> bias_values)
      : LinearWeights(weight.shape[1], weight.shape[0]),
        kernels(BestKernels()),
        panels(kernels, weight.shape[0], weight.shape[1]) {
    panels.Pack(weight.data, weight.strides[0], weight.shape[0]);
    if (bias_values.empty()) return;
    bias.resize(static_cast<std::size_t>(RoundUp(weight.shape[0], kernels.panel_width)), 0.0f);
    std::copy(bias_values.begin(), bias_values.end(), bias.begin());
  }
  const Kernels& kernels;  // those that chose the panels' width
  Panels panels;
  std::vector<float> bias;
};

class Simd final : public Backend {
 public:
  std::string_view name() const override { return "simd"; }

  std::unique_ptr<LinearWeights> PackLinear(View<const float, 2> weight, std::span<const float> bias) const override {
    CheckPack(weight, bias);
    return std::make_unique<PackedLinear>(weight, bias);
  }

  void Linear(View<const float, 2> x, const LinearWeights& weights, View<float, 2> y) const override {
    CheckLinear(x, weights, y);
    const auto& packed = static_cast<const PackedLinear&>(weights);
    packed.kernels.gemm({x.data, x.strides[0], packed.panels.data(), packed.panels.row_step(),
                         packed.panels.panel_step(), packed.bias.empty() ? nullptr : packed.bias.data(), y.data,
                         y.strides[0], x.shape[0], weights.out_features(), weights.in_features()});
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    RunSimdAttention(problem, results);
  }

  void RmsNorm(View<const float, 2> x, std::span<const float> weight, float eps, View<float, 2> y) const override {
    CheckNorm(x, weight, {}, y);
    for (Index row = 0; row < x.shape[0]; ++row)
      BestKernels().rms_norm(x.at(row), x.shape[1], weight.data(), eps, y.at(row));
  }

  void LayerNorm(View<const float, 2> x, std::span<const float> weight, std::span<const float> bias, float eps,
                 View<float, 2> y) const override {
    CheckNorm(x, weight, bias, y);
    const float* b = bias.empty() ? nullptr : bias.data();
    for (Index row = 0; row < x.shape[0]; ++row)
      BestKernels().layer_norm(x.at(row), x.shape[1], weight.data(), b, eps, y.at(row));
  }

  void Rotary(View<float, 3> x, View<const float, 2> cosine, View<const float, 2> sine) const override {
    CheckRotary(x, cosine, sine);
    for (Index t = 0; t < x.shape[0]; ++t)
      for (Index h = 0; h < x.shape[1]; ++h) BestKernels().rotate(x.at(t, h), x.shape[2] / 2, cosine.at(t), sine.at(t));
  }

  void SwiGlu(std::span<float> gate, std::span<const float> up) const override {
    CheckSameLength(gate, up);
    BestKernels().swiglu(gate.data(), static_cast<Index>(gate.size()), up.data());
  }

  void Gelu(std::span<float> x, bool tanh_approximation) const override {
    (tanh_approximation ? BestKernels().gelu_tanh : BestKernels().gelu_erf)(x.data(), static_cast<Index>(x.size()));
  }

  void Relu(std::span<float> x) const override { BestKernels().relu(x.data(), static_cast<Index>(x.size())); }

  void Add(std::span<float> x, std::span<const float> y) const override {
    CheckSameLength(x, y);
    BestKernels().add(x.data(), static_cast<Index>(x.size()), y.data());
  }
};

}  // namespace

const Backend& SimdBackend() {
  static const Simd kBackend;
  return kBackend;
}

std::string_view SimdTarget() { return BestKernels().target; }

}  // namespace headlens
