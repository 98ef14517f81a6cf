// SPDX-License-Identifier: Apache-2.0
/// The reference backend: plain loops in fp64 that follow the formulas. Each kernel rounds once, at its end. Attention
/// is in attention.cc.
#include "headlens/backend.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/parts.h"

namespace headlens {
namespace {

struct PlainLinear : LinearWeights {
  PlainLinear(const WeightMatrix& weight, std::span<const float> bias_values)
      : LinearWeights(weight.in, weight.out), w({weight.out, weight.in}), b(bias_values.begin(), bias_values.end()) {
    const auto size = static_cast<Index>(ByteSize(weight.dtype));
    for (Index o = 0; o < weight.out; ++o)
      for (Index i = 0; i < weight.in; ++i)
        w.view<2>()(o, i) =
            LoadFloat(weight.dtype, weight.data + (o * weight.out_stride + i * weight.in_stride) * size);
  }
  void CopyRow(Index out, std::span<float> to) const override {
    CheckRow(*this, out, to);
    std::copy_n(w.view<2>().at(out), to.size(), to.begin());
  }
  std::span<const float> bias() const override { return b; }

  Tensor w;
  std::vector<float> b;
};

class Reference final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }

  std::unique_ptr<LinearWeights> PackLinear(const WeightMatrix& weight, std::span<const float> bias) const override {
    CheckPack(weight, bias);
    return std::make_unique<PlainLinear>(weight, bias);
  }

  void Linear(DeviceView<const float, 2> device_x, const LinearWeights& weights,
              DeviceView<float, 2> device_y) const override {
    CheckLinear(device_x, weights, device_y);
    const View<const float, 2> x = device_x.host();
    const View<float, 2> y = device_y.host();
    const auto& plain = static_cast<const PlainLinear&>(weights);
    const View<const float, 2> w = plain.w.view<2>();
    std::vector<double> given(static_cast<std::size_t>(w.shape[1]));
    for (Index row = 0; row < x.shape[0]; ++row) {
      for (std::size_t i = 0; i < given.size(); ++i) given[i] = double{x(row, static_cast<Index>(i))};
      for (Index o = 0; o < w.shape[0]; ++o) {
        double sum = plain.b.empty() ? 0.0 : double{plain.b[static_cast<std::size_t>(o)]};
        const float* weight = w.at(o);
        for (std::size_t i = 0; i < given.size(); ++i) sum += given[i] * double{weight[i]};
        y(row, o) = static_cast<float>(sum);
      }
    }
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    RunReferenceAttention(problem, results);
  }

  void RmsNorm(DeviceView<const float, 2> device_x, DeviceView<const float, 1> device_weight, float eps,
               DeviceView<float, 2> device_y) const override {
    CheckNorm(device_x, device_weight, {}, device_y);
    const View<const float, 2> x = device_x.host();
    const View<const float, 1> weight = device_weight.host();
    const View<float, 2> y = device_y.host();
    for (Index row = 0; row < x.shape[0]; ++row) {
      double squares = 0.0;
      for (Index i = 0; i < x.shape[1]; ++i) squares += double{x(row, i)} * double{x(row, i)};
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(x.shape[1]) + double{eps});
      for (Index i = 0; i < x.shape[1]; ++i) y(row, i) = static_cast<float>(x(row, i) * factor * double{weight(i)});
    }
  }

  void LayerNorm(DeviceView<const float, 2> device_x, DeviceView<const float, 1> device_weight,
                 DeviceView<const float, 1> device_bias, float eps, DeviceView<float, 2> device_y) const override {
    CheckNorm(device_x, device_weight, device_bias, device_y);
    const View<const float, 2> x = device_x.host();
    const View<const float, 1> weight = device_weight.host(), bias = device_bias.host();
    const View<float, 2> y = device_y.host();
    const auto width = static_cast<double>(x.shape[1]);
    for (Index row = 0; row < x.shape[0]; ++row) {
      double mean = 0.0, variance = 0.0;
      for (Index i = 0; i < x.shape[1]; ++i) mean += double{x(row, i)} / width;
      for (Index i = 0; i < x.shape[1]; ++i) variance += (x(row, i) - mean) * (x(row, i) - mean) / width;
      const double factor = 1.0 / std::sqrt(variance + double{eps});
      for (Index i = 0; i < x.shape[1]; ++i) {
        const double offset = bias.shape[0] > 0 ? double{bias(i)} : 0.0;
        y(row, i) = static_cast<float>((x(row, i) - mean) * factor * double{weight(i)} + offset);
      }
    }
  }

  void Rotary(DeviceView<float, 3> device_x, DeviceView<const float, 2> device_cosine,
              DeviceView<const float, 2> device_sine, RotaryPairs pairs) const override {
    CheckRotary(device_x, device_cosine, device_sine);
    const View<float, 3> x = device_x.host();
    const View<const float, 2> cosine = device_cosine.host(), sine = device_sine.host();
    const Index half = x.shape[2] / 2;
    for (Index t = 0; t < x.shape[0]; ++t)
      for (Index h = 0; h < x.shape[1]; ++h)
        for (Index i = 0; i < half; ++i) {
          const bool halves = pairs == RotaryPairs::kHalf;
          float &first = x(t, h, halves ? i : 2 * i), &second = x(t, h, halves ? i + half : 2 * i + 1);
          const double a = first, b = second, c = cosine(t, i), s = sine(t, i);
          first = static_cast<float>(a * c - b * s);
          second = static_cast<float>(b * c + a * s);
        }
  }

  void Silu(DeviceView<float, 1> device_x) const override {
    const View<float, 1> x = device_x.host();
    for (Index i = 0; i < x.shape[0]; ++i) x(i) = static_cast<float>(double{x(i)} / (1.0 + std::exp(-double{x(i)})));
  }

  void Gelu(DeviceView<float, 1> device_x, bool tanh_approximation) const override {
    const View<float, 1> x = device_x.host();
    constexpr double kSqrt2OverPi = 0.79788456080286535588, kSqrtHalf = 0.70710678118654752440;
    for (Index i = 0; i < x.shape[0]; ++i) {
      const double v = x(i);
      const double gate =
          tanh_approximation ? std::tanh(kSqrt2OverPi * (v + 0.044715 * v * v * v)) : std::erf(v * kSqrtHalf);
      x(i) = static_cast<float>(0.5 * v * (1.0 + gate));
    }
  }

  void Relu(DeviceView<float, 1> device_x) const override {
    const View<float, 1> x = device_x.host();
    for (Index i = 0; i < x.shape[0]; ++i) x(i) = x(i) < 0.0f ? 0.0f : x(i);
  }

  void Add(DeviceView<float, 1> device_x, DeviceView<const float, 1> device_y) const override {
    CheckSameLength(device_x, device_y);
    const View<float, 1> x = device_x.host();
    const View<const float, 1> y = device_y.host();
    for (Index i = 0; i < x.shape[0]; ++i) x(i) = static_cast<float>(double{x(i)} + double{y(i)});
  }

  void Multiply(DeviceView<float, 1> device_x, DeviceView<const float, 1> device_y) const override {
    CheckSameLength(device_x, device_y);
    const View<float, 1> x = device_x.host();
    const View<const float, 1> y = device_y.host();
    for (Index i = 0; i < x.shape[0]; ++i) x(i) = static_cast<float>(double{x(i)} * double{y(i)});
  }
};

}  // namespace

const Backend& ReferenceBackend() {
  static const Reference kBackend;
  return kBackend;
}

}  // namespace headlens
