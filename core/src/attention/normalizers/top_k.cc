// SPDX-License-Identifier: Apache-2.0
/// Top-k attention: the softmax over the k largest scores and those that equal the k-th (Zhao et al. 2019).
#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "attention/normalizers/softmax.h"

namespace headlens {
namespace {

constexpr Field<Normalizer> kTopKFields[] = {
    field::Count<&Normalizer::top_k>("top_k", 1, "The number of scores in a row that keep a weight."),
};

/// Sets the scores below the k-th largest to −∞.
void KeepLargest(std::span<double> scores, Index k) {
  if (k >= static_cast<Index>(scores.size())) return;
  std::vector<double> sorted(scores.begin(), scores.end());
  const auto kth = sorted.begin() + (k - 1);
  std::nth_element(sorted.begin(), kth, sorted.end(), std::greater<>());
  for (double& x : scores)
    if (x < *kth) x = -std::numeric_limits<double>::infinity();
}

}  // namespace

extern const NormalizerRule kTopK = {
    .name = "top_k",
    .kind = NormalizerKind::kTopK,
    .doc = "softmax over the `top_k` largest scores and those that equal the last of them (Zhao et al. 2019).",
    .fields = kTopKFields,
    .takes_sinks = true,
    .validate =
        [](const Normalizer& normalizer) {
          if (normalizer.top_k >= 1) return;
          throw ValueError("`top_k`", normalizer.top_k, "at least 1, which the normalizer \"top_k\" needs");
        },
    .reference = [](std::span<double> scores, const NormalizerRow& row) -> std::optional<double> {
      KeepLargest(scores, row.normalizer.top_k);
      ReferenceSoftmax(scores, row);
      return std::nullopt;
    },
};

}  // namespace headlens
