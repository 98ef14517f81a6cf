// SPDX-License-Identifier: Apache-2.0
/// exp(x − max) / Σ exp(x − max); a sink is one term more in the sum ("off by one" when it is 0: Miller 2023; learned:
/// Xiao et al. 2023, §3.3).
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

std::optional<double> SimdSoftmax(const simd::Kernels& kernels, std::span<float> scores, const NormalizerRow& row) {
  const double max = std::max(row.max, row.sink.value_or(row.max));
  const auto count = static_cast<Index>(scores.size());
  float sum = kernels.exp_sum(scores.data(), count, static_cast<float>(max), row.factor);
  if (row.sink) sum += static_cast<float>(std::exp(*row.sink - max));
  kernels.scale(scores.data(), count, 1.0f / sum);
  return row.wants_lse ? max * double{row.factor} + double{std::log(sum)} : double{sum};
}

extern const NormalizerRule kSoftmax = {
    .name = "softmax",
    .kind = NormalizerKind::kSoftmax,
    .takes_sinks = true,
    .reference = ReferenceSoftmax,
    .simd = SimdSoftmax,
};

}  // namespace headlens
