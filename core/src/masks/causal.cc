// SPDX-License-Identifier: Apache-2.0
/// No query looks ahead.
#include "masks/mask_reader.h"
#include "masks/mask_rule.h"

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
