// SPDX-License-Identifier: Apache-2.0
/// max(x, 0) / n, where n is the number of keys that the row may see, so that weights may exceed 1 and rows need not
/// sum to 1 (Wortsman et al. 2023, whose rows see all of their L keys).
#include <algorithm>
#include <limits>

#include "attention/normalizers/normalizer_rule.h"

namespace headlens {
namespace {

/// A key whose score is −∞ counts as masked: it is what masks make of a score. A NaN stays in its own cell.
std::optional<double> ReferenceRelu(std::span<double> scores, const NormalizerRow&) {
  const auto masked = std::count(scores.begin(), scores.end(), -std::numeric_limits<double>::infinity());
  const double seen = static_cast<double>(scores.size()) - static_cast<double>(masked);
  for (double& x : scores) x = x < 0.0 ? 0.0 : x / seen;
  return std::nullopt;
}

}  // namespace

extern const NormalizerRule kRelu = {
    .name = "relu",
    .kind = NormalizerKind::kRelu,
    .doc =
        "max(x, 0) / n, where n is the number of keys that the row may see, so that rows need not sum to 1 (Wortsman "
        "et al. 2023).",
    .by_cell = true,
    .reference = ReferenceRelu,
};

}  // namespace headlens
