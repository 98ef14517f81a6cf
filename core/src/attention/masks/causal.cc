// SPDX-License-Identifier: Apache-2.0
/// No query looks ahead.
#include "attention/masks/mask_rule.h"

namespace headlens {
namespace {

constexpr Choice kAlignments[] = {{"top_left", CausalAlignment::kTopLeft},
                                  {"bottom_right", CausalAlignment::kBottomRight}};

constexpr Field<Mask> kFields[] = {
    field::Flag<&Mask::causal>("is_causal", "No query looks at a later position."),
    field::OneOf<&Mask::causal_alignment>("causal_alignment", kAlignments,
                                          "Where the last query stands when T ≠ S: \"bottom_right\" puts it at "
                                          "the last key. Default as `conventions` "
                                          "say."),
};

}  // namespace

extern const MaskRule kCausal = {
    .fields = kFields,
    .group = MaskGroup::kOrder,
    .any_input = true,
    .present = [](const Mask& mask) { return mask.causal; },
    .range = [](const AttentionProblem& p, Index,
                Index t) { return KeyRange{0, QueryPosition(p, t) - p.key_offset + 1}; },
};

}  // namespace headlens
