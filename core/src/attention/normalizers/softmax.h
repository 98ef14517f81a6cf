// SPDX-License-Identifier: Apache-2.0
/// The softmax of a row, which other normalisers also use.
#ifndef HEADLENS_SRC_ATTENTION_NORMALIZERS_SOFTMAX_H_
#define HEADLENS_SRC_ATTENTION_NORMALIZERS_SOFTMAX_H_

#include "attention/normalizers/normalizer_rule.h"

namespace headlens {

std::optional<double> ReferenceSoftmax(std::span<double> scores, const NormalizerRow& row);

}  // namespace headlens

#endif  // HEADLENS_SRC_ATTENTION_NORMALIZERS_SOFTMAX_H_
