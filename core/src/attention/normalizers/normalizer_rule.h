// SPDX-License-Identifier: Apache-2.0
/// What one kind of normaliser is made of. A new kind is one file with one rule, and its line in registry.cc.
#ifndef HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_
#define HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_

#include <optional>
#include <span>
#include <string_view>

#include "backends/simd/kernels/kernels.h"
#include "headlens/attention.h"

namespace headlens {

/// What is known of a row beside its scores.
struct NormalizerRow {
  const Normalizer& normalizer;
  double max;                  ///< of the scores; finite
  std::optional<double> sink;  ///< of the row's head
  float factor = 1.0f;  ///< of softmax: positive, what the scores are multiplied by first; 1 where there is a sink
  bool wants_lse = true;
};

/// Both functions turn scores (after the temperature; −∞ where masked, no NaN, at least one finite) into weights, in
/// place; masked cells get exactly 0. Softmax returns its ln Σ exp (Σ exp itself where the former, a large part of a
/// short row's time, is not wanted), the others nothing.
struct NormalizerRule {
  std::string_view name;
  NormalizerKind kind;
  bool takes_sinks = false;
  bool by_cell = false;  ///< each cell by itself: NaN and infinite scores are welcome, and reach no other cell
  void (*validate)(const Normalizer& normalizer) = nullptr;
  std::optional<double> (*reference)(std::span<double> scores, const NormalizerRow& row);
  std::optional<double> (*simd)(const simd::Kernels& kernels, std::span<float> scores, const NormalizerRow& row);
};

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_NORMALIZERS_NORMALIZER_RULE_H_
