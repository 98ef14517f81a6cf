// SPDX-License-Identifier: Apache-2.0
/// The causal mask: no query looks at a later position.
#include "attention/masks/mask_rule.h"

namespace headlens {
namespace {

constexpr Choice kAlignments[] = {{"top_left", CausalAlignment::kTopLeft},
                                  {"bottom_right", CausalAlignment::kBottomRight}};

constexpr Field<Mask> kCausalFields[] = {
    field::Flag<&Mask::causal>("is_causal", "No query looks at a later position."),
    field::OneOf<&Mask::causal_alignment>(
        "causal_alignment", kAlignments,
        "The alignment of queries and keys when T ≠ S: \"top_left\" puts the first query at the first key, "
        "\"bottom_right\" the last query at the last key. The default depends on `conventions`."),
};

}  // namespace

extern const MaskRule kCausal = {
    .fields = kCausalFields,
    .group = MaskGroup::kOrder,
    .any_input = true,
    .present = [](const Mask& mask) { return mask.causal; },
    .range = [](const AttentionProblem& p, Index,
                Index t) { return KeyRange{0, QueryPosition(p, t) - p.key_offset + 1}; },
};

}  // namespace headlens
