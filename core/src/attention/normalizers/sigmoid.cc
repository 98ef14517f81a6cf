// SPDX-License-Identifier: Apache-2.0
/// Sigmoid attention: 1 / (1 + exp(−x − bias)) for each score on its own, so rows need not sum to 1 (Ramapuram et al.
/// 2024, where the bias is −ln S).
#include <cmath>

#include "attention/normalizers/normalizer_rule.h"

namespace headlens {
namespace {

constexpr Field<Normalizer> kSigmoidFields[] = {
    field::Number<&Normalizer::sigmoid_bias>("sigmoid_bias", "A bias that is added before the sigmoid."),
};

}  // namespace

extern const NormalizerRule kSigmoid = {
    .name = "sigmoid",
    .kind = NormalizerKind::kSigmoid,
    .doc = "1 / (1 + exp(−x − bias)) for each score on its own, so rows need not sum to 1 (Ramapuram et al. 2024).",
    .fields = kSigmoidFields,
    .by_cell = true,
    .validate =
        [](const Normalizer& normalizer) {
          if (std::isfinite(normalizer.sigmoid_bias)) return;
          throw ValueError("`sigmoid_bias`", double{normalizer.sigmoid_bias}, "a finite number");
        },
    .reference = [](std::span<double> scores, const NormalizerRow& row) -> std::optional<double> {
      for (double& x : scores) x = 1.0 / (1.0 + std::exp(-x - double{row.normalizer.sigmoid_bias}));
      return std::nullopt;
    },
};

}  // namespace headlens
