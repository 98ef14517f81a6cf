// SPDX-License-Identifier: Apache-2.0
/// max(x − τ, 0) with the τ for which the weights sum to 1 (Martins & Astudillo 2016).
#include <algorithm>
#include <vector>

#include "attention/normalizers/normalizer_rule.h"
#include "base/sorting.h"

namespace headlens {
namespace {

/// Their algorithm 1: the support is the longest prefix of the sorted scores with 1 + j · x_j > Σ_{i ≤ j} x_i.
std::optional<double> Reference(std::span<double> scores, const NormalizerRow& row) {
  for (double& x : scores) x -= row.max;
  std::vector<double> sorted(scores.begin(), scores.end());
  SortDescending(sorted);
  double sum = 0.0, tau = -1.0, support = 0.0;
  for (const double x : sorted) {
    if (!(1.0 + (support + 1.0) * x > sum + x)) break;
    sum += x;
    support += 1.0;
    tau = (sum - 1.0) / support;
  }
  for (double& x : scores) x = std::max(x - tau, 0.0);
  return std::nullopt;
}

/// Newton's method on Σ max(x − τ, 0) = 1 from below: piecewise linear and convex, so it rises to the solution and
/// stops when no score leaves the support any more (Michelot 1986), or when rounding would let it fall.
std::optional<double> Simd(const simd::Kernels& kernels, std::span<float> scores, const NormalizerRow& row) {
  const auto count = static_cast<Index>(scores.size());
  const auto max = static_cast<float>(row.max);
  float tau = -1.0f, support = 0.0f;
  while (true) {
    const simd::HingeSums sums = kernels.hinge_sums(scores.data(), count, max, 1.0f, tau);
    if (sums.count == support || sums.count == 0.0f) break;
    support = sums.count;
    const float next = tau + (sums.sum - 1.0f) / support;
    if (!(next > tau)) break;
    tau = next;
  }
  kernels.hinge(scores.data(), count, max, 1.0f, tau);
  return std::nullopt;
}

}  // namespace

extern const NormalizerRule kSparsemax = {
    .name = "sparsemax",
    .kind = NormalizerKind::kSparsemax,
    .reference = Reference,
    .simd = Simd,
};

}  // namespace headlens
