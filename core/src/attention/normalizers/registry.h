// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_ATTENTION_NORMALIZERS_REGISTRY_H_
#define HEADLENS_SRC_ATTENTION_NORMALIZERS_REGISTRY_H_

#include <span>

#include "attention/normalizers/normalizer_rule.h"

namespace headlens {

/// Every kind of normaliser.
std::span<const NormalizerRule* const> NormalizerRules();
const NormalizerRule& FindNormalizer(NormalizerKind kind);

/// The options and tensors that all kinds share. Each rule lists its own besides.
std::span<const Field<Normalizer>> NormalizerFields();

void Validate(const Normalizer& normalizer, Index heads);
/// Turns the masked scores of a row of head `h` into its weights, in fp64. At least one key must be visible. A NaN
/// makes every visible weight NaN, and among infinite scores the largest share the weight. Returns ln Σ exp(scores /
/// temperature).
double NormalizeRow(const Normalizer& normalizer, Index h, std::span<double> scores,
                    std::span<const std::uint8_t> hidden);

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_NORMALIZERS_REGISTRY_H_
