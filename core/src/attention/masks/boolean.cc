// SPDX-License-Identifier: Apache-2.0
/// A boolean mask: true keeps or ignores, as the conventions say.
#include "attention/masks/broadcast.h"
#include "attention/masks/mask_rule.h"
#include "by_name/mask_reader.h"

namespace headlens {

extern const MaskRule kBooleanMask = {
    .any_input = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.boolean); },
    .validate = [](const AttentionProblem& p) { ExpectMaskSizes(p, p.mask.boolean); },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          const std::uint8_t* cells = p.mask.boolean.at(row.b, row.h, row.t);
          const Index stride = p.mask.boolean.strides[3];
          constexpr std::uint8_t kFalse = 0;
          p.mask.boolean_keeps ? marks.Equal(cells, stride, kFalse) : marks.Different(cells, stride, kFalse);
        },
    .read =
        [](MaskReader& in, Mask& mask) {
          const Given* input = in.args.Find(in.names.attn_mask);
          if (!input || !IsBoolean(input->dtype)) return;
          mask.boolean_keeps = in.common.mask_keeps;
          mask.boolean =
              BroadcastMask(in.names.attn_mask, in.args.Booleans(in.names.attn_mask, *input), input->shape, in.sizes);
        },
};

}  // namespace headlens
