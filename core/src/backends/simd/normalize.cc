// SPDX-License-Identifier: Apache-2.0
#include "backends/simd/normalize.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlens::simd {
namespace {

Index Count(std::span<const float> scores) { return static_cast<Index>(scores.size()); }

/// Solves Σ max(x − τ, 0) = 1 by Newton's method from below. The sum is piecewise linear and convex, so τ rises to the
/// solution. It stops when no score leaves the support any more (Michelot 1986), or when rounding would make τ fall.
std::optional<double> Sparsemax(const Kernels& kernels, std::span<float> scores, const ScoreRow& row) {
  float tau = -1.0f, support = 0.0f;
  while (true) {
    const HingeSums sums = kernels.hinge_sums(scores.data(), Count(scores), row.max, 1.0f, tau);
    if (sums.count == support || sums.count == 0.0f) break;
    support = sums.count;
    const float next = tau + (sums.sum - 1.0f) / support;
    if (!(next > tau)) break;
    tau = next;
  }
  kernels.hinge(scores.data(), Count(scores), row.max, 1.0f, tau);
  return std::nullopt;
}

/// Solves Σ max(x/2 − τ, 0)² = 1 by Newton's method from below. The sum is convex and falling, so τ rises to the
/// solution.
std::optional<double> Entmax15(const Kernels& kernels, std::span<float> scores, const ScoreRow& row) {
  float tau = -1.0f;
  for (int step = 0; step < 64; ++step) {
    const HingeSums sums = kernels.hinge_sums(scores.data(), Count(scores), row.max, 0.5f, tau);
    const float next = tau + (sums.squares - 1.0f) / (2.0f * sums.sum);
    if (!(next > tau)) break;
    tau = next;
  }
  kernels.hinge(scores.data(), Count(scores), row.max, 0.5f, tau);
  for (float& x : scores) x *= x;
  return std::nullopt;
}

std::optional<double> Sigmoid(const Kernels& kernels, std::span<float> scores, const ScoreRow& row) {
  kernels.sigmoid(scores.data(), Count(scores), row.normalizer.sigmoid_bias);
  return std::nullopt;
}

std::optional<double> TopK(const Kernels& kernels, std::span<float> scores, const ScoreRow& row) {
  kernels.keep_largest(scores.data(), Count(scores), row.normalizer.top_k);
  Softmax(kernels, scores, row);
  return std::nullopt;
}

std::optional<double> Hard(const Kernels& kernels, std::span<float> scores, const ScoreRow&) {
  const Index largest = kernels.first_max(scores.data(), Count(scores));
  std::fill(scores.begin(), scores.end(), 0.0f);
  scores[static_cast<std::size_t>(largest)] = 1.0f;
  return std::nullopt;
}

std::optional<double> Relu(const Kernels& kernels, std::span<float> scores, const ScoreRow&) {
  const auto masked = std::count(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  kernels.relu(scores.data(), Count(scores));
  kernels.scale(scores.data(), Count(scores), 1.0f / static_cast<float>(Count(scores) - masked));
  return std::nullopt;
}

}  // namespace

std::optional<double> Softmax(const Kernels& kernels, std::span<float> scores, const ScoreRow& row) {
  const double max = std::max<double>(row.max, row.sink.value_or(row.max));
  float sum = kernels.exp_sum(scores.data(), Count(scores), static_cast<float>(max), row.factor);
  if (row.sink) sum += static_cast<float>(std::exp(*row.sink - max));
  kernels.scale(scores.data(), Count(scores), 1.0f / sum);
  return row.wants_lse ? max * double{row.factor} + double{std::log(sum)} : double{sum};
}

NormalizeScores FindNormalize(NormalizerKind kind) {
  switch (kind) {
    case NormalizerKind::kSoftmax:
      return Softmax;
    case NormalizerKind::kSparsemax:
      return Sparsemax;
    case NormalizerKind::kEntmax15:
      return Entmax15;
    case NormalizerKind::kSigmoid:
      return Sigmoid;
    case NormalizerKind::kTopK:
      return TopK;
    case NormalizerKind::kHard:
      return Hard;
    case NormalizerKind::kRelu:
      return Relu;
  }
  throw Error(ErrorCode::kOption, "there is no such normaliser");
}

}  // namespace headlens::simd
