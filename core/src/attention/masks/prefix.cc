// SPDX-License-Identifier: Apache-2.0
/// A prefix that every query sees in spite of the causal mask (Raffel et al. 2020, §3.2.1).
#include "attention/masks/mask_rule.h"
#include "base/checks.h"

namespace headlens {
namespace {

constexpr Field<Mask> kPrefixFields[] = {
    field::Lengths<&Mask::prefix_lens>("prefix_lens", "B", "",
                                       "The number of first keys that every query sees in spite of `is_causal` (prefix "
                                       "language models). Needs `is_causal`."),
};

}  // namespace

extern const MaskRule kPrefix = {
    .fields = kPrefixFields,
    .group = MaskGroup::kOrder,
    .exempts = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.prefix_lens); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectSizes("`prefix_lens`", SizesOf(p.mask.prefix_lens), {p.q.shape[0]});
          if (!p.mask.causal)
            throw NeedsError(ErrorCode::kOption, "`prefix_lens`",
                             "`is_causal`, without which all of the prefix is seen anyway");
        },
    .range = [](const AttentionProblem& p, Index b, Index) { return KeyRange{0, p.mask.prefix_lens(b)}; },
    .by_sequence = true,
};

}  // namespace headlens
