// SPDX-License-Identifier: Apache-2.0
/// Attention on the reference backend: it computes row by row, in fp64, in the order of the formulas.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/parts.h"

namespace headlens {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Computes one row at a time: query t of head h in batch b.
class ReferenceRun {
 public:
  ReferenceRun(const AttentionProblem& problem, const AttentionResults& results)
      : p_(problem),
        r_(results),
        q_(problem.q.host()),
        output_(results.output.host()),
        weights_(results.weights.host()),
        masks_(problem),
        biases_(problem),
        spreads_(problem.masked_nan == MaskedNan::kSpreads),
        row_(static_cast<std::size_t>(problem.k.shape[2])),
        masked_(row_.size()) {}

  void Run() {
    const auto& [batch, heads, queries, width] = p_.q.shape;
    std::vector<double> mean(row_.size());
    for (Index b = 0; b < batch; ++b)
      for (Index t = 0; t < queries; ++t) {
        std::fill(mean.begin(), mean.end(), 0.0);
        for (Index h = 0; h < heads; ++h) {
          at_ = {b, h, t};
          kv_head_ = KvHead(p_, h);
          RunRow();
          for (std::size_t s = 0; s < row_.size(); ++s) mean[s] += normalized_[s] / static_cast<double>(heads);
        }
        if (!r_.mean_weights) continue;
        for (std::size_t s = 0; s < mean.size(); ++s)
          r_.mean_weights(b, t, static_cast<Index>(s)) = static_cast<float>(mean[s]);
      }
  }

 private:
  void RunRow() {
    FindMasked();
    // Step 1: scores = q kᵀ, scaled, soft-capped, biased and masked.
    Each([&](Index s, double) { return Dot(s); });
    Store(r_.scores);
    Each([&](Index, double x) { return x * p_.scale; });
    Store(r_.scaled_scores);
    const bool cap_first = p_.softcap_order == SoftcapOrder::kBeforeBias;
    if (cap_first) Cap();
    Each([&](Index s, double x) { return Bias(s) == -kInfinity ? -kInfinity : x + Bias(s); });
    Store(r_.biased_scores);
    if (!cap_first) Cap();
    Each([&](Index s, double x) { return !IsHidden(s) ? x : spreads_ ? x - kInfinity : -kInfinity; });
    Store(r_.masked_scores);
    // Step 2: weights.
    Normalize();
    Store(weights_);
    normalized_ = row_;
    // Step 3: dropout and head mask.
    Each([&](Index s, double x) { return Keeps(s) ? (p_.dropout_p < 1.0 ? x / (1.0 - p_.dropout_p) : 0.0) : 0.0; });
    if (p_.head_mask) Each([&](Index, double x) { return HeadFactor() == 0.0 ? 0.0 : x * HeadFactor(); });
    Store(r_.dropped_weights);
    if (r_.dropout_mask)
      for (Index s = 0; s < p_.k.shape[2]; ++s) r_.dropout_mask(at_.b, at_.h, at_.t, s) = Keeps(s) ? 1.0f : 0.0f;
    // Step 4: output = weights v, over the keys that the query may look at.
    if (output_) Blend();
  }

  template <class F>
  void Each(F f) {
    for (std::size_t s = 0; s < row_.size(); ++s) row_[s] = f(static_cast<Index>(s), row_[s]);
  }

  void Store(const View<float, 4>& to) const {
    if (!to) return;
    for (std::size_t s = 0; s < row_.size(); ++s)
      to(at_.b, at_.h, at_.t, static_cast<Index>(s)) = static_cast<float>(row_[s]);
  }

  void FindMasked() {
    const KeyRange range = masks_.Range(at_.b, at_.t);
    std::fill(masked_.begin(), masked_.end(), std::uint8_t{1});
    masks_.Mark(at_, range, masked_.data() + range.begin);
    std::fill(masked_.begin() + MaskableKeys(p_), masked_.end(), std::uint8_t{0});
  }

  bool IsHidden(Index s) const { return masked_[static_cast<std::size_t>(s)] != 0; }

  /// A key or value of the row's head. Valid until the next call.
  const float* Element(const KeyValueView& view, Index s) {
    if (view.dtype == DType::kF32) return reinterpret_cast<const float*>(view.at(at_.b, kv_head_, s));
    element_.resize(static_cast<std::size_t>(view.shape[3]));
    view.CopyRow(at_.b, kv_head_, s, element_.data());
    return element_.data();
  }

  double Dot(Index s) {
    const float *query = q_.at(at_.b, at_.h, at_.t), *key = Element(p_.k, s);
    double sum = 0.0;
    for (Index i = 0; i < p_.q.shape[3]; ++i) sum += double{query[i]} * double{key[i]};
    return sum;
  }

  double Bias(Index s) const {
    if (s >= MaskableKeys(p_)) return 0.0;
    const double additive = p_.mask.additive ? double{p_.mask.additive(at_.b, at_.h, at_.t, s)} : 0.0;
    return additive + biases_.At(at_.h, at_.t, s);
  }

  void Cap() {
    if (p_.softcap > 0.0f) Each([&](Index, double x) { return p_.softcap * std::tanh(x / p_.softcap); });
    Store(r_.capped_scores);
  }

  void Normalize() {
    if (spreads_ && std::any_of(row_.begin(), row_.end(), [](double x) { return std::isnan(x); }))
      std::fill(masked_.begin(), masked_.end(), std::uint8_t{0});  // the NaN then counts as visible
    fully_masked_ = std::all_of(masked_.begin(), masked_.end(), [](std::uint8_t mark) { return mark != 0; });
    double lse = -kInfinity;
    if (fully_masked_) {
      const double uniform = 1.0 / static_cast<double>(row_.size());
      const double value = p_.fully_masked == FullyMasked::kZero  ? 0.0
                           : p_.fully_masked == FullyMasked::kNan ? std::numeric_limits<double>::quiet_NaN()
                                                                  : uniform;
      std::fill(row_.begin(), row_.end(), value);
    } else {
      lse = NormalizeRow(p_.normalizer, at_.h, row_, masked_);
    }
    if (r_.lse) r_.lse(at_.b, at_.h, at_.t) = static_cast<float>(lse);
  }

  bool Keeps(Index s) const {
    if (p_.dropout_p == 0.0) return true;
    const auto row = static_cast<std::uint64_t>((at_.b * p_.q.shape[1] + at_.h) * p_.q.shape[2] + at_.t);
    return DropoutKeeps(p_.seed, row * row_.size() + static_cast<std::uint64_t>(s), p_.dropout_p);
  }

  double HeadFactor() const { return p_.head_mask(at_.b, at_.h); }

  void Blend() {
    const bool blend_masked = fully_masked_ && p_.fully_masked != FullyMasked::kZero;
    const bool ablated = p_.head_mask && HeadFactor() == 0.0;
    sums_.assign(static_cast<std::size_t>(p_.v.shape[3]), 0.0);
    for (Index s = 0; s < p_.v.shape[2] && !ablated; ++s) {
      if (!blend_masked && !spreads_ && IsHidden(s)) continue;
      const float* value = Element(p_.v, s);
      for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += row_[static_cast<std::size_t>(s)] * double{value[i]};
    }
    for (std::size_t i = 0; i < sums_.size(); ++i)
      output_(at_.b, at_.h, at_.t, static_cast<Index>(i)) = static_cast<float>(sums_[i]);
  }

  const AttentionProblem& p_;
  const AttentionResults& r_;
  const View<const float, 4> q_;
  const View<float, 4> output_, weights_;
  MaskSet masks_;
  BiasTable biases_;
  RowIndex at_{};
  Index kv_head_ = 0;
  bool fully_masked_ = false, spreads_;
  std::vector<double> row_, normalized_, sums_;
  std::vector<float> element_;
  std::vector<std::uint8_t> masked_;
};

}  // namespace

void RunReferenceAttention(const AttentionProblem& problem, const AttentionResults& results) {
  if (HasNoElements(problem.q)) return ZeroMeanWeights(results);
  ReferenceRun(problem, results).Run();
}

}  // namespace headlens
