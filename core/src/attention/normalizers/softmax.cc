// SPDX-License-Identifier: Apache-2.0
/// Softmax: exp(x − max) / Σ exp(x − max). A sink adds one more term to the sum ("off by one" when it is 0: Miller
/// 2023; learned: Xiao et al. 2023, §3.3).
#include "attention/normalizers/softmax.h"

#include <algorithm>
#include <cmath>

namespace headlens {

std::optional<double> ReferenceSoftmax(std::span<double> scores, const NormalizerRow& row) {
  const double max = std::max(row.max, row.sink.value_or(row.max));
  double sum = row.sink ? std::exp(*row.sink - max) : 0.0;
  for (double& x : scores) {
    x = std::exp(x - max);
    sum += x;
  }
  for (double& x : scores) x /= sum;
  return max + std::log(sum);
}

extern const NormalizerRule kSoftmax = {
    .name = "softmax",
    .kind = NormalizerKind::kSoftmax,
    .doc = "exp(x) / Σ exp(x).",
    .takes_sinks = true,
    .reference = ReferenceSoftmax,
};

}  // namespace headlens
