// SPDX-License-Identifier: Apache-2.0
/// Attention on the reference backend: row by row, in fp64, as the formulas read.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention_run.h"
#include "philox.h"

namespace headlens {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

}  // namespace

void RunReferenceAttention(const AttentionProblem& problem, const AttentionResults& results) {
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

}  // namespace headlens
