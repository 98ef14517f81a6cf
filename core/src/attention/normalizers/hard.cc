// SPDX-License-Identifier: Apache-2.0
/// All weight on the largest score, the first of equals.
#include <algorithm>

#include "attention/normalizers/normalizer_rule.h"

namespace headlens {
namespace {

template <class T>
void KeepOnly(std::span<T> scores, Index s) {
  std::fill(scores.begin(), scores.end(), T{0});
  scores[static_cast<std::size_t>(s)] = T{1};
}

}  // namespace

extern const NormalizerRule kHard = {
    .name = "hard",
    .kind = NormalizerKind::kHard,
    .reference = [](std::span<double> scores, const NormalizerRow&) -> std::optional<double> {
      KeepOnly(scores, std::max_element(scores.begin(), scores.end()) - scores.begin());
      return std::nullopt;
    },
    .simd = [](const simd::Kernels& kernels, std::span<float> scores, const NormalizerRow&) -> std::optional<double> {
      KeepOnly(scores, kernels.first_max(scores.data(), static_cast<Index>(scores.size())));
      return std::nullopt;
    },
};

}  // namespace headlens
