// SPDX-License-Identifier: Apache-2.0
/// A boolean mask: true keeps or ignores, as the conventions say.
#include "attention/masks/cells.h"
#include "attention/masks/mask_rule.h"

namespace headlens {
namespace {

constexpr Choice kMeanings[] = {{"keep", true}, {"ignore", false}};

constexpr Field<Mask> kFields[] = {
    field::BooleanCells<&Mask::boolean>(
        "attn_mask",
        "Floats that are added to the scores, or booleans, of which `mask_true` says what they mean. [T,S], [B·H,T,S], "
        "[H,T,S] or [B,H,T,S], each size as it is or 1. One for each sequence is [B,1,T,S]; [B,T,S] is taken where B = "
        "1 "
        "or H = 1, and is one for each head where B = H."),
    field::OneOf<&Mask::boolean_keeps>("mask_true", kMeanings,
                                       "What a true in a boolean `attn_mask` does to a key. Default as "
                                       "`conventions` say."),
};

}  // namespace

extern const MaskRule kBooleanMask = {
    .fields = kFields,
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
