// SPDX-License-Identifier: Apache-2.0
/// All weight on the largest score, the first of equals.
#include <algorithm>

#include "normalizers/normalizer_rule.h"

namespace headlens {
namespace {

template <class T>
void KeepFirstMaximum(std::span<T> scores) {
  const auto first = std::max_element(scores.begin(), scores.end()) - scores.begin();
  std::fill(scores.begin(), scores.end(), T{0});
  scores[static_cast<std::size_t>(first)] = T{1};
}

}  // namespace

extern const NormalizerRule kHard = {
    .name = "hard",
    .kind = NormalizerKind::kHard,
    .reference = [](std::span<double> scores, const NormalizerRow&) -> std::optional<double> {
      KeepFirstMaximum(scores);
      return std::nullopt;
    },
    .simd = [](const simd::Kernels&, std::span<float> scores, const NormalizerRow&) -> std::optional<double> {
      KeepFirstMaximum(scores);
      return std::nullopt;
    },
};

}  // namespace headlens
