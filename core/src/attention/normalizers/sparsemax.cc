// SPDX-License-Identifier: Apache-2.0
/// Sparsemax: max(x − τ, 0), with the τ for which the weights sum to 1 (Martins & Astudillo 2016).
#include <algorithm>
#include <vector>

#include "attention/normalizers/normalizer_rule.h"
#include "base/sorting.h"

namespace headlens {
namespace {

/// Algorithm 1 of Martins & Astudillo: the support is the longest prefix of the sorted scores with 1 + j · x_j > Σ_{i ≤
/// j} x_i.
std::optional<double> ReferenceSparsemax(std::span<double> scores, const NormalizerRow& row) {
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

}  // namespace

extern const NormalizerRule kSparsemax = {
    .name = "sparsemax",
    .kind = NormalizerKind::kSparsemax,
    .doc = "the nearest point of the probability simplex (Martins & Astudillo 2016).",
    .reference = ReferenceSparsemax,
};

}  // namespace headlens
