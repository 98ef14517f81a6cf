// SPDX-License-Identifier: Apache-2.0
#ifndef HEADLENS_SRC_NORMALIZERS_REGISTRY_H_
#define HEADLENS_SRC_NORMALIZERS_REGISTRY_H_

#include <span>

#include "normalizers/normalizer_rule.h"

namespace headlens {

class Arguments;
class OptionReader;

/// Every kind of normaliser there is.
std::span<const NormalizerRule* const> NormalizerRules();
const NormalizerRule& FindNormalizer(NormalizerKind kind);

void Validate(const Normalizer& normalizer, Index heads);
Normalizer ReadNormalizer(OptionReader& options, Arguments& args, Index heads);

}  // namespace headlens

#endif  // HEADLENS_SRC_NORMALIZERS_REGISTRY_H_
