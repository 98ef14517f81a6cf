// SPDX-License-Identifier: Apache-2.0
/// No query looks ahead.
#include "attention/masks/mask_rule.h"
#include "by_name/mask_reader.h"

namespace headlens {

extern const MaskRule kCausal = {
    .group = MaskGroup::kOrder,
    .any_input = true,
    .present = [](const Mask& mask) { return mask.causal; },
    .range = [](const AttentionProblem& p, Index,
                Index t) { return KeyRange{0, QueryPosition(p, t) - p.key_offset + 1}; },
    .read =
        [](MaskReader& in, Mask& mask) {
          mask.causal = in.options.Flag(in.names.is_causal, false);
          mask.causal_alignment = in.common.causal_alignment;
        },
};

}  // namespace headlens
