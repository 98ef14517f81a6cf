// SPDX-License-Identifier: Apache-2.0
/// Normalisers that use the kernels, one function for each NormalizerKind.
#ifndef HEADLENS_SRC_BACKENDS_SIMD_NORMALIZE_H_
#define HEADLENS_SRC_BACKENDS_SIMD_NORMALIZE_H_

#include <optional>
#include <span>

#include "backends/simd/kernels/kernels.h"
#include "headlens/attention.h"

namespace headlens::simd {

/// The facts about a row that a normaliser needs beside its scores.
struct ScoreRow {
  const Normalizer& normalizer;
  float max;                   ///< The largest of the scores; finite.
  std::optional<double> sink;  ///< The sink of the row's head.
  float factor = 1.0f;  ///< Of softmax: positive; what the scores are multiplied by first. 1 where there is a sink.
  bool wants_lse = true;
};

/// Turns scores into weights, in place. The scores are already divided by the temperature, −∞ where masked; none is NaN
/// and at least one is finite. Masked cells get exactly 0. Softmax returns ln Σ exp when it is wanted, since the
/// logarithm is a large part of the time of a short row, and Σ exp otherwise. The other kinds return nothing.
using NormalizeScores = std::optional<double> (*)(const Kernels& kernels, std::span<float> scores, const ScoreRow& row);

NormalizeScores FindNormalize(NormalizerKind kind);

/// The softmax of a row, which other normalisers also use.
std::optional<double> Softmax(const Kernels& kernels, std::span<float> scores, const ScoreRow& row);

}  // namespace headlens::simd

#endif  // HEADLENS_SRC_BACKENDS_SIMD_NORMALIZE_H_
