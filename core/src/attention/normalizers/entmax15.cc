// SPDX-License-Identifier: Apache-2.0
/// α-entmax for α = 1.5: max(x/2 − τ, 0)², with the τ for which the weights sum to 1 (Peters et al. 2019).
#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/normalizers/normalizer_rule.h"
#include "base/sorting.h"

namespace headlens {
namespace {

/// Algorithm 2 of Peters et al.: for each prefix of the sorted halves of the scores, τ follows from the prefix's mean
/// and its sum of squared deviations. The support is the longest prefix whose last element is not below its τ.
std::optional<double> ReferenceEntmax15(std::span<double> scores, const NormalizerRow& row) {
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

}  // namespace

extern const NormalizerRule kEntmax15 = {
    .name = "entmax15",
    .kind = NormalizerKind::kEntmax15,
    .doc = "α-entmax with α = 1.5 (Peters et al. 2019).",
    .reference = ReferenceEntmax15,
};

}  // namespace headlens
