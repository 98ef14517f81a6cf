// SPDX-License-Identifier: Apache-2.0
/// The reference backend: plain loops in fp64 that follow the formulas. Each kernel rounds once, at its end. Attention
/// is in attention.cc.
#include "headlens/backend.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/attention_run.h"
#include "backends/checks.h"

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

  void Linear(View<const float, 2> x, const LinearWeights& weights, View<float, 2> y) const override {
    CheckLinear(x, weights, y);
    const auto& plain = static_cast<const PlainLinear&>(weights);
    const View<const float, 2> w = plain.w.view<2>();
    for (Index row = 0; row < x.shape[0]; ++row)
      for (Index o = 0; o < w.shape[0]; ++o) {
        double sum = plain.b.empty() ? 0.0 : double{plain.b[static_cast<std::size_t>(o)]};
        for (Index i = 0; i < w.shape[1]; ++i) sum += double{x(row, i)} * double{w(o, i)};
        y(row, o) = static_cast<float>(sum);
      }
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    RunReferenceAttention(problem, results);
  }

  void RmsNorm(View<const float, 2> x, std::span<const float> weight, float eps, View<float, 2> y) const override {
    CheckNorm(x, weight, {}, y);
    for (Index row = 0; row < x.shape[0]; ++row) {
      double squares = 0.0;
      for (Index i = 0; i < x.shape[1]; ++i) squares += double{x(row, i)} * double{x(row, i)};
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(x.shape[1]) + double{eps});
      for (Index i = 0; i < x.shape[1]; ++i)
        y(row, i) = static_cast<float>(x(row, i) * factor * double{weight[static_cast<std::size_t>(i)]});
    }
  }

  void LayerNorm(View<const float, 2> x, std::span<const float> weight, std::span<const float> bias, float eps,
                 View<float, 2> y) const override {
    CheckNorm(x, weight, bias, y);
    const auto width = static_cast<double>(x.shape[1]);
    for (Index row = 0; row < x.shape[0]; ++row) {
      double mean = 0.0, variance = 0.0;
      for (Index i = 0; i < x.shape[1]; ++i) mean += double{x(row, i)} / width;
      for (Index i = 0; i < x.shape[1]; ++i) variance += (x(row, i) - mean) * (x(row, i) - mean) / width;
      const double factor = 1.0 / std::sqrt(variance + double{eps});
      for (std::size_t i = 0; i < weight.size(); ++i) {
        y(row, i) = static_cast<float>((x(row, i) - mean) * factor * double{weight[i]} +
                                       (bias.empty() ? 0.0 : double{bias[i]}));
      }
    }
  }

  void Rotary(View<float, 3> x, View<const float, 2> cosine, View<const float, 2> sine,
              RotaryPairs pairs) const override {
    CheckRotary(x, cosine, sine);
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

  void SwiGlu(std::span<float> gate, std::span<const float> up) const override {
    CheckSameLength(gate, up);
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i];
      gate[i] = static_cast<float>(g / (1.0 + std::exp(-g)) * double{up[i]});
    }
  }

  void Gelu(std::span<float> x, bool tanh_approximation) const override {
    constexpr double kSqrt2OverPi = 0.79788456080286535588, kSqrtHalf = 0.70710678118654752440;
    for (float& value : x) {
      const double v = value;
      const double gate =
          tanh_approximation ? std::tanh(kSqrt2OverPi * (v + 0.044715 * v * v * v)) : std::erf(v * kSqrtHalf);
      value = static_cast<float>(0.5 * v * (1.0 + gate));
    }
  }

  void Relu(std::span<float> x) const override {
    for (float& value : x) value = value < 0.0f ? 0.0f : value;
  }

  void Add(std::span<float> x, std::span<const float> y) const override {
    CheckSameLength(x, y);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(double{x[i]} + double{y[i]});
  }
};

}  // namespace

const Backend& ReferenceBackend() {
  static const Reference kBackend;
  return kBackend;
}

}  // namespace headlens
