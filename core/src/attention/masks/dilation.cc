// SPDX-License-Identifier: Apache-2.0
/// Dilation: a query looks only at every n-th position, counted from its own (Beltagy et al. 2020, §3.1).
#include "attention/masks/mask_rule.h"

namespace headlens {
namespace {

constexpr Field<Mask> kDilationFields[] = {
    field::Count<&Mask::dilation>(
        "dilation", 1, "A query looks only at positions whose distance from its own is a multiple of this number."),
};

}  // namespace

extern const MaskRule kDilation = {
    .fields = kDilationFields,
    .group = MaskGroup::kLocality,
    .present = [](const Mask& mask) { return mask.dilation != 1; },
    .validate =
        [](const AttentionProblem& p) {
          if (p.mask.dilation < 1) {
            throw ValueError("`dilation`", p.mask.dilation, "at least 1");
          }
        },
    .mark = [](const AttentionProblem& p, const RowIndex& row,
               RowMarks& marks) { marks.OffStep(QueryPosition(p, row.t) - p.key_offset, p.mask.dilation); },
};

}  // namespace headlens
