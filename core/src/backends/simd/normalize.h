// SPDX-License-Identifier: Apache-2.0
/// Normalisers with the kernels: one function for each NormalizerKind.
#ifndef HEADLENS_SRC_BACKENDS_SIMD_NORMALIZE_H_
#define HEADLENS_SRC_BACKENDS_SIMD_NORMALIZE_H_

#include <optional>
#include <span>

#include "backends/simd/kernels/kernels.h"
#include "headlens/attention.h"

namespace headlens::simd {

/// What is known of a row beside its scores.
struct ScoreRow {
  const Normalizer& normalizer;
  float max;                   ///< The largest of the scores; finite.
  std::optional<double> sink;  ///< The sink of the row's head.
  float factor = 1.0f;  ///< Of softmax: positive; what the scores are multiplied by first. 1 where there is a sink.
  bool wants_lse = true;
};

/// Turns scores (after the temperature; −∞ where masked, no NaN, at least one finite) into weights, in place; masked
/// cells get exactly 0. Softmax returns its ln Σ exp (Σ exp itself where the former, a large part of a short row's
/// time, is not wanted), the others nothing.
using NormalizeScores = std::optional<double> (*)(const Kernels& kernels, std::span<float> scores, const ScoreRow& row);

NormalizeScores FindNormalize(NormalizerKind kind);

/// The softmax of a row, in which other normalisers end.
std::optional<double> Softmax(const Kernels& kernels, std::span<float> scores, const ScoreRow& row);

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_NORMALIZE_H_
