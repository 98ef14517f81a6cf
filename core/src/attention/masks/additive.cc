// SPDX-License-Identifier: Apache-2.0
/// The additive mask: its −∞ hide keys. Its other numbers are added to the scores elsewhere.
#include <limits>

#include "attention/masks/cells.h"
#include "attention/masks/mask_rule.h"

namespace headlens {
namespace {

constexpr Field<Mask> kAdditiveFields[] = {
    field::FloatCells<&Mask::additive>("attn_mask", "Added to the scores; −∞ hides a key."),
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

extern const MaskRule kAdditiveMask = {
    .fields = kAdditiveFields,
    .any_input = true,
    .present = [](const Mask& mask) { return static_cast<bool>(mask.additive); },
    .validate =
        [](const AttentionProblem& p) {
          ExpectCellSizes(p, p.mask.additive);
          ExpectAddable(p.mask.additive);
        },
    .mark =
        [](const AttentionProblem& p, const RowIndex& row, RowMarks& marks) {
          marks.Equal(p.mask.additive.at(row.b, row.h, row.t), p.mask.additive.strides[3], -kInfinity);
        },
};

}  // namespace headlens
