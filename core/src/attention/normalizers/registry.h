// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_ATTENTION_NORMALIZERS_REGISTRY_H_
#define HEADLENS_SRC_ATTENTION_NORMALIZERS_REGISTRY_H_

#include <span>

#include "attention/normalizers/normalizer_rule.h"

namespace headlens {

/// Every kind of normaliser there is.
std::span<const NormalizerRule* const> NormalizerRules();
const NormalizerRule& FindNormalizer(NormalizerKind kind);

/// The options and tensors of every kind; each rule has its own beside them.
std::span<const Field<Normalizer>> NormalizerFields();

void Validate(const Normalizer& normalizer, Index heads);
/// The masked scores of head `h` in one row become its weights, in fp64; something in the row must be visible. A NaN
/// reaches all that is visible; of infinite scores the largest share the weight. Returns ln Σ exp(scores /
/// temperature).
double NormalizeRow(const Normalizer& normalizer, Index h, std::span<double> scores,
                    std::span<const std::uint8_t> hidden);

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_NORMALIZERS_REGISTRY_H_
