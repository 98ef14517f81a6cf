// SPDX-License-Identifier: Apache-2.0
/// Every n-th position only, counted from the query's own (Beltagy et al. 2020, §3.1).
#include "attention/masks/mask_rule.h"
#include "by_name/mask_reader.h"

namespace headlens {

extern const MaskRule kDilation = {
    .group = MaskGroup::kLocality,
    .present = [](const Mask& mask) { return mask.dilation != 1; },
    .validate =
        [](const AttentionProblem& p) {
          if (p.mask.dilation < 1) {
            throw Error(ErrorCode::kValue, "dilation is " + std::to_string(p.mask.dilation) + ", expected at least 1");
          }
        },
    .mark = [](const AttentionProblem& p, const RowIndex& row,
               RowMarks& marks) { marks.OffStep(QueryPosition(p, row.t) - p.key_offset, p.mask.dilation); },
    .read = [](MaskReader& in, Mask& mask) { mask.dilation = in.options.Count("dilation", 1, 1); },
};

}  // namespace headlens
