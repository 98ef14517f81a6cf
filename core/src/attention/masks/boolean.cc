// SPDX-License-Identifier: Apache-2.0
/// The boolean mask, in which true either keeps a key or hides it, as the conventions say.
#include "attention/masks/cells.h"
#include "attention/masks/mask_rule.h"

namespace headlens {
namespace {

constexpr Choice kMeanings[] = {{"keep", true}, {"ignore", false}};

constexpr Field<Mask> kBooleanFields[] = {
    field::BooleanCells<&Mask::boolean>(
        "attn_mask",
        "Floats are added to the scores; the meaning of booleans depends on `mask_true`. The shape is [T,S], "
        "[B·H,T,S], [H,T,S] or [B,H,T,S], where each size may also be 1. Use [B,1,T,S] for one mask per sequence; "
        "[B,T,S] is accepted when B = 1 or H = 1, and when B = H it is one mask per head."),
    field::OneOf<&Mask::boolean_keeps>("mask_true", kMeanings,
                                       "The effect of true in a boolean `attn_mask`: it keeps the key or ignores it. "
                                       "The default depends on `conventions`."),
};

}  // namespace

extern const MaskRule kBooleanMask = {
    .fields = kBooleanFields,
    .any_input = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.boolean); },
    .validate = [](const AttentionProblem& p) { ExpectCellSizes(p, p.mask.boolean); },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          const std::uint8_t* cells = p.mask.boolean.at(row.b, row.h, row.t);
          const Index stride = p.mask.boolean.strides[3];
          constexpr std::uint8_t kFalse = 0;
          p.mask.boolean_keeps ? marks.Equal(cells, stride, kFalse) : marks.Different(cells, stride, kFalse);
        },
};

}  // namespace headlens
