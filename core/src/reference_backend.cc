// SPDX-License-Identifier: Apache-2.0
/// The fp64 twin: plain loops that read like the formulas, each kernel rounding once at its end.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "checks.h"
#include "headlens/backend.h"
#include "philox.h"

namespace headlens {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct PlainLinear : LinearWeights {
  PlainLinear(View<const float, 2> weight, std::span<const float> bias_values)
      : LinearWeights(weight.shape[1], weight.shape[0]),
        w({weight.shape[0], weight.shape[1]}),
        bias(bias_values.begin(), bias_values.end()) {
    for (Index o = 0; o < weight.shape[0]; ++o)
      for (Index i = 0; i < weight.shape[1]; ++i) w.view<2>()(o, i) = weight(o, i);
  }
  Tensor w;
  std::vector<float> bias;
};

/// One row of attention: query t of head h in batch b.
class Row {
 public:
  Row(const AttentionProblem& problem, Index b, Index h, Index t)
      : p_(problem), b_(b), h_(h), g_(KvHead(problem, h)), t_(t), row_(static_cast<std::size_t>(problem.k.shape[2])) {}

  void Compute(const AttentionResults& r, double* mean) {
    // Pass 1: scores = q kᵀ, scaled, soft-capped, biased, masked.
    Each([&](Index s, double&) { return Dot(s); });
    Store(r.scores);
    Each([&](Index, double& x) { return x * p_.scale; });
    Store(r.scaled_scores);
    const bool cap_first = p_.softcap_order == SoftcapOrder::kBeforeBias;
    if (cap_first) Cap(r);
    Each([&](Index s, double& x) { return x + Bias(s); });
    Store(r.biased_scores);
    if (!cap_first) Cap(r);
    Each([&](Index s, double& x) { return IsMasked(p_, b_, h_, t_, s) ? -kInfinity : x; });
    Store(r.masked_scores);
    // Pass 2: weights = exp(score − max) / Σ.
    const double lse = Softmax();
    if (r.lse) r.lse(b_, h_, t_) = static_cast<float>(lse);
    Store(r.weights);
    if (mean) Each([&](Index s, double& x) { return mean[s] += x / static_cast<double>(p_.q.shape[1]), x; });
    // Pass 3: dropout.
    if (p_.dropout_p > 0.0) Each([&](Index s, double& x) { return Keeps(s) ? x / (1.0 - p_.dropout_p) : 0.0; });
    Store(r.dropped_weights);
    // Pass 4: output = weights v, over what may be looked at.
    if (r.output) Blend(r.output);
  }

 private:
  template <class F>
  void Each(F f) {
    for (std::size_t s = 0; s < row_.size(); ++s) row_[s] = f(static_cast<Index>(s), row_[s]);
  }

  void Store(const View<float, 4>& to) {
    if (to) Each([&](Index s, double& x) { return to(b_, h_, t_, s) = static_cast<float>(x), x; });
  }

  double Dot(Index s) const {
    double sum = 0.0;
    for (Index i = 0; i < p_.q.shape[3]; ++i) sum += double{p_.q(b_, h_, t_, i)} * double{p_.k(b_, g_, s, i)};
    return sum;
  }

  double Bias(Index s) const {
    const bool here = p_.mask.additive && s < p_.k.shape[2] - p_.mask.appended_keys;
    return here ? double{p_.mask.additive(b_, h_, t_, s)} : 0.0;
  }

  void Cap(const AttentionResults& r) {
    if (p_.softcap > 0.0f) Each([&](Index, double& x) { return p_.softcap * std::tanh(x / p_.softcap); });
    Store(r.capped_scores);
  }

  /// Returns ln Σ exp(score).
  double Softmax() {
    double max = -kInfinity;
    for (const double x : row_) max = std::max(max, x);  // a NaN passes by here and reaches the sum
    if (std::all_of(row_.begin(), row_.end(), [](double x) { return x == -kInfinity; })) {
      const double uniform = 1.0 / static_cast<double>(row_.size());
      const double value = p_.fully_masked == FullyMasked::kZero  ? 0.0
                           : p_.fully_masked == FullyMasked::kNan ? std::numeric_limits<double>::quiet_NaN()
                                                                  : uniform;
      std::fill(row_.begin(), row_.end(), value);
      fully_masked_ = true;
      return -kInfinity;
    }
    double sum = 0.0;
    Each([&](Index, double& x) { return sum += std::exp(x - max), std::exp(x - max); });
    Each([&](Index s, double& x) { return std::isnan(sum) && IsMasked(p_, b_, h_, t_, s) ? 0.0 : x / sum; });
    return max + std::log(sum);
  }

  bool Keeps(Index s) const {
    const auto row = static_cast<std::uint64_t>((b_ * p_.q.shape[1] + h_) * p_.q.shape[2] + t_);
    return DropoutKeeps(p_.seed, row * row_.size() + static_cast<std::uint64_t>(s), p_.dropout_p);
  }

  void Blend(const View<float, 4>& output) const {
    const bool blend_masked = fully_masked_ && p_.fully_masked != FullyMasked::kZero;
    for (Index i = 0; i < p_.v.shape[3]; ++i) {
      double sum = 0.0;
      for (Index s = 0; s < p_.v.shape[2]; ++s) {
        if (blend_masked || !IsMasked(p_, b_, h_, t_, s))
          sum += row_[static_cast<std::size_t>(s)] * double{p_.v(b_, g_, s, i)};
      }
      output(b_, h_, t_, i) = static_cast<float>(sum);
    }
  }

  const AttentionProblem& p_;
  Index b_, h_, g_, t_;
  bool fully_masked_ = false;
  std::vector<double> row_;
};

class Reference final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }

  std::unique_ptr<LinearWeights> PackLinear(View<const float, 2> weight, std::span<const float> bias) const override {
    CheckPack(weight, bias);
    return std::make_unique<PlainLinear>(weight, bias);
  }

  void Linear(View<const float, 2> x, const LinearWeights& weights, View<float, 2> y) const override {
    CheckLinear(x, weights, y);
    const auto& plain = static_cast<const PlainLinear&>(weights);
    const View<const float, 2> w = plain.w.view<2>();
    for (Index row = 0; row < x.shape[0]; ++row)
      for (Index o = 0; o < w.shape[0]; ++o) {
        double sum = plain.bias.empty() ? 0.0 : double{plain.bias[static_cast<std::size_t>(o)]};
        for (Index i = 0; i < w.shape[1]; ++i) sum += double{x(row, i)} * double{w(o, i)};
        y(row, o) = static_cast<float>(sum);
      }
  }

  void Attention(const AttentionProblem& problem, const AttentionResults& results) const override {
    Validate(problem, results);
    const auto& [batch, heads, queries, width] = problem.q.shape;
    const Index keys = problem.k.shape[2];
    std::vector<double> mean(results.mean_weights ? static_cast<std::size_t>(keys) : 0);
    for (Index b = 0; b < batch; ++b)
      for (Index t = 0; t < queries; ++t) {
        std::fill(mean.begin(), mean.end(), 0.0);
        for (Index h = 0; h < heads; ++h)
          Row(problem, b, h, t).Compute(results, results.mean_weights ? mean.data() : nullptr);
        for (std::size_t s = 0; s < mean.size(); ++s) results.mean_weights(b, t, s) = static_cast<float>(mean[s]);
      }
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

  void Rotary(View<float, 3> x, View<const float, 2> cosine, View<const float, 2> sine) const override {
    CheckRotary(x, cosine, sine);
    const Index half = x.shape[2] / 2;
    for (Index t = 0; t < x.shape[0]; ++t)
      for (Index h = 0; h < x.shape[1]; ++h)
        for (Index i = 0; i < half; ++i) {
          const double a = x(t, h, i), b = x(t, h, i + half), c = cosine(t, i), s = sine(t, i);
          x(t, h, i) = static_cast<float>(a * c - b * s);
          x(t, h, i + half) = static_cast<float>(b * c + a * s);
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
