// SPDX-License-Identifier: Apache-2.0
/// max(x/2 − τ, 0)² with the τ for which the weights sum to 1: α-entmax for α = 1.5 (Peters et al. 2019).
#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/normalizers/normalizer_rule.h"
#include "base/sorting.h"

namespace headlens {
namespace {

/// Their algorithm 2: for each prefix of the sorted halves, τ from its mean and its sum of squared deviations; the
/// support is the longest prefix whose last element is not below its own τ.
std::optional<double> Reference(std::span<double> scores, const NormalizerRow& row) {
  for (double& x : scores) x = (x - row.max) / 2.0;
  std::vector<double> sorted(scores.begin(), scores.end());
  SortDescending(sorted);
  double sum = 0.0, squares = 0.0, count = 0.0, tau = -1.0;
  for (const double x : sorted) {
    if (std::isinf(x)) break;
    sum += x, squares += x * x, count += 1.0;
    const double mean = sum / count, deviations = squares - sum * mean;
    if (deviations > 1.0) break;
    const double candidate = mean - std::sqrt((1.0 - deviations) / count);
    if (candidate > x) break;
    tau = candidate;
  }
  for (double& x : scores) x = x > tau ? (x - tau) * (x - tau) : 0.0;
  return std::nullopt;
}

/// Newton's method on Σ max(x/2 − τ, 0)² = 1 from below: convex and falling, so it rises to the solution.
std::optional<double> Simd(const simd::Kernels& kernels, std::span<float> scores, const NormalizerRow& row) {
  const auto count = static_cast<Index>(scores.size());
  const auto max = static_cast<float>(row.max);
  float tau = -1.0f;
  for (int step = 0; step < 64; ++step) {
    const simd::HingeSums sums = kernels.hinge_sums(scores.data(), count, max, 0.5f, tau);
    const float next = tau + (sums.squares - 1.0f) / (2.0f * sums.sum);
    if (!(next > tau)) break;
    tau = next;
  }
  kernels.hinge(scores.data(), count, max, 0.5f, tau);
  for (float& x : scores) x *= x;
  return std::nullopt;
}

}  // namespace

extern const NormalizerRule kEntmax15 = {
    .name = "entmax15",
    .kind = NormalizerKind::kEntmax15,
    .reference = Reference,
    .simd = Simd,
};

}  // namespace headlens
