// SPDX-License-Identifier: Apache-2.0
/// Hard attention: all weight goes to the largest score, the first of equals.
#include <algorithm>

#include "attention/normalizers/normalizer_rule.h"

namespace headlens {

extern const NormalizerRule kHard = {
    .name = "hard",
    .kind = NormalizerKind::kHard,
    .doc = "weight 1 for the largest score, the first of equals.",
    .reference = [](std::span<double> scores, const NormalizerRow&) -> std::optional<double> {
      const auto largest = std::max_element(scores.begin(), scores.end()) - scores.begin();
      std::fill(scores.begin(), scores.end(), 0.0);
      scores[static_cast<std::size_t>(largest)] = 1.0;
      return std::nullopt;
    },
};

}  // namespace headlens
